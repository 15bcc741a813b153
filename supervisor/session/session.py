"""One thread at work: wishes come in, events go out, and at most one task runs.

Owns the loop that takes wishes, the life of the active task and its interruption. What a task does is its own affair;
it must offer `turn`, `run` and `abandon`.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import trio

from pycodex.protocol.approvals import ABORT
from pycodex.protocol.errors import UserFacing
from pycodex.protocol.events.error import ErrorEvent
from pycodex.protocol.events.turn import (
    INTERRUPTED,
    ShutdownComplete,
    TaskComplete,
    TurnAborted,
)
from pycodex.protocol.ids import new_turn_id
from pycodex.protocol.ops import (
    Answer,
    ChangeSettings,
    CleanBackgroundTerminals,
    ClearGoal,
    InjectItems,
    Interrupt,
    Op,
    PursueGoal,
    RollBack,
    SetGoal,
    Shutdown,
    UserTurn,
)
from pycodex.protocol.turn_context import PLAN_MODE, TurnContext
from pycodex.protocol.user_input import UserInput
from pycodex.supervisor.context.fragments import turn_aborted_marker
from pycodex.supervisor.rollout.writer import RolloutUnwritable
from pycodex.supervisor.session.goals import Outcome
from pycodex.supervisor.session.opening import Beginning, Given
from pycodex.supervisor.session.state import ThreadState
from pycodex.supervisor.session.taking_back import take_back
from pycodex.supervisor.session.turn import RegularTurn

if TYPE_CHECKING:
    from pycodex.protocol.items import Item
    from pycodex.supervisor.config.mcp_servers import McpServer
    from pycodex.supervisor.mcp.connections import McpConnections

MAX_WAITING_OPS = 512
_HAS_ENDED = "the thread has ended"

logger = logging.getLogger("pycodex.session")


class Task(Protocol):
    @property
    def turn(self) -> TurnContext: ...

    async def run(self) -> None:
        """To the end, of which it tells itself."""
        ...

    def abandon(self) -> None:
        """After `run` was cancelled: leave things whole."""
        ...


class _Active:
    """`scope` is the one that the task runs in; whoever cancels it interrupts the task."""

    def __init__(self, task: Task, scope: trio.CancelScope) -> None:
        self.task = task
        self.scope = scope
        self.reason = INTERRUPTED
        self.is_ending = False
        """Whether the person has answered a question so that the turn ends."""
        self.over = trio.Event()


class Session:
    """`nursery` is for what goes on beside turns; it ends with the session."""

    def __init__(self, state: ThreadState, nursery: trio.Nursery) -> None:
        self.state = state
        self.over = trio.Event()
        """Nothing of it is left."""
        self._nursery = nursery
        self._wishes, self._inbox = trio.open_memory_channel[tuple[str, Op]](MAX_WAITING_OPS)
        self._takers: dict[str, trio.MemorySendChannel[str]] = {}
        """Whoever waits to hear where their turn has gone, by the id of the wish."""
        self._active: _Active | None = None
        self._is_closing = False

    @property
    def active_turn_id(self) -> str | None:
        return self._active.task.turn.turn_id if self._active else None

    async def open_servers(self, servers: "Mapping[str, McpServer]", env: Mapping[str, str]) -> None:
        """Before the first wish: start its MCP servers. Raises UserFacing if one fails that is required."""
        from pycodex.supervisor.session.mcp_desk import open_first

        await open_first(self._servers(env), servers)

    def use_servers(self, servers: "Mapping[str, McpServer]", env: Mapping[str, str]) -> None:
        """Others from the next turn on."""
        if servers or self.state.tools.mcp is not None:
            self._servers(env).replace(servers)

    def _servers(self, env: Mapping[str, str]) -> "McpConnections":
        if self.state.tools.mcp is None:
            from pycodex.supervisor.session.mcp_desk import connections_of

            start_soon = self._nursery.start_soon
            mcp = connections_of(self.state, env=env, start_soon=start_soon, turn_id=lambda: self.active_turn_id)
            self.state.tools = replace(self.state.tools, mcp=mcp)
            return mcp
        return self.state.tools.mcp

    async def submit(self, op: Op) -> str:
        """Give it a wish; gives the id by which a turn that it starts is known. Raises UserFacing after its end."""
        wish_id = new_turn_id()
        await self._send(wish_id, op)
        return wish_id

    async def begin(self, wish: UserTurn) -> str:
        """Give it a turn, and see it taken; gives the id of the turn that it starts, or of the running one it joins."""
        wish_id = new_turn_id()
        self._takers[wish_id], taken = trio.open_memory_channel[str](1)
        try:
            await self._send(wish_id, wish)
            return await taken.receive()
        except trio.EndOfChannel:
            raise UserFacing(_HAS_ENDED) from None
        finally:
            self._takers.pop(wish_id, None)

    async def _send(self, wish_id: str, op: Op) -> None:
        try:
            await self._wishes.send((wish_id, op))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise UserFacing(_HAS_ENDED) from None

    def close(self) -> None:
        """As a Shutdown behind all that was wished so far. To close twice does no harm."""
        self._wishes.close()

    def steer(
        self, inputs: Sequence[UserInput], *, expected_turn_id: str | None = None, client_id: str | None = None
    ) -> str:
        """Add input to the running turn; the model sees it with its next request."""
        turn_id = self.active_turn_id
        if turn_id is None:
            raise UserFacing("no active turn to steer")
        if expected_turn_id is not None and expected_turn_id != turn_id:
            raise UserFacing(f"expected active turn id `{expected_turn_id}` but found `{turn_id}`")
        self.state.waiting_input.append(Given(tuple(inputs), client_id))
        return turn_id

    async def run(self) -> None:
        """Until a Shutdown. Nothing that a task does wrong ends it."""
        self.state.goals.restore()
        try:
            await self._take_wishes()
        finally:
            for taker in self._takers.values():
                taker.close()
        self._is_closing = True
        await self._interrupt()
        await self.state.tools.processes.end_all()
        if self.state.tools.mcp is not None:
            await self.state.tools.mcp.close()
        self.state.journal.tell(ShutdownComplete())

    async def _take_wishes(self) -> None:
        async with self._inbox:
            async for wish_id, op in self._inbox:
                if isinstance(op, Shutdown):
                    break
                await self._grant(wish_id, op)
                self._pursue()

    async def _grant(self, wish_id: str, op: Op) -> None:
        match op:
            case UserTurn():
                await self._end_of_interrupted()
                turn_id = self._start_turn(wish_id, op)
                if wish_id in self._takers:
                    self._takers[wish_id].send_nowait(turn_id)
            case Interrupt():
                # First: the turn may end by itself at this moment, and another one must not follow.
                self.state.goals.pause()
                await self._interrupt()
            case Answer(request_id=request_id, value=value):
                self._answer(request_id, value)
            case CleanBackgroundTerminals():
                await self.state.tools.processes.end_all()
            case RollBack(turns=turns):
                self._roll_back(turns)
            case ChangeSettings(like=like):
                self._change_settings(like)
            case InjectItems(items=items):
                self._inject(items)
            case SetGoal():
                self.state.goals.set(op)
            case ClearGoal(request_id=request_id):
                self.state.goals.clear(request_id)
            case PursueGoal() | Shutdown():
                # What follows every wish is all that is to be done.
                pass

    def _pursue(self) -> None:
        """Go on with the goal of the thread, unless somebody is at work or wants something."""
        state = self.state
        is_free = self._active is None and not self._is_closing and state.settings.mode != PLAN_MODE
        if is_free and not self._inbox.statistics().current_buffer_used:
            beginning = state.goals.beginning()
            if beginning is not None:
                self._begin(new_turn_id(), beginning)

    def _change_settings(self, like: UserTurn) -> None:
        state = self.state
        state.settings = state.settings.changed_by(like)
        if like.service_tier is not None:
            state.service_tier = like.service_tier or None

    def _inject(self, items: "Sequence[Item]") -> None:
        state = self.state
        if self._active is not None:
            state.waiting_items += items
            return
        try:
            state.journal.record(items, state.turns.turn(state.settings, turn_id=new_turn_id(), output_schema=None))
        except RolloutUnwritable as error:
            state.journal.tell(ErrorEvent(message=str(error)))

    def _roll_back(self, turns: int) -> None:
        if self._active is None:
            take_back(self.state, turns)
        else:
            text = "Cannot rollback while a turn is in progress."
            self.state.journal.tell(ErrorEvent(message=text, codex_error_info="thread_rollback_failed"))

    def _start_turn(self, turn_id: str, wish: UserTurn) -> str:
        """Gives the id of the turn that has the input now."""
        self._change_settings(wish)
        if self._active is not None:
            return self.steer(wish.items, client_id=wish.client_id)
        said = Given(tuple(wish.items), wish.client_id)
        self._begin(turn_id, Beginning(said=said), output_schema=wish.output_schema)
        return turn_id

    def _begin(self, turn_id: str, beginning: Beginning, *, output_schema: object = None) -> None:
        state = self.state
        try:
            turn = state.turns.turn(state.settings, turn_id=turn_id, output_schema=output_schema)
            scope = trio.CancelScope()
            task = RegularTurn(state, turn, beginning, interrupt=scope.cancel)
            active = self._active = _Active(task, scope)
        except Exception as error:
            self._tell_bug(turn_id, error)
        else:
            self._nursery.start_soon(self._see_through, active)

    async def _see_through(self, active: _Active) -> None:
        task = active.task
        try:
            with active.scope:
                await task.run()
            if active.scope.cancelled_caught:
                self._abandon(active)
        except Exception as error:
            self._tell_bug(task.turn.turn_id, error)
        finally:
            self._active = None
            active.over.set()
        self._pursue()

    def _tell_bug(self, turn_id: str, error: Exception) -> None:
        """Something that nobody foresaw ends the turn, not the thread."""
        logger.error("turn %s failed", turn_id, exc_info=error)
        self.state.journal.tell(ErrorEvent(message=f"unexpected {type(error).__name__}: {error}"))
        self.state.goals.turn_ended(Outcome(failure="other"))
        self.state.journal.tell(TaskComplete(turn_id=turn_id, last_agent_message=None))

    def _abandon(self, active: _Active) -> None:
        """Whoever reads the session file later finds every call answered and the interruption noted."""
        journal = self.state.journal
        try:
            active.task.abandon()
            journal.record([turn_aborted_marker()], active.task.turn)
        except RolloutUnwritable as error:
            journal.tell(ErrorEvent(message=str(error)))
        self.state.goals.turn_abandoned(by_person=not self._is_closing)
        journal.tell(TurnAborted(turn_id=active.task.turn.turn_id, reason=active.reason))

    def _answer(self, request_id: str, value: object) -> None:
        if self.state.pending.answer(request_id, value) and value == ABORT and self._active is not None:
            self._active.is_ending = True
            self.state.goals.pause()

    async def _end_of_interrupted(self) -> None:
        """What is said after the wish to stop is for the next turn."""
        if self._active is not None and self._active.is_ending:
            await self._active.over.wait()

    async def _interrupt(self) -> None:
        active = self._active
        if active is not None:
            active.scope.cancel()
            await active.over.wait()
            self.state.pending.give_up()
