"""A loaded thread, and the connections that follow it.

Owns the way from the thread's events to its followers: one task reads them, keeps them back while an answer must come
first, and puts what they become into the queues of the connections. Also owns what is asked of the followers, and who
waits for an event. Decides nothing about the thread.
"""

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

import trio

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.events.turn import TaskComplete, TaskStarted, TurnAborted
from pycodex.protocol.events.union import AnyEvent
from pycodex.protocol.jsonrpc import Response
from pycodex.protocol.ops import Answer, Op
from pycodex.supervisor.frontends.app_server import notifications, questions_asked
from pycodex.supervisor.frontends.app_server.gate import Gate, Hold
from pycodex.supervisor.frontends.app_server.questions import Asked
from pycodex.supervisor.frontends.app_server.telling import IDLE, NOT_LOADED, Json, Notice, Question, Telling, Told
from pycodex.supervisor.frontends.app_server.thread_facts import ThreadFacts
from pycodex.supervisor.session.codex_thread import CodexThread
from pycodex.supervisor.session.outbox import OutboxClosed

if TYPE_CHECKING:
    from pycodex.supervisor.frontends.app_server.connection import Connection
    from pycodex.supervisor.frontends.app_server.server import AppServer

# What is told to all connections, not only to those that follow the thread.
_FOR_ALL = frozenset(("thread/status/changed", "account/rateLimits/updated", "deprecationNotice"))

logger = logging.getLogger("pycodex.app_server")


class Awaited:
    """An event that a request waits for; from its coming on the thread is held, so that the answer comes first."""

    def __init__(self, kinds: tuple[type, ...], request_id: str | None) -> None:
        self._kinds = kinds
        self._request_id = request_id
        self.event: AnyEvent | None = None
        self._come = trio.Event()
        self._hold: Hold | None = None

    def is_for(self, event: AnyEvent) -> bool:
        return isinstance(event, self._kinds) and self._request_id == getattr(event, "request_id", None)

    def settle(self, event: AnyEvent | None, gate: Gate) -> None:
        self.event, self._hold = event, gate.hold()
        self._come.set()

    async def wait(self) -> AnyEvent | None:
        """None: the thread has ended without it."""
        await self._come.wait()
        return self.event

    def release(self) -> None:
        if self._hold is not None:
            self._hold.release()


class LiveThread:
    """Made by `LiveThreads.add`."""

    def __init__(self, server: "AppServer", thread: CodexThread, facts: ThreadFacts) -> None:
        self.server = server
        self.thread = thread
        self.thread_id = thread.thread_id
        self.facts = facts
        self.telling = Telling(thread.thread_id)
        self.gate = Gate()
        self.followers: dict[Connection, None] = {}
        self.closed = trio.Event()
        self.is_ending = False
        """Whether it was told to end: then it is not told as idle before."""
        self.is_put_aside = False
        """Whether its end is told as something else than its closing."""
        self._starting: str | None = None
        self._news = trio.Event()
        """Set with each event, and then made anew."""
        self._awaited: list[Awaited] = []

    @property
    def active_turn_id(self) -> str | None:
        """The running turn, or the one that is about to run."""
        return self.telling.turn.turn_id if self.telling.turn is not None else self._starting

    @property
    def active_turn_ids(self) -> tuple[str, ...]:
        """By which clients may know it: a review and the turn of its reviewer are one to them."""
        if self.telling.turn is not None:
            return self.telling.turn.ids
        return () if self._starting is None else (self._starting,)

    async def submit(self, op: Op) -> str:
        return await self.thread.submit(op)

    def turn_submitted(self, turn_id: str) -> None:
        if self.active_turn_id is None:
            self._starting = turn_id

    async def idle(self) -> None:
        """Until no turn runs, or the thread has ended."""
        while self.active_turn_id is not None and not self.closed.is_set():
            await self._news.wait()

    def awaited(self, *kinds: type, request_id: str | None = None) -> Awaited:
        """Ask for it before the wish that leads to it; `request_id` is that of the wish, if it has one."""
        waiter = Awaited(kinds, request_id)
        self._awaited.append(waiter)
        return waiter

    def give_up(self, waiter: Awaited) -> None:
        """To be called in any case, so that nobody holds the thread up for ever."""
        if waiter in self._awaited:
            self._awaited.remove(waiter)
        waiter.release()

    def follow(self, connection: "Connection") -> None:
        self.followers[connection] = None

    def replay_questions(self, connection: "Connection") -> None:
        """Whoever joins can answer what is still open."""
        for asked in self.server.questions.of(self):
            connection.send(asked.message())

    async def run(self) -> None:
        """To the thread's last event."""
        try:
            while True:
                for connection in tuple(self.followers):
                    await connection.outgoing.room()
                event = await self.thread.next_event()
                await self.gate.passed()
                try:
                    await self._take(event)
                except Exception:
                    # What cannot be told is a bug, but neither this thread nor any other may end by it.
                    logger.exception("thread %s: %s could not be told", self.thread_id, type(event).__name__)
        except OutboxClosed:
            await self._ended()

    async def _take(self, event: AnyEvent) -> None:
        for waiter in [waiter for waiter in self._awaited if waiter.is_for(event)]:
            self._awaited.remove(waiter)
            waiter.settle(event, self.gate)
        await self.gate.passed()
        self._starting = None if isinstance(event, TaskStarted | TaskComplete | TurnAborted) else self._starting
        if isinstance(event, TaskStarted | TaskComplete):
            self._withdraw_questions()
        self._tell(notifications.tell(self.telling, event))
        if isinstance(event, TurnAborted):
            self._withdraw_questions()
        self._news.set()
        self._news = trio.Event()

    async def _ended(self) -> None:
        for waiter in self._awaited:
            waiter.settle(None, self.gate)
        self._awaited.clear()
        await self.gate.passed()
        self._withdraw_questions()
        if self.telling.turn is not None:
            # The thread broke; nobody else will tell that its turn has ended.
            self._tell(
                notifications.tell(self.telling, TurnAborted(turn_id=self.telling.turn_id, reason="interrupted"))
            )
        self.server.live.remove(self)
        self._tell(self.telling.status_change(NOT_LOADED))
        if not self.is_put_aside:
            self.server.broadcast("thread/closed", {"threadId": self.thread_id})
        self.closed.set()
        self._news.set()

    def _tell(self, told: Iterable[Told]) -> None:
        for each in told:
            if isinstance(each, Question):
                self._ask(each)
            else:
                self._notify(each)

    def end(self) -> None:
        """Let it end in good order."""
        self.is_ending = True
        self.thread.close()

    def notify(self, method: str, params: Json) -> None:
        """Tell all who follow it."""
        self._notify(Notice(method, params))

    def _notify(self, notice: Notice) -> None:
        if self.is_ending and notice.params.get("status") == IDLE:
            return
        if notice.method in _FOR_ALL:
            self.server.broadcast(notice.method, notice.params)
            return
        for connection in tuple(self.followers):
            connection.notify(notice.method, notice.params)

    def _ask(self, question: Question) -> None:
        asked = self.server.questions.ask(question, self)
        self._tell_waiting()
        for connection in tuple(self.followers):
            connection.send(asked.message())

    async def answered(self, asked: Asked, message: "Response | object") -> None:
        """Tell that it was, then let the engine go on."""
        question = asked.question
        if isinstance(message, Response):
            value = questions_asked.engine_answer(question.method, message.result)
        else:
            self.telling.failed_calls.add(question.call_id)
            value = questions_asked.engine_answer_to_failure(question.method)
        self._tell_resolved(asked)
        self._tell_waiting()
        try:
            await self.submit(Answer(request_id=question.call_id, value=value))
        except UserFacing:
            # The thread has ended meanwhile; nobody asks any more.
            pass

    def _withdraw_questions(self) -> None:
        for asked in self.server.questions.withdraw(self):
            self._tell_resolved(asked)

    def _tell_resolved(self, asked: Asked) -> None:
        if asked.question.waits_on is not None:
            params: Json = {"threadId": self.thread_id, "requestId": asked.request_id}
            self._notify(Notice("serverRequest/resolved", params))

    def _tell_waiting(self) -> None:
        """The flags of the status say what the thread waits for."""
        if self.telling.turn is not None:
            flags = {asked.question.waits_on for asked in self.server.questions.of(self)} - {None}
            self._tell(self.telling.status_change({"type": "active", "activeFlags": sorted(map(str, flags))}))
