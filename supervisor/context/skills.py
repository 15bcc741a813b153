"""Finds skills: folders with a SKILL.md, in the home, in the project and on the machine.

Owns where they are looked for, how far, and the list that the model is shown. A project's skills were written by
whoever wrote the project: they are text, read within bounds, and nothing in them runs by itself.
"""

import os
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pycodex.supervisor.context.skill_frontmatter import BadSkill, parse
from pycodex.supervisor.prompts import load
from pycodex.supervisor.workspace.regular_file import read_whole

REPO = "repo"
USER = "user"
SYSTEM = "system"
ADMIN = "admin"

FILE_NAME = "SKILL.md"
SYSTEM_DIR = ".system"
ADMIN_DIR = "/etc/codex/skills"
MAX_DEPTH = 6
MAX_DIRECTORIES = 2000
MAX_SKILL_BYTES = 1 << 20
MAX_REPO_LISTING = 32 << 10

_ORDER = {REPO: 0, USER: 1, SYSTEM: 2, ADMIN: 3}
_POLICY_FILE = os.path.join("agents", "openai.yaml")
_MAX_POLICY_BYTES = 64 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    name: str
    description: str
    short_description: str | None = None
    path: str
    """The canonical path of its SKILL.md."""
    scope: str
    enabled: bool = True
    is_listed: bool = True
    """False: the model is not told of it, but `$name` works."""


@dataclass(frozen=True, slots=True)
class SkillError:
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Found:
    skills: tuple[Skill, ...]
    errors: tuple[SkillError, ...]


@dataclass(frozen=True, slots=True)
class Root:
    path: str
    scope: str


def skill_roots(project_dirs: Sequence[str], *, codex_home: str, home: str, system_dir: str | None) -> list[Root]:
    """Where to look. `project_dirs` lead from the project's root to the working directory.

    `system_dir` is what `bundled_skills.unpacked` gave.
    """
    roots = [
        Root(os.path.join(directory, ".codex", "skills"), REPO)
        for directory in project_dirs
        # In the person's own home directory this is the home itself.
        if os.path.join(directory, ".codex") != codex_home
    ]
    roots.append(Root(os.path.join(codex_home, "skills"), USER))
    if home:
        roots.append(Root(os.path.join(home, ".agents", "skills"), USER))
    if system_dir is not None:
        roots.append(Root(system_dir, SYSTEM))
    roots.append(Root(ADMIN_DIR, ADMIN))
    roots += (Root(os.path.join(directory, ".agents", "skills"), REPO) for directory in project_dirs)
    return list(dict.fromkeys(roots))


def find_skills(roots: Iterable[Root], disabled: Collection[str] = ()) -> Found:
    """All skills below the roots, each file once, in the order in which they are listed.

    `disabled` are canonical paths (`disabled_paths`).
    """
    skills: dict[str, Skill] = {}
    errors: list[SkillError] = []
    for root in roots:
        for path in _files_below(root):
            if path in skills:
                continue
            try:
                skill = _read(path, root.scope)
            except BadSkill as error:
                # Nobody here wrote those.
                if root.scope != SYSTEM:
                    errors.append(SkillError(path, str(error)))
                continue
            skills[path] = replace(skill, enabled=path not in disabled)
    ordered = sorted(skills.values(), key=lambda skill: (_ORDER[skill.scope], skill.name, skill.path))
    return Found(tuple(ordered), tuple(errors))


def disabled_paths(entries: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The files that `[[skills.config]]` turns off; a later entry for the same file wins."""
    states: dict[str, bool] = {}
    for entry in entries:
        path, enabled = entry.get("path"), entry.get("enabled")
        if isinstance(path, str) and isinstance(enabled, bool):
            states[os.path.realpath(path)] = enabled
    return frozenset(path for path, enabled in states.items() if not enabled)


def listing(skills: Iterable[Skill]) -> str | None:
    """What the model is told of them; None if there is none that it may choose by itself.

    Every request carries it, so a project's own skills share a budget; those beyond it work when they are named.
    """
    lines: list[str] = []
    left = MAX_REPO_LISTING
    for skill in skills:
        if not skill.enabled or not skill.is_listed:
            continue
        line = f"- {skill.name}: {skill.description} (file: {skill.path.replace(os.sep, '/')})"
        left -= len(line) if skill.scope == REPO else 0
        if skill.scope != REPO or left >= 0:
            lines.append(line)
    return load.filled("skills", skills="\n".join(lines)) if lines else None


def _files_below(root: Root) -> Iterator[str]:
    """Breadth first. Links to directories are followed, except among what we unpacked; links to files are not."""
    top = os.path.realpath(root.path)
    waiting = deque([(top, 0)])
    seen = {top}
    while waiting:
        directory, depth = waiting.popleft()
        inner, has_skill = _look(directory, follow=root.scope != SYSTEM)
        if has_skill:
            yield os.path.join(directory, FILE_NAME)
        for path in inner if depth < MAX_DEPTH else ():
            if path not in seen and len(seen) < MAX_DIRECTORIES:
                seen.add(path)
                waiting.append((path, depth + 1))


def _look(directory: str, *, follow: bool) -> tuple[list[str], bool]:
    """The canonical directories inside, sorted, and whether there is a SKILL.md."""
    inner = []
    has_skill = False
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    inner.append(entry.path)
                elif entry.is_symlink():
                    if follow and entry.is_dir():
                        inner.append(os.path.realpath(entry.path))
                elif entry.name == FILE_NAME:
                    has_skill = entry.is_file(follow_symlinks=False)
    except OSError:
        # Missing, in most cases; what cannot be looked at has no skills for us.
        return [], False
    return sorted(inner), has_skill


def _read(path: str, scope: str) -> Skill:
    directory = os.path.dirname(path)
    try:
        text = read_whole(path, MAX_SKILL_BYTES).decode()
    except OSError as error:
        raise BadSkill(f"failed to read file: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadSkill("failed to read file: it is not valid UTF-8") from None
    head = parse(text, os.path.basename(directory))
    return Skill(
        name=head.name,
        description=head.description,
        short_description=head.short_description,
        path=path,
        scope=scope,
        is_listed=_may_be_chosen(os.path.join(directory, _POLICY_FILE)),
    )


def _may_be_chosen(policy_file: str) -> bool:
    """Whether the model may use the skill unasked. A policy that cannot be read changes nothing."""
    try:
        text = read_whole(policy_file, _MAX_POLICY_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        return True
    if "allow_implicit_invocation" not in text:
        return True
    import yaml

    try:
        parsed = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return True
    policy = parsed.get("policy") if isinstance(parsed, dict) else None
    return not (isinstance(policy, dict) and policy.get("allow_implicit_invocation") is False)
