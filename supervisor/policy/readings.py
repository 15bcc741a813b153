"""What else a command may come to: the command inside of a wrapper, of a nested shell, or of a word with a backslash.

Owns these other readings of an argv. They serve only to be stricter: what is forbidden stays so however it is wrapped,
and it does not matter if a reading is one that nobody meant. To be allowed, a command has to be what it looks like.
Pure.
"""

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from pycodex.supervisor.policy.bash import MOST_PARSED, every_command, plain_commands

# They run a command that stands among their own words.
_WRAPPERS = frozenset(
    {
        *("env", "sudo", "doas", "su", "nohup", "setsid", "time", "timeout", "nice", "ionice", "stdbuf", "xargs"),
        *("command", "exec", "builtin", "chroot", "unshare", "nsenter", "strace", "parallel", "busybox", "coproc"),
        *("flock", "taskset", "chrt", "watch", "script", "caffeinate"),
    }
)
# They make a script of their words.
_READERS = frozenset({"eval", "watch", "trap"})
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "mksh", "ash", "fish", "rbash"})
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_SPLIT = "--split-string="
_MOST_READINGS = 64
# Reading takes time that grows faster than the script.
_MOST_READ_CHARACTERS = 16 << 10
# How far into a wrapper's words its command can begin.
_MOST_WORDS_BEFORE = 12


class Readings(NamedTuple):
    all: tuple[tuple[str, ...], ...]
    """Beginning with the argv itself; no reading is empty."""
    is_whole: bool
    """Whether there is nothing else that it may come to, as far as we can read."""
    is_read: bool = True
    """Whether no script in it was too long to be read."""


def readings(argv: Sequence[str]) -> Readings:
    return _readings(tuple(argv))


# One decision asks several times.
@lru_cache(maxsize=32)
def _readings(argv: tuple[str, ...]) -> Readings:
    found: dict[tuple[str, ...], None] = {argv: None} if argv else {}
    waiting = list(found)
    characters_left = _MOST_READ_CHARACTERS
    is_read = True
    while waiting:
        words = waiting.pop(0)
        scripts = list(_scripts_in(words))
        # What is longer is hardly read at all.
        characters_left -= sum(min(len(script), MOST_PARSED) for script in scripts[1:])
        if characters_left < 0 or len(found) > _MOST_READINGS:
            return Readings(tuple(found), is_whole=False, is_read=False)
        read = [_commands_of(script) for script in scripts]
        is_read = is_read and None not in read
        for reading in (*_commands_in(words), *(each for commands in read for each in commands or ())):
            if reading and reading not in found:
                found[reading] = None
                waiting.append(reading)
    return Readings(tuple(found), is_whole=True, is_read=is_read)


def _commands_in(argv: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Those that stand in it word by word."""
    yield tuple(word.replace("\\\n", "").replace("\\", "") for word in argv)
    program = os.path.basename(argv[0])
    if program in _WRAPPERS:
        start = next((at for at, word in enumerate(argv) if os.path.basename(word) not in _WRAPPERS), len(argv))
        yield from (argv[at:] for at in range(start, min(len(argv), start + _MOST_WORDS_BEFORE)))
    if program == "find":
        yield from (argv[at + 1 :] for at, word in enumerate(argv) if word in _FIND_RUNS)


def _scripts_in(argv: tuple[str, ...]) -> Iterator[str]:
    """Those that it has a shell read."""
    program = os.path.basename(os.path.splitext(argv[0])[0])
    if program in _READERS:
        yield " ".join(argv[1:])
    if program in _SHELLS:
        flags = (at for at, word in enumerate(argv) if at and word[:1] == "-" and word[1:2] != "-" and "c" in word)
        yield from (argv[at + 1] for at in flags if at + 1 < len(argv))
    if program == "env":
        yield from (argv[at + 1] for at, word in enumerate(argv[:-1]) if word in ("-S", "--split-string"))
        yield from (word.removeprefix(_SPLIT) for word in argv if word.startswith(_SPLIT))


def _commands_of(script: str) -> tuple[tuple[str, ...], ...] | None:
    return plain_commands(script) or every_command(script)
