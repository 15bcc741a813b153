"""`exec --json`: events of the engine as JSON lines.

Owns which line an event becomes, the numbers of items, and what is told at the end of a turn. Takes events and a
function that writes one line; shapes are in `protocol/exec_jsonl`.
"""

from collections.abc import Callable
from typing import Any

from pycodex.protocol import exec_jsonl as lines
from pycodex.protocol.events.error import ErrorEvent, StreamError, WarningEvent
from pycodex.protocol.events.exec import ExecCommandBegin, ExecCommandEnd
from pycodex.protocol.events.mcp import McpToolCallBegin, McpToolCallEnd
from pycodex.protocol.events.message import AgentMessage, AgentReasoning, WebSearchBegin, WebSearchEnd
from pycodex.protocol.events.patch import PatchApplyEnd
from pycodex.protocol.events.plan import PlanUpdate
from pycodex.protocol.events.turn import INTERRUPTED, TaskStarted
from pycodex.protocol.events.union import AnyEvent
from pycodex.supervisor.frontends.exec.outcome import Outcome
from pycodex.supervisor.frontends.exec.texts import retry_text, shown_command


class JsonlRenderer:
    """Call `start`, `handle` for each event, and `finish` when `outcome.ended`."""

    def __init__(self, write_line: Callable[[str], None]) -> None:
        self._write_line = write_line
        self._next_number = 0
        self._running: dict[str, tuple[str, str]] = {}
        """Item id and command of each call that has begun."""
        self._called: dict[str, str] = {}
        """Item id of each call of an MCP server that has begun."""
        self._searching: set[str] = set()
        self._plan: tuple[str, tuple[dict[str, Any], ...]] | None = None
        self._finished = False
        self.outcome = Outcome()

    def start(self, thread_id: str) -> None:
        self._tell(lines.thread_started(thread_id))

    def handle(self, event: AnyEvent) -> None:
        if self._finished:
            return
        self.outcome.note(event)
        match event:
            case TaskStarted():
                self._tell(lines.turn_started())
            case AgentMessage():
                self._tell(lines.item_completed(lines.agent_message(self._new_id(), event.message)))
            case AgentReasoning():
                self._tell(lines.item_completed(lines.reasoning(self._new_id(), event.text)))
            case ExecCommandBegin():
                self._command_began(event)
            case ExecCommandEnd():
                self._command_ended(event)
            case PatchApplyEnd():
                self._patch_ended(event)
            case McpToolCallBegin():
                self._server_called(event)
            case McpToolCallEnd():
                self._server_answered(event)
            case WebSearchBegin():
                self._search_began(event.call_id)
            case WebSearchEnd():
                self._search_ended(event)
            case PlanUpdate():
                self._plan_changed(event.plan)
            case WarningEvent():
                self._warn(event.message)
            case StreamError():
                self._tell(lines.error(retry_text(event)))
            case ErrorEvent():
                self._tell(lines.error(event.message))
            case _:
                pass

    def interrupted(self) -> None:
        """The person ended it, and the engine may not come to say so."""
        if not self.outcome.ended:
            self.outcome.note_abort(INTERRUPTED)
        self.finish()

    def finish(self) -> None:
        """The last lines. Whatever comes afterwards is not told."""
        if self._finished:
            return
        self._finished = True
        if self._plan is not None:
            self._tell(lines.item_completed(lines.todo_list(*self._plan)))
        for item_id, command in self._running.values():
            self._tell(lines.item_completed(lines.command_execution(item_id, command, status=lines.COMPLETED)))
        if self.outcome.failed:
            self._tell(lines.turn_failed(self.outcome.error or "turn failed"))
        else:
            self._tell(lines.turn_completed(self.outcome.usage or {}))

    def _tell(self, line: lines.Line) -> None:
        self._write_line(lines.encoded(line))

    def _new_id(self) -> str:
        self._next_number += 1
        return f"item_{self._next_number - 1}"

    def _warn(self, message: str) -> None:
        self._tell(lines.item_completed(lines.error_item(self._new_id(), message)))

    def _command_began(self, event: ExecCommandBegin) -> None:
        item_id, command = self._new_id(), shown_command(event.command)
        self._running[event.call_id] = item_id, command
        self._tell(lines.item_started(lines.command_execution(item_id, command, status=lines.IN_PROGRESS)))

    def _command_ended(self, event: ExecCommandEnd) -> None:
        if event.call_id not in self._running:
            return
        item_id, command = self._running.pop(event.call_id)
        item = lines.command_execution(
            item_id,
            command,
            status=lines.COMPLETED if event.exit_code == 0 else lines.FAILED,
            output=event.aggregated_output,
            exit_code=event.exit_code,
        )
        self._tell(lines.item_completed(item))

    def _patch_ended(self, event: PatchApplyEnd) -> None:
        status = lines.COMPLETED if event.success else lines.FAILED
        self._tell(lines.item_completed(lines.file_change(self._new_id(), event.changes, status=status)))

    def _server_called(self, event: McpToolCallBegin) -> None:
        item_id = self._called[event.call_id] = self._new_id()
        self._tell(lines.item_started(lines.mcp_tool_call(item_id, event.invocation, status=lines.IN_PROGRESS)))

    def _server_answered(self, event: McpToolCallEnd) -> None:
        item_id = self._called.pop(event.call_id, None) or self._new_id()
        status = lines.COMPLETED if event.success else lines.FAILED
        item = lines.mcp_tool_call(item_id, event.invocation, status=status, result=event.result)
        self._tell(lines.item_completed(item))

    def _search_began(self, call_id: str) -> None:
        # A search is known by the model's own id; its number is used up all the same.
        self._new_id()
        self._searching.add(call_id)
        self._tell(lines.item_started(lines.web_search(call_id, "", {"type": "other"})))

    def _search_ended(self, event: WebSearchEnd) -> None:
        if event.call_id not in self._searching:
            self._new_id()
        self._searching.discard(event.call_id)
        self._tell(lines.item_completed(lines.web_search(event.call_id, event.query, event.action)))

    def _plan_changed(self, steps: tuple[dict[str, Any], ...]) -> None:
        began = self._plan is None
        item_id = self._new_id() if self._plan is None else self._plan[0]
        self._plan = item_id, steps
        item = lines.todo_list(item_id, steps)
        self._tell(lines.item_started(item) if began else lines.item_updated(item))
