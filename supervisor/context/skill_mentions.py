"""Finds the skills that a person's input calls for, and makes the messages that carry their text.

Owns the syntax of a mention: `$name`, and links `[$name](path)`. Reads a SKILL.md only when it was called for.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pycodex.protocol.items import input_text, message
from pycodex.protocol.user_input import Skill as SkillInput
from pycodex.protocol.user_input import Text, UserInput
from pycodex.supervisor.context.skills import MAX_SKILL_BYTES, Skill
from pycodex.supervisor.workspace.regular_file import read_whole

if TYPE_CHECKING:
    from pycodex.protocol.items import Item

_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:-")
# What people write of their environment.
_NEVER = frozenset("PATH HOME USER SHELL PWD TMPDIR TEMP TMP LANG TERM XDG_CONFIG_HOME".split())
_SCHEME = "skill://"


@dataclass(frozen=True, slots=True)
class Injected:
    """Messages to put after the person's own, and warnings about skills that could not be read."""

    items: "tuple[Item, ...]"
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mentions:
    names: frozenset[str]
    paths: frozenset[str]


def injected(inputs: Iterable[UserInput], skills: Sequence[Skill]) -> Injected:
    """The text of every skill that the input calls for."""
    items: list[Item] = []
    warnings: list[str] = []
    for skill in called_for(inputs, skills):
        try:
            body = read_whole(skill.path, MAX_SKILL_BYTES).decode()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not valid UTF-8"
            warnings.append(f"Failed to load skill {skill.name} at {skill.path}: {why}")
            continue
        text = f"<skill>\n<name>{skill.name}</name>\n<path>{skill.path}</path>\n{body}\n</skill>"
        items.append(message("user", [input_text(text)]))
    return Injected(tuple(items), tuple(warnings))


def called_for(inputs: Iterable[UserInput], skills: Sequence[Skill]) -> list[Skill]:
    """Skill items first, then text by text: links, then names, each in the order of the list."""
    given = tuple(inputs)
    enabled = [skill for skill in skills if skill.enabled]
    chosen: dict[str, Skill] = {}
    blocked = set()
    for pointer in given:
        if isinstance(pointer, SkillInput):
            blocked.add(pointer.name)
            chosen.update((skill.path, skill) for skill in enabled if skill.path == pointer.path)
    names = [skill.name for skill in enabled]
    for text in given:
        if isinstance(text, Text):
            mentions = mentions_in(text.text)
            by_path = [skill for skill in enabled if skill.path in mentions.paths]
            by_name = [
                skill
                for skill in enabled
                if skill.name in mentions.names and skill.name not in blocked and names.count(skill.name) == 1
            ]
            for skill in (*by_path, *by_name):
                chosen.setdefault(skill.path, skill)
    return list(chosen.values())


def mentions_in(text: str) -> Mentions:
    names: set[str] = set()
    paths: set[str] = set()
    for name, path in _tokens(text):
        if name.upper() in _NEVER:
            continue
        if path is None:
            names.add(name)
        else:
            paths.add(path.removeprefix(_SCHEME))
    return Mentions(frozenset(names), frozenset(paths))


def _tokens(text: str) -> Iterator[tuple[str, str | None]]:
    """Each name after a `$`, with the target if it is the text of a link."""
    at = text.find("$")
    while at >= 0:
        end = at + 1
        while end < len(text) and text[end] in _NAME_CHARACTERS:
            end += 1
        if end > at + 1:
            target = _target(text, end) if at > 0 and text[at - 1] == "[" else None
            yield text[at + 1 : end], target[0] if target else None
            end = target[1] if target else end
        at = text.find("$", end)


def _target(text: str, at: int) -> tuple[str, int] | None:
    """What stands in parentheses after `]`, and where they end."""
    if text[at : at + 1] != "]":
        return None
    at += 1
    while text[at : at + 1].isspace():
        at += 1
    if text[at : at + 1] != "(":
        return None
    end = text.find(")", at)
    target = text[at + 1 : end].strip() if end > 0 else ""
    return (target, end) if target else None
