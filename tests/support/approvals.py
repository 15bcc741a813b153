"""A person who is asked whether something may be done: at a bench of tools, or at the other end of a thread.

Owns the ways to run one script by each tool, the answers, and what happens while the person thinks. Knows nothing of
what is asked.
"""

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import trio

from pycodex.protocol.approvals import APPROVED, Decision
from pycodex.protocol.events.approval import ApplyPatchApprovalRequest, ExecApprovalRequest
from pycodex.protocol.events.event import Event
from pycodex.protocol.events.turn import TaskComplete, TurnAborted
from pycodex.protocol.events.union import AnyEvent
from pycodex.protocol.items import FUNCTION_CALL, LOCAL_SHELL_CALL
from pycodex.protocol.ops import Answer
from pycodex.supervisor.tools.handlers.exec_command import ExecCommand
from pycodex.supervisor.tools.handlers.local_shell import LocalShell
from pycodex.supervisor.tools.handlers.shell import Shell
from pycodex.supervisor.tools.handlers.shell_command import ShellCommand
from pycodex.supervisor.tools.router import Router
from pycodex.supervisor.tools.tool import ToolCall, ToolScope
from support.engine import Talk
from support.shell_calls import read_freeform, read_structured
from support.tool_calls import Bench
from support.waiting import eventually_async

REQUESTS = ExecApprovalRequest | ApplyPatchApprovalRequest

REQUEST, BEGIN, END = "exec_approval_request", "exec_command_begin", "exec_command_end"
PATCH_REQUEST = "apply_patch_approval_request"
DECLINED = f"{END} declined"
COMPLETED = f"{END} completed"
FAILED = f"{END} failed"
_PASSED_OVER = ("exec_command_output_delta", "turn_diff")

SHELL, SHELL_COMMAND, LOCAL_SHELL, EXEC, TTY = "shell", "shell_command", "local_shell", "exec_command", "tty"
SHELLS = (SHELL, SHELL_COMMAND, LOCAL_SHELL)
WAYS = (*SHELLS, EXEC, TTY)
_TOOLS = (Shell(), ShellCommand(login_allowed=True), LocalShell(), ExecCommand(login_allowed=True))
_EXITED = re.compile(r"Process exited with code (\d+)\n(?:.*\n)*?Output:\n((?:.|\n)*)")


def granular(**asked_about: bool) -> dict[str, dict[str, bool]]:
    """A policy under which only these classes of questions are asked."""
    silent = dict.fromkeys(("sandbox_approval", "rules", "mcp_elicitations"), False)
    return {"granular": {**silent, **asked_about}}


def amending(*words: str) -> object:
    """The answer that also allows for good what starts with these words."""
    return Decision(answer=APPROVED, amendment=words).to_wire()


# At a bench


def thinking(bench: Bench, meanwhile: Callable[[], object]) -> ToolScope:
    """The bench's scope, where this happens after each question and before its answer."""
    scope = bench.scope

    def emit(event: AnyEvent) -> None:
        if isinstance(event, REQUESTS):
            meanwhile()
        scope.emit(event)

    return replace(scope, emit=emit)


def unattended(bench: Bench) -> ToolScope:
    """The bench's scope, where nobody will ever answer."""

    def emit(event: AnyEvent) -> None:
        bench.events.append(event)
        if isinstance(event, REQUESTS):
            trio.lowlevel.current_trio_token().run_sync_soon(bench.pending.give_up)

    return replace(bench.scope, emit=emit)


def silent(bench: Bench) -> ToolScope:
    """The bench's scope, where the person goes on thinking until the test answers."""
    return replace(bench.scope, emit=bench.events.append)


def ending(bench: Bench, turn: trio.CancelScope) -> ToolScope:
    """The bench's scope, where an interrupt ends what runs in `turn`, as a session does."""

    def interrupt() -> None:
        bench.interrupted.set()
        turn.cancel()

    return replace(bench.scope, interrupt=interrupt)


class Desk:
    """Runs one script after another by any of the tools that run commands."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._calls = 0

    async def run(self, way: str, script: str, *, scope: ToolScope | None = None, **arguments: object) -> str:
        self._calls += 1
        call = _call_by(way, script, f"call-{self._calls}", arguments)
        output = (await Router(_TOOLS).run(call, scope or self.bench.scope)).output
        assert isinstance(output, str)
        return output

    async def stopped(self, way: str, script: str, **arguments: object) -> None:
        """Run what the person answers by ending the turn."""
        with trio.CancelScope() as turn:
            await self.run(way, script, scope=ending(self.bench, turn), **arguments)
        assert turn.cancelled_caught

    def told(self) -> list[str]:
        """The kinds of all events but output, those of an end with its status."""
        return told_kinds(self.bench.events)

    def forget(self) -> None:
        self.bench.events.clear()

    def asked(self) -> list[dict[str, Any]]:
        return self.bench.told(REQUEST)


def told_kinds(events: Sequence[Event]) -> list[str]:
    wires = [event.to_wire() for event in events]
    return [
        f"{wire['type']} {wire['status']}" if "status" in wire else wire["type"]
        for wire in wires
        if wire["type"] not in _PASSED_OVER
    ]


def _call_by(way: str, script: str, call_id: str, arguments: dict[str, object]) -> ToolCall:
    if way == LOCAL_SHELL:
        action = {"type": "exec", "command": ["/bin/bash", "-c", script], **arguments}
        return ToolCall(LOCAL_SHELL_CALL, call_id, LOCAL_SHELL, "", action=action)
    given: dict[str, object]
    if way == SHELL:
        given = {"command": ["/bin/bash", "-c", script]}
    elif way == SHELL_COMMAND:
        given = {"command": script, "login": False}
    else:
        given = {"cmd": script, "login": False, "tty": way == TTY}
    name = EXEC if way == TTY else way
    return ToolCall(FUNCTION_CALL, call_id, name, json.dumps({**given, **arguments}))


def result_of(way: str, answer: str) -> tuple[int, str]:
    """Exit code and output."""
    if way == SHELL_COMMAND:
        return read_freeform(answer)
    if way in SHELLS:
        return read_structured(answer)
    found = _EXITED.search(answer)
    assert found is not None, answer
    return int(found[1]), found[2].replace("\r\n", "\n")


def refused_text(way: str, shown: str, reason: str) -> str:
    """What the model is told of a command (as it is `shown`) that is not run, but for a shell that was declined."""
    if way in SHELLS:
        return reason
    inner = json.dumps(reason, ensure_ascii=False)
    message = json.dumps(f"Rejected({inner})", ensure_ascii=False)
    return f"exec_command failed for `{shown}`: CreateProcess {{ message: {message} }}"


def declined_text(way: str, shown: str) -> str:
    return "exec command rejected by user" if way in SHELLS else refused_text(way, shown, "rejected by user")


def in_order(way: str, end: str) -> list[str]:
    """The events of a command that was asked about first."""
    return [BEGIN, REQUEST, end] if way in SHELLS else [REQUEST, BEGIN, end]


# Commands that wait for the test


def make_fifo(folder: Path, name: str) -> Path:
    """`cat NAME` lasts until the test lets it go."""
    path = folder / name
    os.mkfifo(path)
    return path


async def let_go(path: Path) -> None:
    def opened() -> list[int]:
        try:
            return [os.open(path, os.O_WRONLY | os.O_NONBLOCK)]
        except OSError:
            return []

    (descriptor,) = await eventually_async(opened, what=f"a reader of {path.name}")
    os.close(descriptor)


# At a thread


class Person:
    """Talks with a thread and answers what it asks, in the order of the questions."""

    def __init__(self, talk: Talk, answers: Sequence[object] = ()) -> None:
        self.talk = talk
        self.answers = list(answers)
        self.asked: list[Any] = []
        """All questions so far."""

    async def turn(self, text: str, **wish: Any) -> list[Any]:
        """A whole turn; gives its events."""
        start = len(self.talk.events)
        await self.talk.say(text, **wish)
        while not isinstance(event := await self.talk.event(), TaskComplete | TurnAborted):
            if isinstance(event, REQUESTS):
                await self._take(event)
        return self.talk.events[start:]

    async def questions(self, count: int) -> list[Any]:
        """Read on until so many are open, and answer none of them."""
        found = [await self.talk.until(REQUESTS) for _ in range(count)]
        self.asked += found
        return found

    async def answer(self, call_id: str, value: object) -> None:
        await self.talk.thread.submit(Answer(request_id=call_id, value=value))

    async def _take(self, request: Any) -> None:
        self.asked.append(request)
        assert self.answers, f"nobody expected to be asked: {request}"
        await self.answer(request.call_id, self.answers.pop(0))
