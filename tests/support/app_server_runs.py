"""`pycodex app-server` as a real process in a scratch home, beside a model server of the test's own.

Owns how it is started and ended, and the clients on its standard input and output. Knows nothing of what is said.
"""

import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import trio

from support.app_server import Client, text_input
from support.cli import cli_argv
from support.engine import Place
from support.exec_runs import GONE_WITHIN_S
from support.pools import alive, descendants
from support.waiting import eventually_async

ENDS_WITHIN_S = 20.0


@dataclass
class RunningServer:
    process: trio.Process
    client: Client

    @property
    def pid(self) -> int:
        return self.process.pid

    async def close_stdin(self) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.aclose()

    async def begin(self, thread_id: str, text: str = "go") -> str:
        """A turn; gives its id."""
        answer = await self.client.call("turn/start", threadId=thread_id, input=[text_input(text)])
        turn_id: str = answer["turn"]["id"]
        return turn_id


@asynccontextmanager
async def running_app_server(
    place: Place, *arguments: str, env: Mapping[str, str] | None = None
) -> AsyncIterator[RunningServer]:
    """It ends with its client at the end of the block; afterwards nobody may be left, and no traceback be seen."""
    process = await trio.lowlevel.open_process(
        cli_argv("app-server", *arguments),
        cwd=place.workspace,
        env={**place.env, **(env or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    everybody: set[int] = set()
    try:
        client = Client(trio.StapledStream(process.stdin, process.stdout), cwd=place.workspace)
        yield RunningServer(process, client)
        everybody = descendants(process.pid)
    finally:
        with trio.CancelScope(shield=True), trio.move_on_after(ENDS_WITHIN_S):
            await process.stdin.aclose()
            await process.wait()
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()
    assert b"Traceback" not in await process.stderr.receive_some(1 << 16)
    await eventually_async(lambda: not alive(everybody), GONE_WITHIN_S, what="everybody gone")
