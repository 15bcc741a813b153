"""Commands of the battery: the sandbox as a person calls it, and the same without it.

Owns argv and environment; what is run and what it means is for others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from support.cli import cli_argv
from support.interpreter import MINIMAL_ENV


@dataclass(frozen=True)
class Command:
    """What `subprocess` needs to start a program."""

    argv: list[str]
    env: dict[str, str]


def sandboxed(options: Sequence[str], argv: Sequence[str], env: Mapping[str, str]) -> Command:
    """`pycodex sandbox linux OPTIONS -- ARGV` in a minimal environment plus `env`."""
    return Command(cli_argv("sandbox", "linux", *options, "--", *argv), MINIMAL_ENV | dict(env))


def bare(argv: Sequence[str], env: Mapping[str, str]) -> Command:
    return Command(list(argv), MINIMAL_ENV | dict(env))
