"""One thread at work: wishes come in, events go out, and at most one task runs.

Owns the loop that takes wishes, the life of the active task and its interruption, and who comes next. What a task does
is its own affair; it must offer `kind`, `turn`, `run` and `abandon`.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import trio

from pycodex.protocol.approvals import ABORT
from pycodex.protocol.errors import UserFacing
from pycodex.protocol.events.error import ErrorEvent
from pycodex.protocol.events.turn import (
    INTERRUPTED,
    REPLACED,
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
    Compact,
    InjectItems,
    Interrupt,
    Op,
    PursueGoal,
    Review,
    RollBack,
    RunTyped,
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
from pycodex.supervisor.session.turn import REGULAR, RegularTurn

if TYPE_CHECKING:
    from pycodex.protocol.items import Item
    from pycodex.supervisor.config.mcp_servers import McpServer
    from pycodex.supervisor.mcp.connections import McpConnections
    from pycodex.supervisor.mcp.logins import McpLogins
    from pycodex.supervisor.session.tasks.user_shell import TypedBeside

MAX_WAITING_OPS = 512
_HAS_ENDED = "the thread has ended"

logger = logging.getLogger("pycodex.session")


class NotSteerable(UserFacing):
    """The running task takes no input; `kind` says which one it is."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"cannot steer a {kind} turn")
        self.kind = kind


class Task(Protocol):
    @property
    def kind(self) -> str:
        """Only a regular turn takes input while it runs."""
        ...

    @property
    def turn(self) -> TurnContext: ...

    async def run(self) -> None:
        """To the end, of which it tells itself."""
        ...

    def abandon(self) -> None:
        """After `run` was cancelled: leave things whole."""
        ...


TaskMaker = Callable[[TurnContext, Callable[[], None]], Task]
"""Takes what holds for its turn, and what interrupts it."""


class _Start(NamedTuple):
    """A task that was asked for, under the id by which its turn is known."""

    turn_id: str
    make: TaskMaker
    output_schema: object = None


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
        self._next: deque[_Start] = deque()
        """What waits for the end of a task that takes no input."""
        self._is_granting = False
        """Whether a wish is being granted: until then nothing starts by itself."""
        self._is_closing = False
        self._typed: TypedBeside | None = None
        """The person's own commands beside a task, once there was one."""

    @property
    def active_turn_id(self) -> str | None:
        return self._active.task.turn.turn_id if self._active else None

    async def open_servers(self, servers: "Mapping[str, McpServer]", logins: "McpLogins") -> None:
        """Before the first wish: start its MCP servers. Raises UserFacing if one fails that is required."""
        from pycodex.supervisor.session.mcp_desk import open_first

        await open_first(self._servers(logins), servers)

    def use_servers(self, servers: "Mapping[str, McpServer]", logins: "McpLogins") -> None:
        """Others from the next turn on."""
        if servers or self.state.tools.mcp is not None:
            self._servers(logins).replace(servers)

    def _servers(self, logins: "McpLogins") -> "McpConnections":
        if self.state.tools.mcp is None:
            from pycodex.supervisor.session.mcp_desk import connections_of

            start_soon = self._nursery.start_soon
            mcp = connections_of(
                self.state,
                start_soon=start_soon,
                turn_id=lambda: self.active_turn_id,
                logins=logins,
            )
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
        if self._active is None:
            raise UserFacing("no active turn to steer")
        turn_id = self._active.task.turn.turn_id
        if expected_turn_id is not None and expected_turn_id != turn_id:
            raise UserFacing(f"expected active turn id `{expected_turn_id}` but found `{turn_id}`")
        if self._active.task.kind != REGULAR:
            raise NotSteerable(self._active.task.kind)
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
        await self._end_waiting()
        await self.state.tools.processes.end_all()
        if self.state.tools.mcp is not None:
            await self.state.tools.mcp.close()
        self.state.journal.tell(ShutdownComplete())

    async def _take_wishes(self) -> None:
        async with self._inbox:
            async for wish_id, op in self._inbox:
                if isinstance(op, Shutdown):
                    break
                self._is_granting = True
                await self._grant(wish_id, op)
                self._is_granting = False
                self._go_on()

    async def _grant(self, wish_id: str, op: Op) -> None:
        match op:
            case UserTurn():
                await self._end_of_interrupted()
                turn_id = self._start_turn(wish_id, op)
                if wish_id in self._takers:
                    self._takers[wish_id].send_nowait(turn_id)
            case Review():
                await self._end_of_interrupted()
                await self._make_way()
                self._begin(_Start(wish_id, self._review(op)))
            case Interrupt():
                # First: the turn may end by itself at this moment, and another one must not follow.
                self.state.goals.pause()
                await self._interrupt()
            case Answer(request_id=request_id, value=value):
                self._answer(request_id, value)
            case Compact():
                await self._make_way()
                self._begin(_Start(wish_id, self._compact()))
            case CleanBackgroundTerminals():
                await self.state.tools.processes.end_all()
            case RollBack(turns=turns):
                await self._roll_back(turns)
            case ChangeSettings(like=like):
                self._change_settings(like)
            case InjectItems(items=items):
                self._inject(items)
            case RunTyped(command=command):
                await self._end_of_interrupted()
                self._run_typed(wish_id, command)
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
                self._begin(_Start(new_turn_id(), self._regular(beginning)))

    def _change_settings(self, like: UserTurn) -> None:
        state = self.state
        state.settings = state.settings.changed_by(like)
        if like.service_tier is not None:
            state.service_tier = like.service_tier or None

    def _inject(self, items: "Sequence[Item]") -> None:
        self.state.waiting_items += items
        if self._active is None and not self._is_granting:
            self._record_waiting_items()

    def _record_waiting_items(self) -> None:
        """Those that no turn has taken."""
        state = self.state
        items, state.waiting_items = state.waiting_items, []
        if not items:
            return
        try:
            state.journal.record(items, state.turns.turn(state.settings, turn_id=new_turn_id(), output_schema=None))
        except RolloutUnwritable as error:
            state.journal.tell(ErrorEvent(message=str(error)))

    async def _roll_back(self, turns: int) -> None:
        if self._active is None:
            await take_back(self.state, turns)
        else:
            text = "Cannot rollback while a turn is in progress."
            self.state.journal.tell(ErrorEvent(message=text, codex_error_info="thread_rollback_failed"))

    def _start_turn(self, turn_id: str, wish: UserTurn) -> str:
        """Gives the id of the turn that has the input now, or will have it."""
        self._change_settings(wish)
        if self._active is not None and self._active.task.kind == REGULAR and not self._next:
            return self.steer(wish.items, client_id=wish.client_id)
        said = Given(tuple(wish.items), wish.client_id)
        self._begin(_Start(turn_id, self._regular(Beginning(said=said)), wish.output_schema))
        return turn_id

    def _regular(self, beginning: Beginning) -> TaskMaker:
        return lambda turn, interrupt: RegularTurn(self.state, turn, beginning, interrupt=interrupt)

    def _compact(self) -> TaskMaker:
        from pycodex.supervisor.session.tasks.compact import CompactTurn

        return lambda turn, _interrupt: CompactTurn(self.state, turn)

    def _review(self, wish: Review) -> TaskMaker:
        from pycodex.supervisor.session.tasks.review import ReviewTask

        return lambda turn, _interrupt: ReviewTask(self.state, turn, wish.target)

    def _run_typed(self, turn_id: str, command: str) -> None:
        """Beside the task that is running, or as one of its own."""
        from pycodex.supervisor.session.tasks.user_shell import TypedBeside, UserShell

        if self._active is not None:
            self._typed = self._typed or TypedBeside(self.state, self._nursery, inject=self._inject)
            self._typed.start(command, self._active.task.turn)
        else:
            self._begin(_Start(turn_id, lambda turn, _interrupt: UserShell(self.state, turn, command)))

    async def _make_way(self) -> None:
        """A turn that is running ends for what was wished now; a task of another kind is waited for.

        So is everything, where something waits already: nobody overtakes it.
        """
        if self._active is not None and self._active.task.kind == REGULAR and not self._next:
            self._active.reason = REPLACED
            await self._end_active()

    def _begin(self, start: _Start) -> None:
        """At once, or when the task that is running has ended, and what waits already."""
        if self._active is not None or self._next:
            self._next.append(start)
        else:
            self._begin_now(start)

    def _begin_now(self, start: _Start) -> None:
        state = self.state
        try:
            turn = state.turns.turn(state.settings, turn_id=start.turn_id, output_schema=start.output_schema)
            scope = trio.CancelScope()
            active = self._active = _Active(start.make(turn, scope.cancel), scope)
        except Exception as error:
            self._tell_bug(start.turn_id, error)
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
        self._record_waiting_items()
        if not self._is_granting:
            self._go_on()

    def _go_on(self) -> None:
        """With what was put in or asked for meanwhile, or else with the goal."""
        if self._active is None:
            self._record_waiting_items()
        while self._next and self._active is None and not self._is_closing:
            self._begin_now(self._next.popleft())
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
            if active.reason != REPLACED:
                journal.record([turn_aborted_marker()], active.task.turn)
        except RolloutUnwritable as error:
            journal.tell(ErrorEvent(message=str(error)))
        self.state.goals.turn_abandoned(by_person=active.reason != REPLACED and not self._is_closing)
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
        """Everything that is going on."""
        if self._typed is not None:
            await self._typed.end_all()
        await self._end_active()

    async def _end_waiting(self) -> None:
        """What was asked for and never had its turn begins and ends: what the person said is kept, and told as such."""
        while self._next:
            self._begin_now(self._next.popleft())
            await self._end_active()

    async def _end_active(self) -> None:
        active = self._active
        if active is not None:
            active.scope.cancel()
            await active.over.wait()
            self.state.pending.give_up()
