"""Commands that the person typed themselves.

Owns how one is run and told: by the person's shell, outside of the sandbox because they wanted exactly that, with one
beginning and one end whatever happens, and a note of it for the model. It is a turn of its own where none runs, and
goes on beside the turn otherwise. Only a front-end can ask for one; no tool leads here.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import trio

from pycodex.protocol.confinement import Confinement
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.events.error import ErrorEvent
from pycodex.protocol.events.exec import USER_SHELL
from pycodex.protocol.events.turn import TaskComplete
from pycodex.protocol.events.union import AnyEvent
from pycodex.protocol.frames import BadFrame
from pycodex.protocol.ids import new_turn_id
from pycodex.protocol.items import input_text, message
from pycodex.protocol.model_info import TruncationPolicy
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.context.fragments import user_shell_section
from pycodex.supervisor.rollout.writer import RolloutUnwritable
from pycodex.supervisor.session.state import ThreadState
from pycodex.supervisor.text.truncation import truncate_formatted
from pycodex.supervisor.tools import shell_answer
from pycodex.supervisor.tools.services import ToolServices
from pycodex.supervisor.tools.shell_runs import NO_EXIT_CODE, Deltas, ShellCommand, Wish, run
from pycodex.supervisor.tools.shells import argv_for
from pycodex.supervisor.tools.tool import ToolAnswer

if TYPE_CHECKING:
    from pycodex.protocol.items import Item

TYPED = "typed by the user"
TIMEOUT_MS = 3_600_000
MAX_BESIDE = 16
"""Of one thread, at a time, beside a turn."""
_ABORTED = "command aborted by user"
_TOO_MANY = f"{MAX_BESIDE} commands are running already; wait for one to end, or interrupt them"

logger = logging.getLogger("pycodex.session")


@dataclass(frozen=True, slots=True)
class _Scope:
    turn: TurnContext
    emit: Callable[[AnyEvent], None]
    services: ToolServices


class _Typed:
    """One command: `run` it once; if that was cancelled, `abort` it. Both give what the model is told of it."""

    def __init__(self, state: ThreadState, turn: TurnContext, text: str) -> None:
        self._text = text
        self._scope = _Scope(turn, state.journal.tell, state.tools)
        argv = argv_for(turn.shell, text, login=state.tools.allow_login_shell)
        self._wish = Wish(argv=argv, layout=self._note, timeout_ms=TIMEOUT_MS)
        self._command = ShellCommand(argv, turn.cwd, new_turn_id(), self._scope, source=USER_SHELL)
        self._is_open = False

    async def run(self) -> "Item":
        self._command.began()
        self._is_open = True
        confined = Confinement(unconfined_because=TYPED, limits=self._scope.services.limits)
        deltas = Deltas(self._command.call_id, self._scope.emit)
        try:
            said = await run(self._wish, self._command.cwd, confined, deltas, self._scope)
        except (ModelFacing, BadFrame) as error:
            return self._failed(shell_answer.not_run(error))
        except Exception as error:
            logger.exception("a typed command failed")
            return self._failed(f"unexpected {type(error).__name__}: {error}")
        self._is_open = False
        return _item(self._command.ended(said, self._note))

    def abort(self) -> "Item | None":
        """None if it had ended before, or had not begun."""
        return self._failed(_ABORTED) if self._is_open else None

    def _failed(self, text: str) -> "Item":
        self._is_open = False
        self._command.failed(text)
        note = user_shell_section(self._text, exit_code=NO_EXIT_CODE, seconds=0.0, output=text)
        return _item(ToolAnswer(note))

    def _note(
        self, output: str, exit_code: int, seconds: float, policy: TruncationPolicy, *, remarks: tuple[str, ...]
    ) -> str:
        del remarks
        cut = truncate_formatted(output, policy)
        return user_shell_section(self._text, exit_code=exit_code, seconds=seconds, output=cut)


def _item(note: ToolAnswer) -> "Item":
    return message("user", [input_text(str(note.output))])


class UserShell:
    """A task of a session: a turn in which nothing but the command happens."""

    kind = "shell command"

    def __init__(self, state: ThreadState, turn: TurnContext, text: str) -> None:
        self.turn = turn
        self._state = state
        self._typed = _Typed(state, turn, text)

    async def run(self) -> None:
        journal, turn = self._state.journal, self.turn
        journal.tell_beginning(turn)
        item = await self._typed.run()
        try:
            self._record(item)
        except RolloutUnwritable as error:
            journal.tell(ErrorEvent(message=str(error), codex_error_info="other"))
        journal.tell(TaskComplete(turn_id=turn.turn_id, last_agent_message=None))

    def abandon(self) -> None:
        item = self._typed.abort()
        if item is not None:
            self._record(item)

    def _record(self, item: "Item") -> None:
        # What ran beside it has waited, as it would for a turn.
        waiting, self._state.waiting_items = self._state.waiting_items, []
        self._state.journal.record([item, *waiting], self.turn)
        # It may be the first that happens in the thread.
        self._state.journal.begin_file()


class TypedBeside:
    """Those that run beside a turn. They may outlive it; `inject` takes what the model is told, at any time."""

    def __init__(
        self, state: ThreadState, nursery: trio.Nursery, *, inject: "Callable[[Sequence[Item]], None]"
    ) -> None:
        self._state = state
        self._nursery = nursery
        self._inject = inject
        self._running: dict[_Typed, tuple[trio.CancelScope, trio.Event]] = {}

    def start(self, text: str, turn: TurnContext) -> None:
        if len(self._running) >= MAX_BESIDE:
            self._state.journal.tell(ErrorEvent(message=_TOO_MANY))
            return
        typed = _Typed(self._state, turn, text)
        self._running[typed] = trio.CancelScope(), trio.Event()
        self._nursery.start_soon(self._see_through, typed)

    async def end_all(self) -> None:
        """With all that they started."""
        running = tuple(self._running.values())
        for scope, _ in running:
            scope.cancel()
        for _, over in running:
            await over.wait()

    async def _see_through(self, typed: _Typed) -> None:
        scope, over = self._running[typed]
        item: Item | None = None
        try:
            with scope:
                item = await typed.run()
            if scope.cancelled_caught:
                item = typed.abort()
            if item is not None:
                self._inject([item])
        finally:
            del self._running[typed]
            over.set()
