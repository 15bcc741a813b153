"""The tool calls of one response of the model.

Owns their running beside the stream and the order of their answers: a call starts when its item is complete and its
turn in the line has come, answers are handed over in the order of the calls. An answer exists for every call that was
started, also when the turn is interrupted: then it says so.
"""

import logging
from typing import TYPE_CHECKING, Any

import trio

from pycodex.protocol.frames import Exited
from pycodex.protocol.items import output_for
from pycodex.supervisor.session.call_figures import figures_of, told_in_log
from pycodex.supervisor.tools.parallel import CallOrder, Place
from pycodex.supervisor.tools.router import Router
from pycodex.supervisor.tools.tool import ToolCall, ToolScope

if TYPE_CHECKING:
    from pycodex.protocol.items import Item, Part

# Their answers start with the wall time, so the note about the interrupt has that form, too.
TIMED_TOOLS = frozenset({"shell", "container.exec", "local_shell", "shell_command"})
LEAST_SHOWN_S = 0.1

logger = logging.getLogger("pycodex.session")


class _Run:
    def __init__(self, item: "Item", call: ToolCall) -> None:
        self.item = item
        self.call = call
        self.started_at = trio.current_time()
        self.output: str | list[Part] | None = None
        self.usage: Exited | None = None

    def aborted_text(self) -> str:
        elapsed_s = max(trio.current_time() - self.started_at, LEAST_SHOWN_S)
        if self.call.name in TIMED_TOOLS:
            return f"Wall time: {elapsed_s:.1f} seconds\naborted by user"
        return f"aborted by user after {elapsed_s:.1f}s"


class ToolRuns:
    def __init__(self, nursery: trio.Nursery, router: Router, scope: ToolScope) -> None:
        self._nursery = nursery
        self._router = router
        self._scope = scope
        self._order = CallOrder()
        self._runs: list[_Run] = []
        self._open = 0
        self._all_done = trio.Event()

    def __len__(self) -> int:
        return len(self._runs)

    def has_others_than(self, name: str) -> bool:
        """Whether any other tool was called."""
        return any(run.call.name != name for run in self._runs)

    def start(self, item: "Item", call: ToolCall) -> None:
        run = _Run(item, call)
        self._runs.append(run)
        self._open += 1
        place = self._order.reserve(shared=self._router.is_parallel(call))
        self._nursery.start_soon(self._carry_out, run, place)

    async def _carry_out(self, run: _Run, place: Place) -> None:
        async with place:
            try:
                answer = await self._router.run(run.call, self._scope)
                run.output, run.usage = answer.output, answer.usage
            except Exception as error:
                # A bug in a tool must not end the session; the model is told that this call came to nothing.
                logger.exception("tool %s failed", run.call.name)
                run.output = f"{run.call.name} failed unexpectedly: {error}"
        if logger.isEnabledFor(logging.INFO):
            logger.info("%s", told_in_log(run.call, run.output, figures_of(run.usage)))
        self._open -= 1
        if not self._open:
            self._all_done.set()

    async def finished(self) -> "list[Item]":
        """Wait for all of them; gives the answers in the order of the calls."""
        if self._open:
            self._all_done = trio.Event()
            await self._all_done.wait()
        return self.outputs()

    def outputs(self) -> "list[Item]":
        """The answers of all calls; those that are not finished were interrupted."""
        return [output_for(run.item, run.aborted_text() if run.output is None else run.output) for run in self._runs]

    def figures(self) -> dict[str, dict[str, Any]]:
        """What the calls have taken whose processes have ended, by their ids."""
        return {run.call.call_id: figures for run in self._runs if (figures := figures_of(run.usage)) is not None}
