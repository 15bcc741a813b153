"""What a command is for, in a few words for people: it reads a file, lists files, searches, or it is unknown.

Owns that guess, which decides nothing: front-ends show it instead of the command line. Takes an argv, gives the
`parsed_cmd` of events. One command that is not understood makes the whole unknown. Pure.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, pairwise
from typing import Any, Literal

from pycodex.supervisor.policy.bash import plain_commands
from pycodex.supervisor.policy.command_line import script_of
from pycodex.supervisor.text.argv import shown
from pycodex.supervisor.text.words import split_words

_CONNECTORS = frozenset({"|", "||", "&&", ";"})
_POWERSHELLS = frozenset({"powershell", "pwsh"})
_POWERSHELL_FLAGS = ("-nologo", "-noprofile")
_POWERSHELL_SCRIPT_FLAGS = frozenset({"-command", "-c"})

# Commands that only change how the output of another one looks.
_FORMATTERS = frozenset({"wc", "tr", "cut", "sort", "uniq", "tee", "column", "yes", "printf"})
_XARGS_WITH_VALUE = frozenset({"-E", "-e", "-I", "-L", "-n", "-P", "-s"})
_IN_PLACE = ("-i", "-pi")
_LINE_RANGE = re.compile(r"([0-9]+,)?[0-9]+p")
_COUNT = re.compile(r"[0-9]+")
_COUNT_OR_START = re.compile(r"\+?[0-9]+")

# Directories that say nothing about what is in them.
_DULL_NAMES = frozenset({"build", "dist", "node_modules", "src"})

_PYTHON = re.compile(r"python([23](\..*)?)?", re.DOTALL)
_PYTHON_WALKS = ("os.walk", "os.listdir", "os.scandir", "glob.glob", "glob.iglob", "pathlib.Path", ".rglob(")

_LS = frozenset({"-I", "-w", "--block-size", "--format", "--time-style", "--color", "--quoting-style"})
_EZA = frozenset({"-I", "--ignore-glob", "--color", "--sort", "--time-style", "--time"})
_TREE = frozenset({"-L", "-P", "-I", "--charset", "--filelimit", "--sort"})
_DU = frozenset({"-d", "--max-depth", "-B", "--block-size", "--exclude", "--time-style"})
_RG = frozenset(
    {
        *("-g", "--glob", "--iglob", "-t", "--type", "--type-add", "--type-not"),
        *("-m", "--max-count", "-A", "-B", "-C", "--context", "--max-depth"),
    }
)
_AG = frozenset({"-G", "-g", "--file-search-regex", "--ignore-dir", "--ignore-file", "--path-to-ignore"})
_FD = frozenset({"-t", "--type", "-e", "--extension", "-E", "--exclude", "--search-path"})
_GIT_LS_FILES = frozenset({"--exclude", "--exclude-from", "--pathspec-from-file"})
_GREP_PATTERN = frozenset({"-e", "--regexp", "-f", "--file"})
_GREP = frozenset(
    {"-m", "--max-count", "-C", "--context", "-A", "--after-context", "-B", "--before-context"},
)
_BAT = frozenset(
    {"--theme", "--language", "--style", "--terminal-width", "--tabs", "--line-range", "--map-syntax"},
)
_LESS = frozenset(
    {"-p", "-P", "-x", "-y", "-z", "-j", "--pattern", "--prompt", "--tabs", "--shift", "--jump-target"},
)
_NL = frozenset({"-s", "-w", "-v", "-i", "-b"})
_SED = frozenset({"-e", "-f", "--expression", "--file"})
_AWK = frozenset({"-F", "-v", "-f", "--field-separator", "--assign", "--file"})
_FIND_BY_NAME = frozenset({"-name", "-iname", "-path", "-regex"})
_NO_FLAGS: frozenset[str] = frozenset()

Words = Sequence[str]


@dataclass(frozen=True, slots=True)
class _Summary:
    kind: Literal["read", "list_files", "search", "unknown"]
    cmd: str
    path: str | None = None
    name: str | None = None
    query: str | None = None

    def told(self) -> dict[str, Any]:
        match self.kind:
            case "read":
                return {"type": self.kind, "cmd": self.cmd, "name": self.name, "path": self.path}
            case "list_files":
                return {"type": self.kind, "cmd": self.cmd, "path": self.path}
            case "search":
                return {"type": self.kind, "cmd": self.cmd, "query": self.query, "path": self.path}
        return {"type": self.kind, "cmd": self.cmd}


def parsed_cmd(argv: Words) -> tuple[dict[str, Any], ...]:
    """Empty for a command that only changes the directory."""
    script = script_of(argv)
    if script is None:
        script = _powershell_script(argv)
        found = _steps_of_words(argv) if script is None and argv else None
    else:
        found = _steps_of_script(script)
    distinct = [step for before, step in pairwise((None, *(found or ()))) if step != before]
    if found is None or any(step.kind == "unknown" for step in distinct):
        distinct = [_Summary("unknown", shown(argv) if script is None else script)]
    return tuple(step.told() for step in distinct)


def _powershell_script(argv: Words) -> str | None:
    if not argv or os.path.splitext(os.path.basename(argv[0]))[0].lower() not in _POWERSHELLS:
        return None
    for flag, following in pairwise(argv[1:]):
        if flag.lower() in _POWERSHELL_SCRIPT_FLAGS:
            return following
        if flag.lower() not in _POWERSHELL_FLAGS:
            return None
    return None


def _steps_of_script(script: str) -> list[_Summary] | None:
    commands = plain_commands(script)
    if commands is None:
        return None
    telling = [command for command in commands if not _is_formatter(command)]
    if not telling:
        return None
    steps = _steps(telling)
    if len(steps) != 1 or steps[0].kind == "unknown":
        return steps
    words = split_words(script) or [script]
    if len(commands) == 1 and _CONNECTORS.isdisjoint(words):
        return [replace(steps[0], cmd=shown(words))]
    if steps[0].kind == "read" and "|" in words and ("sed", "-n") in pairwise(words):
        return [replace(steps[0], cmd=script)]
    return steps


def _steps_of_words(argv: Words) -> list[_Summary]:
    words = list(argv)
    if len(words) > 2 and words[0] in ("yes", "y", "no", "n") and words[1] == "|":
        words = words[2:]
    return _steps(_split_at_connectors(words))


def _split_at_connectors(words: Words) -> Iterator[Words]:
    start = 0
    for end in (*(number for number, word in enumerate(words) if word in _CONNECTORS), len(words)):
        if start < end:
            yield words[start:end]
        start = end + 1


def _steps(commands: Iterable[Words]) -> list[_Summary]:
    """Without commands that are only there for the sake of others, as long as that leaves one.

    Files that are read after a change of directory are told with it.
    """
    steps: list[tuple[Words, _Summary]] = []
    directory = ""
    for command in commands:
        if command[0] == "cd":
            target = _directory_of(command[1:])
            directory = directory if target is None else _joined(directory, target)
            continue
        summary = _summary(command)
        if summary.kind == "read":
            summary = replace(summary, path=_joined(directory, summary.path or ""))
        steps.append((command, summary))
    telling = dropwhile(lambda step: step[0][0] == "echo", (step for step in steps if not _is_idle(step[0])))
    return [summary for _, summary in list(telling) or steps]


def _is_idle(command: Words) -> bool:
    if command[0] == "nl":
        return all(argument.startswith("-") for argument in command[1:])
    return list(command) == ["true"]


def _directory_of(arguments: Words) -> str | None:
    if "--" in arguments:
        return next(iter(arguments[arguments.index("--") + 1 :]), None)
    return next((argument for argument in reversed(arguments) if not argument.startswith("-")), None)


def _joined(directory: str, path: str) -> str:
    if re.match(r"[A-Za-z]:[\\/]|\\\\", path):
        return path
    return os.path.join(directory, path) if directory else path


def _is_formatter(command: Words) -> bool:
    name, arguments = command[0], command[1:]
    match name:
        case "xargs":
            return not _changes_files(_after_xargs(arguments))
        case "awk":
            return _awk_file(arguments) is None
        case "sed":
            return _sed_file(arguments) is None
        case "head":
            return _is_only_amount(arguments, _COUNT)
        case "tail":
            return _is_only_amount(arguments, _COUNT_OR_START)
    return name in _FORMATTERS


def _is_only_amount(arguments: Words, amount: re.Pattern[str]) -> bool:
    """Options of `head` and `tail`, but no file."""
    if len(arguments) == 2:
        return arguments[0] in ("-n", "-c") and amount.fullmatch(arguments[1]) is not None
    return len(arguments) < 2 and all(argument.startswith("-") for argument in arguments)


def _after_xargs(arguments: Words) -> Words:
    """The command that it runs."""
    position = 0
    while position < len(arguments) and arguments[position].startswith("-"):
        if arguments[position] == "--":
            return arguments[position + 1 :]
        position += 2 if arguments[position] in _XARGS_WITH_VALUE else 1
    return arguments[position:]


def _changes_files(command: Words) -> bool:
    name, arguments = command[0] if command else "", command[1:]
    if name == "rg":
        return "--replace" in arguments
    if name == "sed" and "--in-place" in arguments:
        return True
    return name in ("sed", "perl", "ruby") and any(argument.startswith(_IN_PLACE) for argument in arguments)


def _summary(command: Words) -> _Summary:
    cmd = shown(command)
    summarise = _BY_NAME.get(command[0])
    if summarise is None and _PYTHON.fullmatch(command[0]):
        summarise = _python
    found = None if summarise is None else summarise(cmd, command[1:])
    return found or _Summary("unknown", cmd)


def _operands(arguments: Words, with_value: frozenset[str] = _NO_FLAGS) -> list[str]:
    """What is left without options and their values."""
    found: list[str] = []
    left = iter(arguments)
    for argument in left:
        if argument == "--":
            return [*found, *left]
        if argument in with_value:
            next(left, None)
        elif not argument.startswith("-"):
            found.append(argument)
    return found


def _first(words: Words) -> str | None:
    return words[0] if words else None


def _second(words: Words) -> str | None:
    return words[1] if len(words) > 1 else None


def _short(path: str) -> str:
    """The last name in it that says something."""
    whole = path.replace("\\", "/").rstrip("/")
    return next((name for name in reversed(whole.split("/")) if name and name not in _DULL_NAMES), whole)


def _read(cmd: str, path: str | None) -> _Summary | None:
    return None if path is None else _Summary("read", cmd, path, name=_short(path))


def _listed(cmd: str, path: str | None) -> _Summary:
    return _Summary("list_files", cmd, None if path is None else _short(path))


def _searched(cmd: str, query: str | None, path: str | None) -> _Summary:
    return _Summary("search", cmd, None if path is None else _short(path), query=query)


def _lister(with_value: frozenset[str]) -> "_Summarise":
    return lambda cmd, arguments: _listed(cmd, _first(_operands(arguments, with_value)))


def _reader(with_value: frozenset[str]) -> "_Summarise":
    def summarise(cmd: str, arguments: Words) -> _Summary | None:
        files = _operands(arguments, with_value)
        return _read(cmd, files[0]) if len(files) == 1 else None

    return summarise


def _rg(cmd: str, arguments: Words) -> _Summary:
    operands = _operands(arguments, _RG)
    if "--files" in arguments:
        return _listed(cmd, _first(operands))
    return _searched(cmd, _first(operands), _second(operands))


def _ag(cmd: str, arguments: Words) -> _Summary:
    operands = _operands(arguments, _AG)
    return _searched(cmd, _first(operands), _second(operands))


def _grep(cmd: str, arguments: Words) -> _Summary:
    pattern = None
    operands: list[str] = []
    left = iter(arguments)
    for argument in left:
        if argument == "--":
            operands += left
        elif argument in _GREP_PATTERN:
            value = next(left, None)
            pattern = value if pattern is None else pattern
        elif argument in _GREP:
            next(left, None)
        elif not argument.startswith("-"):
            operands.append(argument)
    if pattern is not None:
        return _searched(cmd, pattern, _first(operands))
    return _searched(cmd, _first(operands), _second(operands))


def _git(cmd: str, arguments: Words) -> _Summary | None:
    match _first(arguments):
        case "grep":
            return _grep(cmd, arguments[1:])
        case "ls-files":
            return _listed(cmd, _first(_operands(arguments[1:], _GIT_LS_FILES)))
    return None


def _fd(cmd: str, arguments: Words) -> _Summary:
    operands = _operands(arguments, _FD)
    if not operands or (len(operands) == 1 and _is_pathish(operands[0])):
        return _listed(cmd, _first(operands))
    return _searched(cmd, operands[0], _second(operands))


def _is_pathish(word: str) -> bool:
    return word in (".", "..") or "/" in word or "\\" in word


def _find(cmd: str, arguments: Words) -> _Summary:
    path = next((word for word in arguments if not word.startswith("-") and word not in ("!", "(", ")")), None)
    for option, value in pairwise(arguments):
        if option in _FIND_BY_NAME:
            return _searched(cmd, value, path)
    return _listed(cmd, path)


def _head(cmd: str, arguments: Words) -> _Summary | None:
    return _read(cmd, _file_after_amount(arguments, _COUNT))


def _tail(cmd: str, arguments: Words) -> _Summary | None:
    return _read(cmd, _file_after_amount(arguments, _COUNT_OR_START))


def _file_after_amount(arguments: Words, amount: re.Pattern[str]) -> str | None:
    if len(arguments) == 1 and not arguments[0].startswith("-"):
        return arguments[0]
    if not arguments or not arguments[0].startswith("-n"):
        return None
    given, rest = (arguments[1:2], arguments[2:]) if arguments[0] == "-n" else ((arguments[0][2:],), arguments[1:])
    if not given or amount.fullmatch(given[0]) is None:
        return None
    return next((argument for argument in rest if not argument.startswith("-")), None)


def _nl(cmd: str, arguments: Words) -> _Summary | None:
    return _read(cmd, _first(_operands(arguments, _NL)))


def _awk(cmd: str, arguments: Words) -> _Summary | None:
    return _read(cmd, _awk_file(arguments))


def _awk_file(arguments: Words) -> str | None:
    operands = _operands(arguments, _AWK)
    if "-f" in arguments or "--file" in arguments:
        return _first(operands)
    return _second(operands)


def _sed(cmd: str, arguments: Words) -> _Summary | None:
    return _read(cmd, _sed_file(arguments))


def _sed_file(arguments: Words) -> str | None:
    """What a `sed` that only prints some of the lines reads."""
    scripts = [value for option, value in pairwise(arguments) if option in ("-e", "--expression")]
    if "-n" not in arguments or not any(map(_LINE_RANGE.fullmatch, (*scripts, *arguments))):
        return None
    operands = _operands(arguments, _SED)
    if operands and _LINE_RANGE.fullmatch(operands[0]):
        return _second(operands)
    return _first(operands)


def _python(cmd: str, arguments: Words) -> _Summary | None:
    script = next((value for option, value in pairwise(arguments) if option == "-c"), "")
    return _listed(cmd, path=None) if any(walk in script for walk in _PYTHON_WALKS) else None


_Summarise = Callable[[str, Words], _Summary | None]

_BY_NAME: dict[str, _Summarise] = {
    "ls": _lister(_LS),
    **dict.fromkeys(("eza", "exa"), _lister(_EZA)),
    "tree": _lister(_TREE),
    "du": _lister(_DU),
    **dict.fromkeys(("rg", "rga", "ripgrep-all"), _rg),
    **dict.fromkeys(("grep", "egrep", "fgrep"), _grep),
    "git": _git,
    **dict.fromkeys(("ag", "ack", "pt"), _ag),
    "fd": _fd,
    "find": _find,
    **dict.fromkeys(("cat", "more"), _reader(_NO_FLAGS)),
    **dict.fromkeys(("bat", "batcat"), _reader(_BAT)),
    "less": _reader(_LESS),
    "head": _head,
    "tail": _tail,
    "nl": _nl,
    "awk": _awk,
    "sed": _sed,
}
