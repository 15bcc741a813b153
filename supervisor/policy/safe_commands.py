"""Commands that are known to change nothing, and commands that are known to destroy.

Owns both lists. Neither is a boundary: the sandbox is. They only say about which commands a person need not be asked,
and about which one is always asked. What is on neither list is unknown. Pure: looks at words, never at the disk.
"""

import os
import re
import sys
from collections.abc import Callable, Sequence

from pycodex.supervisor.policy.bash import plain_commands
from pycodex.supervisor.policy.bash_words import expands
from pycodex.supervisor.policy.command_line import script_of
from pycodex.supervisor.policy.readings import readings

_SYSTEM_FOLDERS = ("", "/bin", "/usr/bin", "/usr/local/bin")
_ALWAYS_SAFE = frozenset(
    {
        *("cat", "cd", "cut", "echo", "expr", "false", "grep", "head", "id", "ls", "nl", "paste", "pwd", "rev", "seq"),
        *("stat", "tail", "tr", "true", "uname", "wc", "which", "whoami"),
        # Elsewhere these are other programs.
        *(("numfmt", "tac") if sys.platform == "linux" else ()),
    }
)
_FIND_ACTS = frozenset(
    {"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls", "-fprint", "-fprint0", "-fprintf"},
)
_RG_RUNS = ("--pre", "--hostname-bin")
_RG_UNPACKS = frozenset({"--search-zip", "-z"})
_SED_PRINTS_LINES = re.compile(r"([0-9]+,)?[0-9]+p")
_SED_MOST_WORDS = 4

# What can stand in the middle of a word without being part of it.
_QUOTING = re.compile(r"""\\\n|[\\'"]""")

_GIT_READS = frozenset({"status", "log", "diff", "show", "branch"})
# What may stand before the subcommand; any other option may take the subcommand for its value, or name a program.
_GIT_OPTIONS = frozenset(
    {
        *("-p", "-P", "--paginate", "--no-pager", "--no-optional-locks", "--no-replace-objects", "--bare"),
        *("--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs"),
    }
)
_GIT_WITH_VALUE = frozenset({"-C", "--git-dir", "--work-tree"})
# They run programs, or write; git also takes them cut short.
_GIT_ACTS = ("--output", "--exec", "--ext-diff", "--textconv", "--paginate", "--show-signature", "--config-env")
_GIT_BRANCH_LISTS = frozenset(
    {"--list", "-l", "--show-current", "-a", "--all", "-r", "--remotes", "-v", "-vv", "--verbose"}
)


def is_known_safe(argv: Sequence[str], *, is_expanded: bool = False) -> bool:
    """Of a shell with a script: if all that it runs is known to be.

    `is_expanded`: a shell may make something else of its words, such as an option.
    """
    if not argv:
        return False
    script = script_of(argv)
    if script is None:
        return _reads_only(argv, is_expanded=is_expanded)
    commands = plain_commands(script)
    is_expanded = is_expanded or expands(script)
    return commands is not None and all(_reads_only(words, is_expanded=is_expanded) for words in commands)


def is_dangerous(argv: Sequence[str]) -> bool:
    """Of a shell with a script, or of a wrapper: if any command in it is, whatever it depends on."""
    if not any("rm" in _QUOTING.sub("", word) for word in argv):
        return False
    found = readings(argv)
    return not found.is_whole or any(_program(words[0]) == "rm" and _is_forced(words[1:]) for words in found.all)


def _reads_only(argv: Sequence[str], *, is_expanded: bool) -> bool:
    folder, name = os.path.split(argv[0])
    arguments = argv[1:]
    if folder not in _SYSTEM_FOLDERS:
        # It only shares its name with one that is known.
        return False
    if name in _ALWAYS_SAFE:
        return True
    check = _CHECKS.get(name)
    return check is not None and not is_expanded and check(arguments)


def _base64_reads(arguments: Sequence[str]) -> bool:
    return not any(argument.startswith("-o") or _names(argument, ("--output",)) for argument in arguments)


def _find_reads(arguments: Sequence[str]) -> bool:
    return _FIND_ACTS.isdisjoint(arguments)


def _rg_reads(arguments: Sequence[str]) -> bool:
    if any(argument[:2] != "--" and argument.startswith("-") and "z" in argument for argument in arguments):
        return False
    return _RG_UNPACKS.isdisjoint(arguments) and not any(_names(argument, _RG_RUNS) for argument in arguments)


def _sed_reads(arguments: Sequence[str]) -> bool:
    if not 2 <= len(arguments) < _SED_MOST_WORDS or arguments[0] != "-n":
        return False
    if any(argument.startswith("-") for argument in arguments[2:]):
        return False
    return _SED_PRINTS_LINES.fullmatch(arguments[1]) is not None


def _uniq_reads(arguments: Sequence[str]) -> bool:
    """A second file is written."""
    return sum(not argument.startswith("-") for argument in arguments) <= 1


def _git_reads(arguments: Sequence[str]) -> bool:
    # Settings can name programs to run.
    if any(argument.startswith("-c") for argument in arguments):
        return False
    position = _git_subcommand(arguments)
    if position is None or arguments[position] not in _GIT_READS:
        return False
    rest = arguments[position + 1 :]
    if any(_may_mean(argument, _GIT_ACTS) for argument in rest):
        return False
    if arguments[position] == "branch":
        return all(argument in _GIT_BRANCH_LISTS or argument.startswith("--format=") for argument in rest)
    return True


def _git_subcommand(arguments: Sequence[str]) -> int | None:
    """Where it stands, behind the options of git itself; None behind one that is not known to be harmless."""
    position = 0
    while position < len(arguments) and arguments[position].startswith("-"):
        name, equals, _ = arguments[position].partition("=")
        if name in _GIT_WITH_VALUE:
            position += 1 if equals else 2
        elif name in _GIT_OPTIONS or name.startswith("-C"):
            position += 1
        else:
            return None
    return position if position < len(arguments) else None


def _may_mean(argument: str, options: Sequence[str]) -> bool:
    """Whether it is one of these options, with or without a value, whole or cut short."""
    name = argument.partition("=")[0]
    return len(name) > len("--") and any(option.startswith(name) for option in options)


def _names(argument: str, options: Sequence[str]) -> bool:
    """Whether it is one of these options, with or without a value."""
    return argument.partition("=")[0] in options


_CHECKS: dict[str, Callable[[Sequence[str]], bool]] = {
    "base64": _base64_reads,
    "find": _find_reads,
    "git": _git_reads,
    "rg": _rg_reads,
    "sed": _sed_reads,
    "uniq": _uniq_reads,
}


def _program(word: str) -> str:
    """A backslash keeps the shell from taking a name for an alias, and means nothing else in one."""
    return os.path.basename(word.replace("\\", ""))


def _is_forced(arguments: Sequence[str]) -> bool:
    for argument in arguments:
        if argument == "--":
            return False
        if argument.startswith("--"):
            # Long options may be cut short as long as they can be told apart.
            if len(argument) > len("--") and "--force".startswith(argument):
                return True
        elif argument.startswith("-") and "f" in argument:
            return True
    return False
