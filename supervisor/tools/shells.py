"""Which program runs a command line, and how it is asked to.

Owns the choice of a shell by the name that a model gives, and the arguments of each kind of shell. Looks at the disk
for shells, and at nothing else.
"""

import os
from collections.abc import Mapping

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.turn_context import Shell

# Where each kind lies if neither the user nor PATH says otherwise.
_PLACES = {"bash": "/bin/bash", "zsh": "/bin/zsh", "sh": "/bin/sh", "pwsh": "/usr/local/bin/pwsh", "cmd": ""}
_LAST_RESORT = Shell(name="sh", path="/bin/sh")


def kind_of(path: str) -> str | None:
    """By the last name of the path, without its endings."""
    stem = os.path.basename(path).partition(".")[0]
    if stem == "powershell":
        return "pwsh"
    return stem if stem in _PLACES else None


def chosen(asked: str | None, *, users: Shell, env: Mapping[str, str]) -> Shell:
    """The shell that a model asked for, else the user's. One that is not there is replaced by another of its kind."""
    if asked is None:
        return users
    kind = kind_of(asked)
    if kind is None:
        return _LAST_RESORT
    if os.path.isabs(asked) and os.path.isfile(asked):
        return Shell(name=kind, path=asked)
    if users.name == kind and os.path.isfile(users.path):
        return users
    from shutil import which

    found = which(kind, path=env.get("PATH")) or _PLACES[kind]
    return Shell(name=kind, path=found) if os.path.isfile(found) else _LAST_RESORT


def wants_login(asked: bool | None, *, allowed: bool) -> bool:
    if asked and not allowed:
        raise ModelFacing("login shell is disabled by config; omit `login` or set it to false.")
    return allowed if asked is None else asked


def argv_for(shell: Shell, command: str, *, login: bool) -> tuple[str, ...]:
    if shell.name == "cmd":
        return shell.path, "/c", command
    if shell.name == "pwsh":
        return (shell.path, *(() if login else ("-NoProfile",)), "-Command", command)
    return shell.path, "-lc" if login else "-c", command
