"""What all connections of an app-server share.

Owns the connections, the loaded threads and the open questions, and how a configuration is had for a thread. Started by
`serve_stdio` and the listeners; knows no transport.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import trio

from pycodex.supervisor.frontends.app_server.connection import Connection
from pycodex.supervisor.frontends.app_server.live_thread import LiveThread
from pycodex.supervisor.frontends.app_server.outgoing import PATIENCE_S
from pycodex.supervisor.frontends.app_server.overrides import override_texts
from pycodex.supervisor.frontends.app_server.questions import OpenQuestions
from pycodex.supervisor.frontends.app_server.telling import Json
from pycodex.supervisor.frontends.app_server.thread_facts import ThreadFacts
from pycodex.supervisor.frontends.app_server.transport import Wire
from pycodex.supervisor.session.codex_thread import CodexThread
from pycodex.supervisor.threads import ThreadManager

if TYPE_CHECKING:
    from pycodex.supervisor.config.config import Config, Flags
    from pycodex.supervisor.frontends.app_server.login_attempts import LoginAttempts
    from pycodex.supervisor.workers.late_pool import PoolSource

logger = logging.getLogger("pycodex.app_server")


class LiveThreads:
    """The loaded threads by their ids."""

    def __init__(self, server: "AppServer") -> None:
        self._server = server
        self._threads: dict[str, LiveThread] = {}

    def get(self, thread_id: str) -> LiveThread | None:
        return self._threads.get(thread_id)

    async def settled(self, thread_id: str) -> LiveThread | None:
        """The same, but one that is about to end is waited for: nobody can join it any more."""
        while (live := self._threads.get(thread_id)) is not None and (live.is_ending or live.is_put_aside):
            await live.closed.wait()
        return live

    def ids(self) -> list[str]:
        return sorted(self._threads)

    def all(self) -> list[LiveThread]:
        return list(self._threads.values())

    def add(self, thread: CodexThread, facts: ThreadFacts) -> LiveThread:
        """Read its events from now on."""
        live = self._threads[thread.thread_id] = LiveThread(self._server, thread, facts)
        self._server.nursery.start_soon(live.run)
        return live

    def remove(self, live: LiveThread) -> None:
        if self._threads.get(live.thread_id) is live:
            del self._threads[live.thread_id]


class AppServer:
    def __init__(
        self,
        threads: ThreadManager,
        nursery: trio.Nursery,
        *,
        env: Mapping[str, str],
        codex_home: str,
        overrides: Sequence[str],
        source: "str | Json",
    ) -> None:
        self.threads = threads
        self.nursery = nursery
        self.env = env
        self.codex_home = codex_home
        self.overrides = tuple(overrides)
        self.source = source
        self.live = LiveThreads(self)
        self.questions = OpenQuestions()
        self._connections: dict[Connection, None] = {}

    @property
    def pool(self) -> "PoolSource":
        return self.threads.pool

    @cached_property
    def logins(self) -> "LoginAttempts":
        """Of all connections."""
        from pycodex.supervisor.frontends.app_server.login_attempts import LoginAttempts

        return LoginAttempts()

    @property
    def connections(self) -> tuple[Connection, ...]:
        return tuple(self._connections)

    async def serve(self, wire: Wire) -> None:
        """One client, until it is gone. What goes wrong with it is no concern of the others."""
        connection = Connection(self, wire)
        self._connections[connection] = None
        try:
            await connection.run()
        except Exception:
            logger.exception("a connection failed")

    async def finished(self) -> None:
        """Until no turn runs, and every client has been told of its end."""
        for live in self.live.all():
            await live.idle()
        with trio.move_on_after(PATIENCE_S):
            for connection in self.connections:
                await connection.outgoing.empty()

    def forget(self, connection: Connection) -> None:
        """It is gone: threads that nobody else follows end with it."""
        self._connections.pop(connection, None)
        for live in self.live.all():
            self.unfollow(live, connection)

    def unfollow(self, live: LiveThread, connection: Connection) -> bool:
        """Whether it had followed."""
        if connection not in live.followers:
            return False
        del live.followers[connection]
        if not live.followers:
            live.end()
        return True

    def is_loaded(self, thread_id: str) -> bool:
        return self.live.get(thread_id) is not None

    def broadcast(self, method: str, params: Json) -> None:
        for connection in self.connections:
            connection.notify(method, params)

    def load_config(
        self,
        *,
        cwd: str | None = None,
        overrides: Mapping[str, Any] | None = None,
        flags: "Flags | None" = None,
    ) -> "Config":
        """As it is on disk now. The directory need not exist."""
        from pycodex.supervisor.config.config import Flags
        from pycodex.supervisor.config.load import load_config

        return load_config(
            env=self.env,
            overrides=(*self.overrides, *override_texts(overrides or {})),
            cwd=os.path.realpath(cwd or os.getcwd()),
            flags=flags or Flags(),
        )
