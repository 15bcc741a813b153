"""An MCP server that is a program: one message a line, on its standard input and output.

Owns its environment, its start behind a `keeper`, and the way of lines both ways. MCP servers are the user's own
programs, chosen in their configuration: they run unconfined, as in the reference (see `UNCONFINED_BECAUSE`). What they
print is untrusted: lines are capped, and what is no message is passed over.
"""

import json
import logging
import math
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import trio

from pycodex.protocol.jsonrpc import decode, encode
from pycodex.supervisor.config.mcp_servers import StdioServer
from pycodex.supervisor.import_root import import_root
from pycodex.supervisor.mcp.failures import ConnectionLost, McpFailure
from pycodex.supervisor.mcp.link import MOST_MESSAGE_BYTES, MOST_WAITING_MESSAGES, Incoming, Json, Undelivered

UNCONFINED_BECAUSE = "it is a program of the user's own, named in their configuration"
INHERITED = (
    *("HOME", "LOGNAME", "PATH", "SHELL", "USER", "__CF_USER_TEXT_ENCODING"),
    *("LANG", "LC_ALL", "TERM", "TMPDIR", "TZ"),
)
LEAVING_S = 0.5
"""How long a server may take to end once nothing more will be said to it."""
ENDING_S = 3.0
"""How long its keeper may take to end it."""
MOST_LOGGED_BYTES = 2048
"""Of a line that it writes for people."""
_BLOCK_BYTES = 64 << 10
_BURIAL_PAUSE_S = 0.01
_KEEPER_ENV = {"PATH": "/usr/bin:/bin"}
_KEEPER = (
    "import sys;p=sys.argv[1];p in sys.path or sys.path.insert(0,p);"
    "from pycodex.supervisor.mcp.keeper import main;main(int(sys.argv[2]))"
)

logger = logging.getLogger("pycodex.mcp")


def server_environment(server: StdioServer, env: Mapping[str, str]) -> dict[str, str]:
    """Little of ours, what the configuration names of it, and what it sets. No credential is passed on by itself."""
    names = (*INHERITED, *server.env_vars)
    return {**{name: env[name] for name in names if name in env}, **server.env}


class Lines:
    """Cuts bytes into lines. One that is too long is left out, and said to be."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._held = bytearray()
        self._is_skipping = False
        self.has_skipped = False
        """Whether the last `feed` met a line that is too long."""

    def feed(self, data: bytes) -> list[bytes]:
        self.has_skipped = False
        found: list[bytes] = []
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._hold(piece)
            if not self._is_skipping:
                found.append(bytes(self._held))
            self._held.clear()
            self._is_skipping = False
        self._hold(rest)
        return found

    def _hold(self, piece: bytes) -> None:
        if self._is_skipping:
            return
        self._held += piece
        if len(self._held) > self._most:
            self._held.clear()
            self._is_skipping = self.has_skipped = True


class StdioLink:
    """A `Link`."""

    def __init__(self, name: str, server: StdioServer, env: Mapping[str, str]) -> None:
        self._name = name
        self._server = server
        self._env = env
        self._inlet, self._messages = trio.open_memory_channel[Incoming](MOST_WAITING_MESSAGES)
        self._queue, self._outbox = trio.open_memory_channel[bytes](MOST_WAITING_MESSAGES)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        ours, theirs = socket.socketpair()
        channel = trio.SocketStream(trio.socket.from_stdlib_socket(ours))
        try:
            process = await self._keeper(theirs)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        pid = 0
        try:
            pid = await self._start(channel)
            task_status.started()
            await self._pump(process)
        finally:
            self._inlet.close()
            self._outbox.close()
            with trio.CancelScope(shield=True):
                await _end(process, channel, pid)

    async def send(self, message: Json) -> None:
        try:
            await self._queue.send(encode(message) + b"\n")
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise ConnectionLost from None

    def put(self, message: Json) -> None:
        try:
            self._queue.send_nowait(encode(message) + b"\n")
        except (trio.BrokenResourceError, trio.ClosedResourceError, trio.WouldBlock):
            logger.debug("MCP server %s: nobody reads %s", self._name, message.get("method"))

    async def receive(self) -> Incoming | None:
        try:
            return await self._messages.receive()
        except trio.EndOfChannel:
            return None

    def agreed(self, protocol_version: str) -> None:
        """The version goes without saying here."""

    def forget(self, request_id: int) -> None:
        """An answer that comes nevertheless is dropped by whoever reads it."""

    async def _keeper(self, theirs: socket.socket) -> trio.Process:
        return await trio.lowlevel.open_process(
            [sys.executable, "-I", "-c", _KEEPER, import_root(), str(theirs.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
            env=_KEEPER_ENV,
        )

    async def _start(self, channel: trio.SocketStream) -> int:
        """Have the server started: UNCONFINED_BECAUSE says why nothing stands around it."""
        logger.info("MCP server %s is started unconfined: %s", self._name, UNCONFINED_BECAUSE)
        order = {
            "argv": [self._server.command, *self._server.args],
            "env": server_environment(self._server, self._env),
            "cwd": self._server.cwd,
        }
        answer = bytearray()
        try:
            await channel.send_all(json.dumps(order).encode() + b"\n")
            while not answer.endswith(b"\n"):
                block = await channel.receive_some(_BLOCK_BYTES)
                if not block:
                    raise McpFailure("the process that keeps the server has ended")
                answer += block
        except trio.BrokenResourceError:
            raise McpFailure("the process that keeps the server cannot be spoken to") from None
        told: dict[str, Any] = json.loads(answer)
        if "pid" not in told:
            raise McpFailure(_reason(told["errno"], told["text"]))
        pid: int = told["pid"]
        return pid

    async def _pump(self, process: trio.Process) -> None:
        """Until the server is gone, or does not want to hear or say any more."""
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._write, process.stdin)
            nursery.start_soon(self._log, process.stderr)
            nursery.start_soon(_cancel_after, process, nursery.cancel_scope)
            await self._read(process.stdout)
            nursery.cancel_scope.cancel()

    async def _read(self, stdout: trio.abc.ReceiveStream) -> None:
        lines = Lines(MOST_MESSAGE_BYTES)
        async for block in stdout:
            for line in lines.feed(bytes(block)):
                message = decode(line) if line else None
                if message is not None:
                    await self._inlet.send(message)
                else:
                    logger.debug("MCP server %s: a line that is no message", self._name)
                    # Whoever prints nothing else must not keep the others waiting.
                    await trio.lowlevel.checkpoint()
            if lines.has_skipped:
                text = f"the server sent a message of more than {MOST_MESSAGE_BYTES} bytes"
                logger.warning("MCP server %s: %s", self._name, text)
                await self._inlet.send(Undelivered(None, McpFailure(text)))

    async def _write(self, stdin: trio.abc.SendStream) -> None:
        async for data in self._outbox:
            try:
                await stdin.send_all(data)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                # It may still have something to say; whoever sends from now on is told.
                self._outbox.close()
                return

    async def _log(self, stderr: trio.abc.ReceiveStream) -> None:
        lines = Lines(MOST_LOGGED_BYTES)
        async for block in stderr:
            for line in lines.feed(bytes(block)):
                logger.info("MCP server %s says: %s", self._name, line.decode("utf-8", "replace"))
                await trio.lowlevel.checkpoint()


def _reason(number: int, text: str) -> str:
    return f"{os.strerror(number)} (os error {number})" if number else text


async def _cancel_after(process: trio.Process, scope: trio.CancelScope) -> None:
    """The keeper outlives the server by a moment, in which what it said last is read."""
    await process.wait()
    scope.deadline = min(scope.deadline, trio.current_time() + LEAVING_S)


async def _end(process: trio.Process, channel: trio.SocketStream, pid: int) -> None:
    """In good order if it wants to, by force if it does not. Nothing of it is left."""
    assert process.stdin is not None
    await trio.aclose_forcefully(process.stdin)
    if pid and not await _ended_within(process, LEAVING_S):
        logger.debug("the MCP server with pid %d is asked to end", pid)
    await channel.aclose()
    if not await _ended_within(process, ENDING_S) or process.returncode != 0:
        # Somebody has killed the keeper, or it is stuck: the server's group is all that we know.
        process.kill()
        await _ended_within(process, math.inf)
        if pid:
            await _kill_group(pid)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            await trio.aclose_forcefully(stream)


async def _ended_within(process: trio.Process, seconds: float) -> bool:
    with trio.move_on_after(seconds):
        await process.wait()
    return process.returncode is not None


async def _kill_group(pid: int) -> None:
    """Where we inherit orphans, its leader is ours to bury."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        # Gone already.
        return
    with trio.move_on_after(ENDING_S):
        while True:
            if _is_buried(pid):
                return
            await trio.sleep(_BURIAL_PAUSE_S)


def _is_buried(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
