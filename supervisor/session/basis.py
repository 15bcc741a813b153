"""What the turns of a thread are made of, before anything runs: the model, the settings, the skills, the surroundings.

Owns how these follow from a configuration. Reads the files that people wrote for agents; starts nothing and asks
nobody, so that what the model would see can be shown without a session.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pycodex.protocol.model_info import ModelInfo
from pycodex.supervisor.config.config import Config
from pycodex.supervisor.config.shell_environment import command_environment
from pycodex.supervisor.context import bundled_skills
from pycodex.supervisor.context.environment import user_shell
from pycodex.supervisor.context.fragments import Surroundings
from pycodex.supervisor.context.instructions import base_instructions
from pycodex.supervisor.context.project_docs import DocSettings, user_instructions
from pycodex.supervisor.context.skills import Found, Skill, disabled_paths, find_skills, listing, skill_roots
from pycodex.supervisor.model.catalog import Catalog, ModelSettings, read_catalog
from pycodex.supervisor.policy.rules import Rules
from pycodex.supervisor.session.settings import Settings, TurnMaker, first_settings
from pycodex.supervisor.workspace.roots import directories_down


class ThreadModel:
    """The model that a thread starts with, and how to look up others."""

    def __init__(self, config: Config) -> None:
        self._catalog = read_catalog(config.model_catalog_path) if config.model_catalog_path else Catalog()
        self._settings = ModelSettings(
            context_window=config.model_context_window,
            auto_compact_token_limit=config.model_auto_compact_token_limit,
            tool_output_token_limit=config.tool_output_token_limit,
            supports_reasoning_summaries=config.model_supports_reasoning_summaries,
        )
        self.name = config.model or self._catalog.default_name()
        self.info = self.lookup(self.name)

    def lookup(self, name: str) -> ModelInfo:
        return self._catalog.find(name, self._settings)

    def instructions(self, config: Config, stored: str | None = None) -> str:
        """Those of the session. A thread keeps the `stored` ones that it began with."""
        return base_instructions(self.info, config.personality, config.model_instructions or stored)


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    settings: Settings
    turns: TurnMaker
    skills: tuple[Skill, ...]
    around: Surroundings
    command_env: Mapping[str, str]
    """The environment of commands."""
    notes: tuple[str, ...]
    """What was found wrong with files that are done without."""


def basis_of(
    config: Config,
    model: ThreadModel,
    *,
    thread_id: str,
    instructions: str,
    env: Mapping[str, str],
    rules: Rules,
) -> Basis:
    notes: list[str] = []
    command_env = command_environment(config.shell_environment_policy, env, thread_id)
    found = _skills(config, env)
    notes += (f"The skill at {error.path} is left out: {error.message}" for error in found.errors)
    by_user = _instructions_of_user(config, notes.append)
    return Basis(
        settings=first_settings(config, model=model.name, user_instructions=by_user),
        turns=TurnMaker(thread_id, config, env=env, shell=user_shell(), lookup=model.lookup),
        skills=found.skills,
        around=Surroundings(
            base_instructions=instructions,
            instructions_override=config.model_instructions,
            tmpdir=command_env.get("TMPDIR"),
            skills=listing(found.skills),
            allowed_prefixes=rules.allowed_prefixes(),
        ),
        command_env=command_env,
        notes=tuple(notes),
    )


def _skills(config: Config, env: Mapping[str, str]) -> Found:
    if config.bundled_skills:
        system_dir = bundled_skills.unpacked(config.codex_home)
    else:
        system_dir = None
        bundled_skills.removed(config.codex_home)
    project_dirs = directories_down(config.project_root or config.cwd, config.cwd)
    roots = skill_roots(project_dirs, codex_home=config.codex_home, home=env.get("HOME", ""), system_dir=system_dir)
    return find_skills(roots, disabled_paths({"path": skill.path, "enabled": skill.enabled} for skill in config.skills))


def _instructions_of_user(config: Config, note: Callable[[str], None]) -> str | None:
    settings = DocSettings(
        max_bytes=config.project_doc_max_bytes,
        fallback_names=config.project_doc_fallback_filenames,
        root_markers=config.project_root_markers,
        note_on_children="child_agents_md" in config.features,
    )
    return user_instructions(config.cwd, settings, codex_home=config.codex_home, warn=note)
