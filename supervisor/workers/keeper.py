"""Keeps a zygote alive.

Owns starting it, reading its packets, and restarting it with growing delays when it dies. What its workers are for is
`roster`'s business, which is told of every fork, death and loss.
"""

import logging
from collections.abc import Callable

import trio

from pycodex.protocol.confinement import Enforced
from pycodex.supervisor.workers.launch import Launched
from pycodex.supervisor.workers.orphans import reap_session
from pycodex.supervisor.workers.roster import Roster
from pycodex.supervisor.workers.zygote import Forked, Zygote, ZygoteGone

# Zygotes in a row that never brought a worker to life, after which callers are told instead of made to wait.
MAX_FAILURES = 5
ADOPTED_GONE_S = 2.0
RESTART_DELAYS_S = (0.0, 0.05, 0.2, 0.5)
EXIT_GRACE_S = 3.0

logger = logging.getLogger("pycodex.workers")


class Keeper:
    """`run` must be in a nursery; cancelling it ends the zygote and waits for it."""

    def __init__(self, roster: Roster, socket_path: str, launch: Callable[[], Launched]) -> None:
        self.host: Enforced | None = None
        """What the last zygote said about this machine."""
        self.pid: int | None = None
        self._session: int | None = None
        """That of the last zygote, which leads it, and of its workers."""
        self._roster = roster
        self._socket_path = socket_path
        self._launch = launch

    async def run(self, first: Launched | None) -> None:
        """Have a zygote, for ever. One that keeps dying is tried again only when somebody wants a worker."""
        failures = 0
        while True:
            ready_before = self._roster.ready_count
            ended = await self._live(first)
            first = None
            failures = failures + 1 if self._roster.ready_count == ready_before else 1
            hopeless = failures >= MAX_FAILURES
            text = f"the process that starts workers {ended}" + (f", {failures} times in a row" if hopeless else "")
            logger.error("%s", text)
            if hopeless:
                self._roster.wanted = trio.Event()
            await self._roster.zygote_gone(text, hopeless=hopeless)
            await self.reap_adopted()
            if hopeless:
                await self._roster.wanted.wait()
            else:
                await trio.sleep(RESTART_DELAYS_S[failures - 1])

    async def reap_adopted(self) -> None:
        """Whoever outlived the last zygote is our child now, even one that it had not told us of."""
        if self._session is not None:
            with trio.CancelScope(shield=True):
                await reap_session(self._session, within_s=ADOPTED_GONE_S)

    async def _live(self, launched: Launched | None) -> str:
        """One zygote's life; says how it ended."""
        try:
            zygote = Zygote(launched or self._launch())
        except OSError as error:
            return f"could not be started: {error.strerror}"
        self.pid = self._session = zygote.pid
        why = "was cancelled"
        try:
            self.host = await zygote.greet(self._socket_path)
            self._roster.zygote_ready(zygote)
            await self._listen(zygote)
        except ZygoteGone as error:
            why = str(error)
        finally:
            ended = await self._part(zygote)
        return f"{ended} ({why})"

    async def _listen(self, zygote: Zygote) -> None:
        while True:
            packet = await zygote.next_packet()
            if isinstance(packet, Forked):
                self._roster.forked(packet.token, packet.pid)
            else:
                self._roster.died(packet.token, packet.status)

    async def _part(self, zygote: Zygote) -> str:
        """See it go, and hear to the end which workers it had: those that it leaves are ours to bury."""
        zygote.hang_up()
        with trio.CancelScope(shield=True, deadline=trio.current_time() + EXIT_GRACE_S):
            try:
                await self._listen(zygote)
            except ZygoteGone:
                pass
        self.pid = None
        return await zygote.close(grace_s=EXIT_GRACE_S)
