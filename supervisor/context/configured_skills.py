"""The skills of a configuration: where it has them looked for, and which of them it turns off.

Owns the way from settings to roots. Makes sure that the bundled skills are where they are looked for.
"""

from collections.abc import Mapping, Sequence

from pycodex.supervisor.config.config import Config
from pycodex.supervisor.context import bundled_skills
from pycodex.supervisor.context.skills import USER, Found, Root, disabled_paths, find_skills, skill_roots
from pycodex.supervisor.workspace.roots import directories_down


def configured_skills(config: Config, env: Mapping[str, str], *, extra_user_roots: Sequence[str] = ()) -> Found:
    """All that are found for the configuration's directory, on or off."""
    system_dir = bundled_skills.unpacked(config.codex_home) if config.bundled_skills else None
    project_dirs = directories_down(config.project_root or config.cwd, config.cwd)
    roots = skill_roots(project_dirs, codex_home=config.codex_home, home=env.get("HOME", ""), system_dir=system_dir)
    roots += (Root(path, USER) for path in extra_user_roots)
    return find_skills(roots, disabled_paths({"path": skill.path, "enabled": skill.enabled} for skill in config.skills))
