"""`exec` for people: what happens, as text on stderr.

Owns the layout. Takes events and functions that write text; knows no descriptor. A command's line stays open while it
runs, so that its end can complete it; whatever else comes in between begins on a line of its own.
"""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

from pycodex.protocol.durations import milliseconds
from pycodex.protocol.events.error import BackgroundEvent, DeprecationNotice, ErrorEvent, StreamError, WarningEvent
from pycodex.protocol.events.exec import ExecCommandBegin, ExecCommandEnd
from pycodex.protocol.events.image import ViewImageToolCall
from pycodex.protocol.events.mcp import McpStartupComplete, McpStartupUpdate, McpToolCallBegin, McpToolCallEnd
from pycodex.protocol.events.message import (
    AgentMessage,
    AgentReasoning,
    AgentReasoningRawContent,
    WebSearchBegin,
    WebSearchEnd,
)
from pycodex.protocol.events.patch import PatchApplyBegin, PatchApplyEnd, TurnDiff
from pycodex.protocol.events.plan import PlanUpdate
from pycodex.protocol.events.review import EnteredReviewMode
from pycodex.protocol.events.turn import INTERRUPTED, ContextCompacted, TaskStarted, TurnAborted
from pycodex.protocol.events.union import AnyEvent
from pycodex.supervisor.frontends.exec.facts import ThreadFacts
from pycodex.supervisor.frontends.exec.outcome import Outcome
from pycodex.supervisor.frontends.exec.style import BOLD, CYAN, DIM, GREEN, ITALIC, MAGENTA, RED, YELLOW, Style
from pycodex.supervisor.frontends.exec.texts import retry_text, shown_command
from pycodex.supervisor.version import VERSION

MAX_OUTPUT_LINES = 20
CHANGE_LETTERS = {"add": "A", "delete": "D", "update": "M"}
_RULE = "--------"


def _unchanged(text: str) -> str:
    return text


class HumanRenderer:
    """Call `start`, `handle` for each event, and `finish` when `outcome.ended`.

    `clean` is applied to all texts that others wrote. `answer` gets the final message; None: it is not wanted.
    """

    def __init__(
        self,
        write: Callable[[str], None],
        style: Style,
        *,
        answer: Callable[[str], None] | None,
        clean: Callable[[str], str] = _unchanged,
    ) -> None:
        self._write = write
        self._style = style
        self._answer = answer
        self._clean = clean
        self.shows_reasoning = True
        self.shows_raw_reasoning = False
        self._open_call: str | None = None
        self._told_servers = False
        self._patch_started: dict[str, tuple[PatchApplyBegin, float]] = {}
        self._finished = False
        self.outcome = Outcome()

    def start(self, facts: ThreadFacts, prompt: str) -> None:
        paint = self._style.paint
        header = [f"{paint(f'{name}:', BOLD)} {self._clean(value)}" for name, value in facts.header()]
        user = [paint("user", CYAN), self._clean(prompt)]
        self._lines(f"pycodex v{VERSION}", _RULE, *header, _RULE, *user)

    def handle(self, event: AnyEvent) -> None:
        if self._finished:
            return
        self.outcome.note(event)
        match event:
            case TaskStarted():
                self._turn_started()
            case EnteredReviewMode():
                self._turn_started()
                # The reviewer has servers of its own.
                self._told_servers = False
            case AgentMessage():
                self._lines(self._style.section("codex"), self._clean(event.message))
            case AgentReasoning() | AgentReasoningRawContent():
                self._reasoned(event)
            case ExecCommandBegin():
                self._command_began(event)
            case ExecCommandEnd():
                self._command_ended(event)
            case PatchApplyBegin():
                self._patch_began(event)
            case PatchApplyEnd():
                self._patch_ended(event)
            case TurnDiff():
                self._lines(self._style.paint("file update:", MAGENTA), self._clean(event.unified_diff))
            case ViewImageToolCall():
                self._lines(f"{self._style.paint('viewed image', MAGENTA)} {self._clean(event.path)}")
            case McpStartupUpdate() | McpStartupComplete() | McpToolCallBegin() | McpToolCallEnd():
                self._about_servers(event)
            case WebSearchBegin():
                self._lines("🌐 Searching the web...")
            case WebSearchEnd():
                self._lines(f"🌐 Searched: {self._clean(event.query)}" if event.query else "🌐 Searched the web")
            case PlanUpdate():
                self._plan_changed(event)
            case TurnAborted():
                self._lines(self.outcome.error or "")
            case _:
                self._notice(event)

    def _reasoned(self, event: AgentReasoning | AgentReasoningRawContent) -> None:
        is_shown = self.shows_reasoning if isinstance(event, AgentReasoning) else self.shows_raw_reasoning
        if is_shown:
            self._lines(self._style.section("thinking"), self._clean(event.text))

    def interrupted(self) -> None:
        """The person ended it, and the engine may not come to say so."""
        if not self.outcome.ended:
            self.outcome.note_abort(INTERRUPTED)
            self._lines(self.outcome.error or "")
        self.finish()

    def finish(self) -> None:
        """The tokens, and the final message for who wants it. Whatever comes afterwards is not told."""
        if self._finished:
            return
        self._finished = True
        self._close_line()
        usage = self.outcome.usage
        if usage is not None:
            fresh = max(usage["input_tokens"] - usage["cached_input_tokens"], 0)
            self._lines(self._style.paint("tokens used", ITALIC, MAGENTA), f"{fresh + usage['output_tokens']:,}")
        message = self.outcome.last_message
        if self._answer is not None and message is not None:
            self._answer(message if message.endswith("\n") else message + "\n")

    def _lines(self, *texts: str) -> None:
        """One write, so that nothing gets between."""
        self._close_line()
        self._write("".join(f"{text}\n" for text in texts))

    def _close_line(self) -> None:
        if self._open_call is not None:
            self._open_call = None
            self._write("\n")

    def _turn_started(self) -> None:
        if not self._told_servers:
            self._told_servers = True
            self._lines(f"{self._style.paint('mcp startup:', CYAN)} no servers")

    def _about_servers(self, event: McpStartupUpdate | McpStartupComplete | McpToolCallBegin | McpToolCallEnd) -> None:
        match event:
            case McpStartupUpdate():
                self._server_starts(event)
            case McpStartupComplete():
                self._servers_started(event)
            case McpToolCallBegin():
                self._lines(f"{self._style.paint('tool', MAGENTA)} {self._invocation(event)}")
            case McpToolCallEnd():
                self._server_answered(event)

    def _server_starts(self, event: McpStartupUpdate) -> None:
        self._told_servers = True
        error = event.status.get("error")
        told = f"{event.server} {event.status['state']}" + (f": {error}" if error else "")
        self._lines(f"{self._style.paint('mcp:', CYAN)} {self._clean(told)}")

    def _servers_started(self, event: McpStartupComplete) -> None:
        failed = [each["server"] for each in event.failed]
        parts = (("ready", event.ready), ("failed", failed), ("cancelled", event.cancelled))
        told = "; ".join(f"{word}: {', '.join(names)}" for word, names in parts if names)
        self._lines(f"{self._style.paint('mcp startup:', CYAN)} {told or 'no servers'}")

    def _invocation(self, event: McpToolCallBegin | McpToolCallEnd) -> str:
        called = event.invocation
        given = "" if called["arguments"] is None else _compact(called["arguments"])
        return self._style.paint(self._clean(f"{called['server']}.{called['tool']}({given})"), BOLD)

    def _server_answered(self, event: McpToolCallEnd) -> None:
        word, colour = ("success", GREEN) if event.success else ("failed", RED)
        title = self._style.paint(f" {word} in {shown_duration(event.duration)}:", colour)
        answered = event.result.get("Ok")
        output = str(event.result.get("Err")) if answered is None else _pretty(answered)
        self._lines(f"{self._invocation(event)}{title}", self._style.paint(self._clean(first_lines(output)), DIM))

    def _command_began(self, event: ExecCommandBegin) -> None:
        self._close_line()
        self._write(f"{self._style.section('exec')}\n{self._command(event)}")
        self._open_call = event.call_id

    def _command(self, event: ExecCommandBegin | ExecCommandEnd) -> str:
        command = self._style.paint(self._clean(shown_command(event.command)), BOLD)
        return f"{command} in {self._clean(event.cwd)}"

    def _command_ended(self, event: ExecCommandEnd) -> None:
        opening = ""
        if self._open_call != event.call_id:
            self._close_line()
            opening = f"{self._style.section('exec')}\n{self._command(event)}"
        self._open_call = None
        took = shown_duration(event.duration)
        if event.exit_code == 0:
            result = self._style.paint(f" succeeded in {took}:", GREEN)
        else:
            result = self._style.paint(f" exited {event.exit_code} in {took}:", RED)
        output = self._style.paint(self._clean(first_lines(event.aggregated_output)), DIM)
        self._write(f"{opening}{result}\n{output}\n")

    def _patch_began(self, event: PatchApplyBegin) -> None:
        self._patch_started[event.call_id] = event, time.monotonic()
        lines = [self._style.section("file update")]
        for path, change in sorted(event.changes.items()):
            lines += self._change(path, change)
        self._lines(*lines)

    def _change(self, path: str, change: dict[str, Any]) -> Iterator[str]:
        kind, new_path = change["type"], change.get("move_path")
        letter = "R" if new_path else CHANGE_LETTERS[kind]
        target = f" -> {self._clean(new_path)}" if new_path else ""
        yield f"{self._style.paint(letter, BOLD)} {self._clean(path)}{target}"
        for line in self._clean(change.get("unified_diff") or change.get("content") or "").splitlines():
            sign = {"add": "+", "delete": "-"}.get(kind) or line[:1]
            colours = {"+": (GREEN,), "-": (RED,)}.get(sign)
            yield self._style.paint(line, *colours) if colours else line

    def _patch_ended(self, event: PatchApplyEnd) -> None:
        begun = self._patch_started.pop(event.call_id, None)
        if begun is None:
            return
        approved, took = str(begun[0].auto_approved).lower(), shown_ms(int((time.monotonic() - begun[1]) * 1000))
        title = f"apply_patch(auto_approved={approved}) exited {0 if event.success else 1} in {took}:"
        output = first_lines(event.stdout if event.success else event.stderr)
        self._lines(
            self._style.paint(title, GREEN if event.success else RED), self._style.paint(self._clean(output), DIM)
        )

    def _plan_changed(self, event: PlanUpdate) -> None:
        paint = self._style.paint
        lines = [paint("Plan update", MAGENTA)]
        if event.explanation and event.explanation.strip():
            lines.append(paint(self._clean(event.explanation), ITALIC))
        for step in event.plan:
            text = self._clean(step["step"])
            if step["status"] == "completed":
                lines.append(f"  {paint('✓', GREEN)} {text}")
            elif step["status"] == "in_progress":
                lines.append(f"  {paint('→', CYAN)} {text}")
            else:
                lines.append(f"  {paint('•', DIM)} {paint(text, DIM)}")
        self._lines(*lines)

    def _notice(self, event: AnyEvent) -> None:
        paint, clean = self._style.paint, self._clean
        match event:
            case WarningEvent():
                self._lines(f"{paint('warning:', BOLD, YELLOW)} {clean(event.message)}")
            case DeprecationNotice():
                self._lines(f"{paint('deprecated:', BOLD, MAGENTA)} {clean(event.summary)}")
                if event.details:
                    self._lines(f"  {paint(clean(event.details), DIM)}")
            case ErrorEvent():
                self._lines(f"{paint('ERROR:', RED)} {clean(event.message)}")
            case StreamError():
                self._lines(paint(clean(retry_text(event)), DIM))
            case ContextCompacted():
                self._lines(paint("context compacted", DIM))
            case BackgroundEvent():
                self._lines(paint(clean(event.message), DIM))
            case _:
                pass


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _pretty(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def first_lines(output: str) -> str:
    """Lines end at a newline, with or without a carriage return before it."""
    lines = output.removesuffix("\n").split("\n", MAX_OUTPUT_LINES)[:MAX_OUTPUT_LINES]
    return "\n".join(line.removesuffix("\r") for line in lines)


def shown_duration(duration: dict[str, int]) -> str:
    return shown_ms(milliseconds(duration))


def shown_ms(total_ms: int) -> str:
    if total_ms < 1000:
        return f"{total_ms}ms"
    if total_ms < 60_000:
        return f"{total_ms / 1000:.2f}s"
    return f"{total_ms // 60_000}m {total_ms // 1000 % 60:02}s"
