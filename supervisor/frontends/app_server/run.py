"""`pycodex app-server` from its request to its exit code.

Owns the order of the start, and how a server ends: with its client on standard input and output, by signals where it
listens.
"""

import gc
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pycodex.supervisor.workers.launch import Launched, launch

if TYPE_CHECKING:
    from types import FrameType, ModuleType

    from pycodex.supervisor.frontends.app_server.server import AppServer

STDIN = 0
STDOUT = 1
STDERR = 2
ORIGINATOR = "codex_app_server"
CLIENT = "codex-app-server; 0.116.0"
_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_KNOWN_SOURCES = ("cli", "vscode", "exec", "mcp", "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class AppServerRequest:
    """`listen` is where clients come from: standard input and output, a path or an address."""

    listen: str = "stdio://"
    session_source: str = "vscode"
    overrides: tuple[str, ...] = ()


def run_app_server(request: AppServerRequest) -> int:
    from pycodex.supervisor.config import early
    from pycodex.supervisor.config.dotenv import with_dotenv

    launched = launch()
    for override in request.overrides:
        early.parse_override(override)
    home = early.codex_home(os.environ)
    env = with_dotenv(os.environ, home)
    trio = _loaded_engine()
    from pycodex.supervisor.frontends.log_file import open_log

    open_log(os.path.join(home, "log"))
    if request.listen == "stdio://":
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        wire_fds = STDIN, _claimed_stdout()
        ended_by = trio.run(_serve_stdio, request, _Start(home, env, launched), wire_fds)
        if ended_by is not None:
            # Whoever started us knows how to end us: no signal ends in anything else than usual here.
            os.kill(os.getpid(), ended_by)
        return 0
    from pycodex.supervisor.frontends.app_server.listening import serve_listening

    trio.run(serve_listening, request.listen, lambda: open_server(request, _Start(home, env, launched)))
    return 0


def _loaded_engine() -> "ModuleType":
    """What is loaded now stays: looking through it for garbage, again and again, is a good part of the start."""
    gc.disable()
    try:
        import trio

        from pycodex.supervisor.frontends.app_server import server  # noqa: F401
        from pycodex.supervisor.frontends.app_server.methods import initialize, table  # noqa: F401

        gc.freeze()
    finally:
        gc.enable()
    return trio


@dataclass(frozen=True, slots=True)
class _Start:
    codex_home: str
    env: Mapping[str, str]
    launched: Launched


def _claimed_stdout() -> int:
    """A descriptor for messages alone: what anybody else writes to standard output goes to standard error."""
    claimed = os.dup(STDOUT)
    os.dup2(STDERR, STDOUT)
    return claimed


async def _serve_stdio(request: AppServerRequest, start: _Start, wire_fds: tuple[int, int]) -> int | None:
    """Gives the signal that ended it, if one did.

    Clients hang up and send SIGTERM in the same moment: the sessions still end in good order, as they do when nothing
    more can be read. A second signal does not wait for that.
    """
    from pycodex.supervisor.frontends.app_server.transport import StdioWire

    ending = _Ending()
    try:
        async with open_server(request, start) as server:
            with ending.serving:
                await server.serve(StdioWire(*wire_fds))
    finally:
        ending.let_go()
    return ending.signal


class _Ending:
    """What the first signal does to a server on standard input and output."""

    def __init__(self) -> None:
        import trio

        self.serving = trio.CancelScope()
        self.signal: int | None = None
        self._token = trio.lowlevel.current_trio_token()
        self._heeded = [each for each in _ENDING_SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
        for each in self._heeded:
            signal.signal(each, self._end)

    def _end(self, number: int, _: "FrameType | None") -> None:
        self.let_go()
        self.signal = number
        self._token.run_sync_soon(self.serving.cancel)

    def let_go(self) -> None:
        for each in self._heeded:
            signal.signal(each, signal.SIG_DFL)


@asynccontextmanager
async def open_server(request: AppServerRequest, start: _Start) -> "AsyncIterator[AppServer]":
    """Afterwards every thread has ended, and its file says how."""
    import trio

    from pycodex.supervisor.frontends.app_server.server import AppServer
    from pycodex.supervisor.model.headers import identity_of
    from pycodex.supervisor.threads import open_threads

    identity = identity_of(start.env, originator=ORIGINATOR, client=CLIENT)
    async with (
        open_threads(identity=identity, env=start.env, launched=start.launched) as threads,
        trio.open_nursery() as nursery,
    ):
        yield AppServer(
            threads,
            nursery,
            env=start.env,
            codex_home=start.codex_home,
            overrides=request.overrides,
            source=_source(request.session_source),
        )
        nursery.cancel_scope.cancel()


def _source(word: str) -> Any:
    return word if word in _KNOWN_SOURCES else {"custom": word}
