"""What a login shell sets up, found out once instead of with every command.

Owns the question to the shell, what is kept of its answer, and the order that does without a login: the same command in
a plain shell with the environment, functions, aliases and options of the profile. The question is put beside the first
command that wants a login, inside the same sandbox; until it is answered, and where it cannot be, commands log in
themselves. Only bash can be asked for all of it.
"""

import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pycodex.protocol.confinement import NONE, PIN, Confinement
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.frames import RunCommand
from pycodex.supervisor.workers.late_pool import PoolSource

if TYPE_CHECKING:
    from pycodex.supervisor.tools.processes import Spawn
    from pycodex.supervisor.tools.tool import RunScope

FEATURE = "shell_snapshot"
TIMEOUT_MS = 10_000
# The kernel takes no longer argument, and the command itself needs room, too.
MOST_PRELUDE_BYTES = 64 << 10
MOST_SETUPS = 16
_LOGIN, _PLAIN = "-lc", "-c"
# Between two marks, because a profile may print what it likes.
_QUESTION = """\
printf '\\0%s\\0' {mark}; command env -0; printf '\\0%s\\0' {mark}
declare -f; alias -p; shopt -p; set +o
printf '\\0%s\\0' {mark}
"""
# What each shell has of its own, and what it says of itself.
_NOT_INHERITED = frozenset({"_", "SHLVL", "PWD", "OLDPWD", "BASH_EXECUTION_STRING"})
_LOGIN_OPTIONS = ("shopt -s login_shell\n", "shopt -u login_shell\n")


class _Setup(NamedTuple):
    """What a login brings: variables, and lines of shell for what no variable can hold."""

    env: Mapping[str, str]
    prelude: str


class LoginShells:
    """Those of one session. `spawn` starts a task that lives as long as the session; `fixed` are variables that the
    person has set for all commands, which no profile changes."""

    def __init__(self, pool: PoolSource, spawn: "Spawn", *, fixed: Mapping[str, str], programs_dir: str) -> None:
        self._pool = pool
        self._spawn = spawn
        self._fixed = fixed
        self._programs_dir = programs_dir
        self._setups: dict[tuple[object, ...], _Setup | None] = {}

    def without_login(self, order: RunCommand, fixed: Mapping[str, str]) -> RunCommand:
        """The same command without the login, once it is known what that does. `fixed` are further variables."""
        if len(order.argv) != 3 or order.argv[1] != _LOGIN or os.path.basename(order.argv[0]) != "bash":
            return order
        key = (order.argv[0], order.cwd, _reach(order.confinement), tuple(sorted(order.env.items())))
        if key not in self._setups:
            if len(self._setups) == MOST_SETUPS:
                self._setups.clear()
            self._setups[key] = None
            self._spawn(partial(self._find_out, key, order))
        setup = self._setups[key]
        if setup is None:
            return order
        shell, _, script = order.argv
        env = self._with_programs({**order.env, **setup.env, **self._fixed, **fixed})
        return order.replace(argv=(shell, _PLAIN, setup.prelude + script), env=env)

    def _with_programs(self, env: dict[str, str]) -> dict[str, str]:
        """A profile may set the PATH anew; what we put on it stays there."""
        path = env.get("PATH")
        if self._programs_dir and path is not None and self._programs_dir not in path.split(os.pathsep):
            env["PATH"] = f"{self._programs_dir}{os.pathsep}{path}"
        return env

    async def _find_out(self, key: tuple[object, ...], order: RunCommand) -> None:
        mark = os.urandom(16).hex()
        plain = await self._asked(order, _PLAIN, mark)
        login = await self._asked(order, _LOGIN, mark)
        if plain is None or login is None:
            return
        prelude = "" if login[1] == plain[1] else login[1]
        if len(os.fsencode(prelude)) <= MOST_PRELUDE_BYTES:
            self._setups[key] = _Setup(_changed(login[0], order.env), prelude)

    async def _asked(self, order: RunCommand, how: str, mark: str) -> tuple[dict[str, str], str] | None:
        """The variables, and the lines; None if the shell gave no whole answer."""
        question = RunCommand(
            job_id="",
            argv=(order.argv[0], how, _QUESTION.format(mark=mark)),
            cwd=order.cwd,
            env=order.env,
            confinement=order.confinement,
            timeout_ms=TIMEOUT_MS,
        )
        try:
            pool = await self._pool.ready()
            done = await pool.run(question)
        except ModelFacing:
            return None
        pieces = done.stdout.data.split(b"\0%b\0" % mark.encode())
        if done.code != 0 or len(pieces) != 4 or done.stdout.dropped_bytes:
            return None
        return _variables(pieces[1]), _lines(os.fsdecode(pieces[2]))


def without_login(order: RunCommand, scope: "RunScope", *, fixed: Mapping[str, str]) -> RunCommand:
    """The order as it is to be run in this turn; one for another directory than the turn's is left as it is."""
    turn, logins = scope.turn, scope.services.logins
    if logins is None or FEATURE not in turn.features or order.cwd != turn.cwd:
        return order
    return logins.without_login(order, fixed)


def _reach(confined: Confinement) -> tuple[object, ...]:
    """What a profile could find out: what it says under one reach is not for commands with another.

    Which names are protected against changes differs from call to call, and makes no difference.
    """
    if confined.base == NONE:
        shut = tuple((entry.path, entry.access == NONE) for entry in confined.entries if entry.access != PIN)
    else:
        shut = tuple((entry.path, True) for entry in confined.entries if entry.access == NONE)
    return confined.unconfined_because, confined.network, confined.base == NONE, shut


def _variables(data: bytes) -> dict[str, str]:
    pairs = (os.fsdecode(entry).partition("=") for entry in data.split(b"\0") if entry)
    return {name: value for name, _, value in pairs if name not in _NOT_INHERITED}


def _changed(env: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if given.get(name) != value}


def _lines(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if line not in _LOGIN_OPTIONS)
