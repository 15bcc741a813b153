"""What else a command may come to: the command inside of a wrapper, of a nested shell, or of a word with a backslash.

Owns these other readings of an argv. They serve only to be stricter: what is forbidden stays so however it is wrapped,
and it does not matter if a reading is one that nobody meant. To be allowed, a command has to be what it looks like.
Pure.
"""

import os
from collections.abc import Iterator, Sequence

from pycodex.supervisor.policy.bash import every_command, plain_commands
from pycodex.supervisor.policy.command_line import script_of

# They run a command that stands among their own words.
_WRAPPERS = frozenset(
    {
        *("env", "sudo", "doas", "su", "nohup", "setsid", "time", "timeout", "nice", "ionice", "stdbuf", "xargs"),
        *("command", "exec", "builtin", "chroot", "unshare", "nsenter", "strace", "parallel", "find", "busybox"),
    }
)
# They make a script of their words.
_READERS = frozenset({"eval", "watch"})
_MOST_READINGS = 64
# How far into a wrapper's words its command can begin.
_MOST_WORDS_BEFORE = 12


def readings(argv: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Beginning with the argv itself; bounded, as wrappers can be nested."""
    found: dict[tuple[str, ...], None] = {tuple(argv): None}
    waiting = [tuple(argv)]
    while waiting and len(found) < _MOST_READINGS:
        for reading in _next_readings(waiting.pop(0)):
            if reading and reading not in found:
                found[reading] = None
                waiting.append(reading)
    return tuple(found)


def _next_readings(argv: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if not argv:
        return
    yield tuple(word.replace("\\\n", "").replace("\\", "") for word in argv)
    program = os.path.basename(argv[0])
    if program in _WRAPPERS:
        start = next((at for at, word in enumerate(argv) if os.path.basename(word) not in _WRAPPERS), len(argv))
        yield from (argv[at:] for at in range(start, min(len(argv), start + _MOST_WORDS_BEFORE)))
    script = " ".join(argv[1:]) if program in _READERS else script_of(argv)
    if script:
        yield from plain_commands(script) or every_command(script)
