"""Reading shell scripts with a real grammar.

Owns the parser and what is asked of its trees; a script that the grammar does not take as a whole is one of which
nothing is known. Loads the grammar when it is first needed. Takes text, gives values; runs nothing. Time and memory of
the parser may grow with the square of what it is given, so it is given little: of a long script neither the body of a
here-document nor what is inside of quotes, and nothing at all of one that is long without them.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from pycodex.supervisor.policy.bash_words import simple_commands

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

PATCH_COMMANDS = frozenset({"apply_patch", "applypatch"})
# What the shell would make something else of before `cd` sees it.
_SPECIAL_IN_WORDS = "\\*?[]{}"
MOST_PARSED = 4096
_STAND_IN = "body"

# A tree of nothing else is one of commands that a program can be given word by word.
_PLAIN_NODES = frozenset(
    {
        *("program", "list", "pipeline", "command", "command_name"),
        *("word", "number", "string", "string_content", "raw_string", "concatenation"),
    }
)
_PLAIN_TOKENS = frozenset({"&&", "||", ";", "|", '"', "'"})
_LITERALS = frozenset({"word", "number"})
_LITERAL_NODES = _LITERALS | {"string", "string_content", "raw_string", "concatenation"}
# A tree of nothing else runs its command on its here-document, and that is all.
_HEREDOC_PARTS = frozenset(
    {
        "heredoc_start",
        "heredoc_body",
        "heredoc_end",
        "herestring_redirect",
        "file_redirect",
        "file_descriptor",
        "comment",
    }
)
_HEREDOC_NODES = _HEREDOC_PARTS | {
    *("program", "redirected_statement", "command", "command_name", "word", "number"),
    *("heredoc_redirect", "heredoc_content", "raw_string", "string", "string_content"),
}

# The pieces of a script in which only quotes hide anything. `#` counts only where it cannot begin a comment.
_PIECE = re.compile(
    r"""'(?P<single>[^']*+)'|"(?P<double>(?:[^"\\$`]|\\.)*+)"|\\.|[ \t\r\n|&;]|[^ \t\r\n|&;<>()$`'"\\#]++#*+""",
    re.DOTALL,
)
_COMMENT_LINES = re.compile(r"^[ \t]*#.*\n", re.MULTILINE)
# What stands for the text inside of quotes: characters that no language uses.
_ASIDE_START, _ASIDE_END = "\ue000", "\ue001"
_ASIDE = re.compile(f"{_ASIDE_START}([0-9]+){_ASIDE_END}")
# Shorter texts are left where they are.
_WORTH_PUTTING_ASIDE = 32


class HeredocPatch(NamedTuple):
    """A script that does nothing but apply one patch. `directory` is where it changes to before, as it is written."""

    body: str
    directory: str | None = None


class HeredocCommand(NamedTuple):
    """A script that is one command with a here-document.

    `does_more`: it also opens files, or sets variables for the command or besides; what is known of the words alone is
    then not enough to call it harmless.
    """

    words: tuple[str, ...]
    does_more: bool = False


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


# One call asks several times about the same script.
@lru_cache(maxsize=16)
def plain_commands(script: str) -> tuple[tuple[str, ...], ...] | None:
    """The commands of a script that does nothing but run them, joined by `&&`, `||`, `;`, `|` or line ends.

    Words are told as they are written, without their quotes. None for any other script.
    """
    short = _shortened(script)
    root = None if short is None else _tree(short.text)
    if short is None or root is None:
        return None
    commands: list[tuple[str, ...]] = []
    for node in _walk(root):
        if not _is_plain(node):
            return None
        if node.type == "command":
            words = _plain_words(node)
            if words is None:
                return None
            commands.append(tuple(words))
    if not commands or tuple(commands) != simple_commands(short.text):
        return None
    return tuple(tuple(map(short.restored, words)) for words in commands)


def heredoc_command(script: str) -> HeredocCommand | None:
    """The one command of a script that feeds it a here-document and runs nothing else; None for any other script."""
    if "<<" not in script:
        return None
    root = _tree(script) if len(script) <= MOST_PARSED else _tree_without_body(script)
    if root is None:
        return None
    nodes = list(_walk(root))
    commands = [node for node in nodes if node.type == "command"]
    if len(commands) != 1 or all(node.type != "heredoc_redirect" for node in nodes):
        return None
    words = _heredoc_words(commands[0])
    return None if words is None else HeredocCommand(words, does_more=any(map(_does_more, nodes)))


@lru_cache(maxsize=16)
def every_command(script: str) -> tuple[tuple[str, ...], ...] | None:
    """All commands anywhere in a script, whatever it does with them, also of one that is broken further on.

    Words that depend on what the shell puts into them are empty. None for a script that is too long to be read.
    """
    if len(script) > MOST_PARSED:
        script = _COMMENT_LINES.sub("", script)
    if not _can_be_run(script):
        return ()
    if len(script) > MOST_PARSED:
        return None
    root = _parser().parse(script.encode()).root_node
    return tuple(words for node in _walk(root) if node.type == "command" for words in _commands_in(node))


class _Shortened(NamedTuple):
    """A script with what is inside of its longer quotes put aside."""

    text: str
    aside: tuple[str, ...] = ()

    def restored(self, word: str) -> str:
        return _ASIDE.sub(lambda found: self.aside[int(found[1])], word) if self.aside else word


def _shortened(script: str) -> _Shortened | None:
    """None for a script that stays too long, or in which other things than quotes may hide something."""
    if len(script) <= MOST_PARSED:
        return _Shortened(script)
    if _ASIDE_START in script:
        return None
    pieces: list[str] = []
    aside: list[str] = []
    length = position = 0
    while position < len(script):
        found = _PIECE.match(script, position)
        if found is None or length > MOST_PARSED:
            return None
        piece, position = found[0], found.end()
        if found.lastgroup is not None and len(piece) > _WORTH_PUTTING_ASIDE:
            aside.append(found[found.lastgroup])
            piece = f"{piece[0]}{_ASIDE_START}{len(aside) - 1}{_ASIDE_END}{piece[0]}"
        pieces.append(piece)
        length += len(piece)
    return _Shortened("".join(pieces), tuple(aside)) if length <= MOST_PARSED else None


def _tree_without_body(script: str) -> "Node | None":
    parts = _parts(script)
    # After a backslash the command goes on where the body seems to begin.
    if parts is None or parts.above.endswith("\\"):
        return None
    root = _tree(f"{parts.above}\n{_STAND_IN}\n{parts.last}\n")
    if root is None:
        return None
    tags = [node for node in _walk(root) if node.type in ("heredoc_start", "heredoc_end")]
    if [tag.type for tag in tags] != ["heredoc_start", "heredoc_end"]:
        return None
    start, end = (_text(tag).strip() for tag in tags)
    ends_early = any(line.strip() == end for line in parts.body)
    return None if ends_early or (start == end and any(map(_is_expanded, parts.body))) else root


def _is_expanded(body: str) -> bool:
    """Whether the shell may put something into the body of a here-document, unless its tag is quoted."""
    return "$" in body or "`" in body


def _tree(script: str) -> "Node | None":
    if not _can_be_run(script):
        return None
    root = _parser().parse(script.encode()).root_node
    return None if root.has_error else root


def _walk(root: "Node") -> "Iterator[Node]":
    """All nodes in the order of the text, without going down by calls: trees can be deep."""
    left = [root]
    while left:
        node = left.pop()
        yield node
        left.extend(reversed(node.children))


def _is_plain(node: "Node") -> bool:
    if node.is_named:
        return node.type in _PLAIN_NODES
    return node.type in _PLAIN_TOKENS or not node.type.strip()


def _plain_words(command: "Node") -> list[str] | None:
    name, *arguments = command.named_children
    if name.type != "command_name" or [child.type for child in name.named_children] != ["word"]:
        return None
    words = [_text(name)]
    for argument in arguments:
        word = _unquoted(argument)
        if word is None or (argument.type == "concatenation" and not word):
            return None
        words.append(word)
    return words


def _unquoted(node: "Node") -> str | None:
    if node.type in _LITERALS:
        return _text(node)
    if node.type in ("string", "raw_string"):
        return _text(node)[1:-1]
    if node.type != "concatenation":
        return None
    parts = [_unquoted(part) for part in node.named_children if part.type != "concatenation"]
    return None if None in parts or len(parts) != len(node.named_children) else "".join(filter(None, parts))


def _words(command: "Node") -> "Iterator[Node]":
    """The name and the arguments, without what is set or redirected around them."""
    for child in command.named_children:
        if child.type == "command_name":
            yield from child.named_children
        elif child.type not in ("variable_assignment", "comment") and not child.type.endswith("_redirect"):
            yield child


def _commands_in(command: "Node") -> Iterator[tuple[str, ...]]:
    """Usually one; the grammar takes a next line that starts with a backslash for more words of the same command.

    Where a backslash joins two lines in the middle of a word, it takes that for two.
    """
    words: list[str] = []
    last: Node | None = None
    for node in _words(command):
        gap = "" if last is None else _between(command, last, node)[len(_text(last)) : -len(_text(node)) or None]
        word = _literal(node)
        if "\n" in gap.replace("\\\n", "") or word.startswith("\n"):
            yield tuple(words)
            words = []
        if gap == "\\\n" and words:
            words[-1] += word
        else:
            words.append(word.lstrip("\n"))
        last = node
    yield tuple(words)


def _literal(node: "Node") -> str:
    """The word, or nothing if it depends on what the shell puts into it."""
    is_literal = all(part.type in _LITERAL_NODES for part in _walk(node) if part.is_named)
    return (_unquoted(node) or "") if is_literal else ""


def _heredoc_words(command: "Node") -> tuple[str, ...] | None:
    nodes = list(_words(command))
    if not nodes or any(node.type not in _LITERALS or node.named_children for node in nodes):
        return None
    words = tuple(map(_text, nodes))
    if simple_commands(_between(command, nodes[0], nodes[-1])) != (words,):
        return None
    return (*words, "-") if _is_dash_left_out(command) else words


def _between(command: "Node", first: "Node", last: "Node") -> str:
    """The text from one node of a command to another, both included."""
    text = (command.text or b"")[first.start_byte - command.start_byte : last.end_byte - command.start_byte]
    return text.decode("utf-8", "replace")


def _is_dash_left_out(command: "Node") -> bool:
    """The grammar does not tell of a dash that stands right before the redirection."""
    statement, redirect = command.parent, command.next_sibling
    if statement is None or statement.text is None or redirect is None or redirect.type != "heredoc_redirect":
        return False
    between = statement.text[command.end_byte - statement.start_byte : redirect.start_byte - statement.start_byte]
    return b"-" in between or _text(redirect).startswith("-")


def _does_more(node: "Node") -> bool:
    kind = node.type
    if kind == "file_redirect":
        return [child.type for child in node.children][-2:] not in ([">&", "number"], ["<&", "number"])
    if not node.is_named or (node.parent is not None and node.parent.type == "file_redirect"):
        return False
    if node.parent is not None and node.parent.type == "heredoc_redirect":
        # Arguments can stand behind the tag.
        return kind not in _HEREDOC_PARTS
    if kind == "heredoc_redirect":
        # Not all that is expanded has nodes of its own.
        start, body, end = (_named_text(node, f"heredoc_{part}") for part in ("start", "body", "end"))
        return start == end and _is_expanded(body)
    return kind not in _HEREDOC_NODES


def _named_text(node: "Node", kind: str) -> str:
    return "".join(_text(child) for child in node.named_children if child.type == kind).strip()


def _parts(script: str) -> _Script | None:
    lines = script.strip("\n").split("\n")
    while len(lines) > 1 and not lines[-1].strip(" \t"):
        lines.pop()
    start = next((number for number, line in enumerate(lines, start=1) if "<<" in line), len(lines))
    if start == len(lines) or not _can_be_run(script):
        return None
    parts = _Script("\n".join(lines[:start]), lines[start:-1], lines[-1])
    return parts if len(parts.above) + len(parts.last) <= MOST_PARSED else None


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
