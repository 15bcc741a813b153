"""What a command consists of, as far as that can be told without running it.

Owns which argv is a shell with a script, and into which commands an argv is taken apart before rules and lists are
asked about each. Scripts are read by `bash`. Pure.
"""

import os
from collections.abc import Sequence
from typing import NamedTuple

from pycodex.supervisor.policy.bash import heredoc_command, plain_commands
from pycodex.supervisor.policy.bash_words import expands

_SHELLS = frozenset({"bash", "zsh", "sh"})
_SHELL_FOLDERS = ("", "/bin", "/usr/bin", "/usr/local/bin")
_SCRIPT_FLAGS = frozenset({"-c", "-lc"})


class Segments(NamedTuple):
    """The commands of an argv, never none.

    `is_complex`: the one command of a script that feeds it a here-document. `does_more`: that script also opens files
    or sets variables, so that the command's words do not tell all that it does. `shell`: the program that reads the
    script; empty where there is none. `is_expanded`: the shell may make other words of those of the commands.
    """

    commands: tuple[tuple[str, ...], ...]
    is_complex: bool = False
    does_more: bool = False
    shell: str = ""
    is_expanded: bool = False

    def has_shell_of_the_system(self, *, users: str) -> bool:
        """Whether its script is read by a shell, and not by some program that goes by the name of one.

        `users` is the shell of the person.
        """
        return self.shell in ("", users) or os.path.dirname(self.shell) in _SHELL_FOLDERS


def script_of(argv: Sequence[str]) -> str | None:
    """What a shell is given to run, if the argv is exactly a shell, one flag and a script."""
    if len(argv) != 3 or argv[1] not in _SCRIPT_FLAGS:
        return None
    return argv[2] if os.path.splitext(os.path.basename(argv[0]))[0] in _SHELLS else None


def segments_of(argv: Sequence[str]) -> Segments:
    """The whole argv is its only command where nothing is known of it, or where it is no shell with a script."""
    script = script_of(argv)
    if script is None:
        return Segments((tuple(argv),))
    commands = plain_commands(script)
    if commands is not None:
        return Segments(commands, shell=argv[0], is_expanded=expands(script))
    fed = heredoc_command(script)
    if fed is not None:
        return Segments((fed.words,), is_complex=True, does_more=fed.does_more, shell=argv[0])
    return Segments((tuple(argv),))
