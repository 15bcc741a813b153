"""Calls of tools as a turn makes them, on a pool of real workers.

Owns the defaults of a turn, and a bench that runs calls and remembers what was told. Knows no particular tool.
"""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import trio

from pycodex.protocol.approvals import DENIED
from pycodex.protocol.events.approval import ApplyPatchApprovalRequest, ExecApprovalRequest
from pycodex.protocol.events.event import Event
from pycodex.protocol.items import FUNCTION_CALL
from pycodex.protocol.model_info import TOKENS, ModelInfo, TruncationPolicy
from pycodex.protocol.permissions import Permissions
from pycodex.protocol.turn_context import Shell, TurnContext
from pycodex.supervisor.session.pending import Pending
from pycodex.supervisor.tools.offered import offered
from pycodex.supervisor.tools.processes import Processes
from pycodex.supervisor.tools.router import Router
from pycodex.supervisor.tools.services import ToolServices
from pycodex.supervisor.tools.spool import Spools
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope
from pycodex.supervisor.workers.pool import Pool
from pycodex.supervisor.workspace.turn_diff import TurnChanges
from support.waiting import eventually_async

POLICY = TruncationPolicy(TOKENS, 10_000)
WORKSPACE_WRITE = Permissions(mode="workspace-write", exclude_slash_tmp=True, exclude_tmpdir_env_var=True)
READ_ONLY = Permissions(mode="read-only")
FULL_ACCESS = Permissions(mode="danger-full-access", network_access=True)


def make_turn(cwd: str = "/", **fields: Any) -> TurnContext:
    turn = TurnContext(
        thread_id="thread-1",
        turn_id="turn-1",
        cwd=cwd,
        current_date="2026-01-01",
        timezone="UTC",
        approval_policy="never",
        permissions=READ_ONLY,
        model="m",
        model_info=ModelInfo(slug="m", display_name="M", context_window=None, truncation=POLICY),
        effort=None,
        summary="auto",
        personality=None,
        truncation=POLICY,
        shell=Shell(name="bash", path="/bin/bash"),
        features=frozenset({"shell_tool", "unified_exec"}),
    )
    return replace(turn, **fields)


class Bench:
    """Runs calls one by one, keeps events and warnings in their order, and answers what a person is asked."""

    def __init__(self, turn: TurnContext, services: ToolServices) -> None:
        self.turn = turn
        self.services = services
        self.events: list[Event] = []
        self.warnings: list[str] = []
        self.notes: list[str] = []
        self.decisions: list[object] = []
        """What the person will answer, in this order; afterwards they only say no."""
        self.interrupted = trio.Event()
        self.pending = Pending()
        self.changes = TurnChanges()
        self._calls = 0

    @property
    def scope(self) -> ToolScope:
        return ToolScope(
            turn=self.turn,
            emit=self._emit,
            services=self.services,
            warn=self.warnings.append,
            note=self.notes.append,
            interrupt=self.interrupted.set,
            answer_to=self.pending.answer_to,
            changes=self.changes,
        )

    def _emit(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, ExecApprovalRequest | ApplyPatchApprovalRequest):
            decision = self.decisions.pop(0) if self.decisions else DENIED
            trio.lowlevel.current_trio_token().run_sync_soon(self.pending.answer, event.call_id, decision)

    async def answer(self, name: str, arguments: object) -> ToolAnswer:
        self._calls += 1
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        call = ToolCall(FUNCTION_CALL, f"call-{self._calls}", name, text)
        offer = offered(self.turn, self.services)
        return await Router(offer.shown, offer.hidden).run(call, self.scope)

    async def call(self, name: str, **arguments: object) -> str:
        output = (await self.answer(name, arguments)).output
        assert isinstance(output, str)
        return output

    async def run(self, cmd: str, **arguments: object) -> str:
        """exec_command without a login shell, which is what most tests mean."""
        return await self.call("exec_command", **{"cmd": cmd, "login": False, **arguments})

    def told(self, kind: str) -> list[dict[str, Any]]:
        """The events of one kind, as they go out."""
        return [wire for event in self.events if (wire := event.to_wire())["type"] == kind]

    async def until_told(self, kind: str, *, count: int = 1) -> list[dict[str, Any]]:
        return await eventually_async(
            lambda: found if len(found := self.told(kind)) >= count else [], what=f"{count} {kind}"
        )


@dataclass(frozen=True)
class OpenPool:
    """A pool that is there already."""

    pool: Pool

    async def ready(self) -> Pool:
        await trio.lowlevel.checkpoint()
        return self.pool


@asynccontextmanager
async def open_bench(pool: Pool, home: Path, turn: TurnContext, **services: Any) -> AsyncIterator[Bench]:
    """A session's worth of tools; at the end its processes are ended."""
    async with trio.open_nursery() as nursery:
        processes = Processes(OpenPool(pool), nursery.start_soon, Spools(str(home), turn.thread_id))
        defaults: dict[str, Any] = {
            "env": {"PATH": "/usr/bin:/bin", "HOME": str(home)},
            "codex_home": str(home),
        }
        yield Bench(turn, ToolServices(pool=OpenPool(pool), processes=processes, **{**defaults, **services}))
        await processes.end_all()


Benches = Callable[..., AbstractAsyncContextManager[Bench]]
"""How the tests of a tool open one."""
