"""Reading shell scripts with a real grammar.

Owns the parser and what is asked of its trees; a script that the grammar does not take as a whole is one of which
nothing is known. Loads the grammar when it is first needed. Takes text, gives values; runs nothing. Time and memory of
the parser may grow with the square of what it is given, so it is given little: never the body of a here-document.
"""

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

PATCH_COMMANDS = frozenset({"apply_patch", "applypatch"})
# What the shell would make something else of before `cd` sees it.
_SPECIAL_IN_WORDS = "\\*?[]{}"
_MOST_PARSED = 4096
_STAND_IN = "body"


class HeredocPatch(NamedTuple):
    """A script that does nothing but apply one patch. `directory` is where it changes to before, as it is written."""

    body: str
    directory: str | None = None


class _Script(NamedTuple):
    """One with a here-document that reaches to its last line, in parts."""

    above: str
    body: list[str]
    last: str


def heredoc_patch(script: str) -> HeredocPatch | None:
    """The patch of `[cd DIR &&] apply_patch <<TAG`; None for a script that is or does anything else."""
    parts = _parts(script)
    if parts is None or not any(name in parts.above for name in PATCH_COMMANDS):
        return None
    # A stand-in for the body: whatever the shell would expand in it is taken as it is written.
    root = _parser().parse(f"{parts.above}\n{_STAND_IN}\n{parts.last}\n".encode()).root_node
    if root.has_error or len(root.named_children) != 1 or any(not child.is_named for child in root.children):
        return None
    statement = root.named_children[0]
    if statement.type != "redirected_statement" or len(statement.named_children) != 2:
        return None
    command, redirect = statement.named_children
    body = _heredoc(redirect, parts.body)
    if body is None:
        return None
    if command.type == "command":
        return HeredocPatch(body) if _is_bare_patch_command(command) else None
    directory = _directory_before(command)
    return None if directory is None else HeredocPatch(body, directory)


def _parts(script: str) -> _Script | None:
    lines = script.strip("\n").split("\n")
    while len(lines) > 1 and not lines[-1].strip(" \t"):
        lines.pop()
    start = next((number for number, line in enumerate(lines, start=1) if "<<" in line), len(lines))
    if start == len(lines) or not _can_be_run(script):
        return None
    parts = _Script("\n".join(lines[:start]), lines[start:-1], lines[-1])
    return parts if len(parts.above) + len(parts.last) <= _MOST_PARSED else None


def _can_be_run(script: str) -> bool:
    """No program can be given a NUL byte or half a character."""
    try:
        return b"\0" not in script.encode()
    except UnicodeEncodeError:
        return False


@cache
def _parser() -> "Parser":
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def _text(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _heredoc(redirect: "Node", lines: list[str]) -> str | None:
    """These lines as the command gets them, if they are what stands between the tags and nothing else is done."""
    kinds = [child.type for child in redirect.named_children]
    if redirect.type != "heredoc_redirect" or kinds != ["heredoc_start", "heredoc_body", "heredoc_end"]:
        return None
    if redirect.children[0].type == "<<-":
        lines = [line.lstrip("\t") for line in lines]
    tag = _text(redirect.named_children[2]).strip()
    if any(line.rstrip() == tag for line in lines):
        return None
    return "".join(f"{line}\n" for line in lines)


def _is_bare_patch_command(command: "Node") -> bool:
    *before, name = command.named_children
    return (
        name.type == "command_name"
        and _text(name) in PATCH_COMMANDS
        and all(node.type == "variable_assignment" for node in before)
    )


def _directory_before(steps: "Node") -> str | None:
    """Of `cd DIR && apply_patch`, the directory."""
    if steps.type != "list" or [child.type for child in steps.children] != ["command", "&&", "command"]:
        return None
    change, command = steps.named_children
    if not _is_bare_patch_command(command) or [child.type for child in change.named_children[:1]] != ["command_name"]:
        return None
    if _text(change.named_children[0]) != "cd" or len(change.named_children) != 2:
        return None
    return _plain_word(change.named_children[1])


def _plain_word(node: "Node") -> str | None:
    """The word, if the shell would take it as it stands."""
    text = _text(node)
    if node.type == "word" and not any(character in text for character in _SPECIAL_IN_WORDS):
        return text
    if node.type == "raw_string":
        return text[1:-1]
    if node.type == "string" and [child.type for child in node.named_children] == ["string_content"]:
        return text[1:-1] if "\\" not in text else None
    return None
