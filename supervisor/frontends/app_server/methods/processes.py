"""`process/*`: programs of a client, outside of any thread and of the sandbox, as clients newer than 0.116 start them.

Owns the checks of a wish, which program of a connection is meant by a handle, and the notifications. What runs them is
the same as for `command/exec`. A program does not outlive its connection.
"""

import json
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import trio

from pycodex.protocol.app.processes import (
    ProcessKillParams,
    ProcessResizePtyParams,
    ProcessSpawnParams,
    ProcessTerminalSize,
    ProcessWriteStdinParams,
)
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.frames import STDERR, STDOUT, BadFrame, Pty
from pycodex.supervisor.commands.one_off import NO_EXIT_CODE, NoLongerRunning, NotWritable, OneOff, Outcome, Wish
from pycodex.supervisor.commands.workplace import Workplace
from pycodex.supervisor.frontends.app_server.latest_config import latest_config
from pycodex.supervisor.frontends.app_server.method import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    Caller,
    Json,
    Method,
    RpcError,
)
from pycodex.supervisor.frontends.app_server.methods.command_exec import (
    DEFAULT_CAP_BYTES,
    DEFAULT_TIMEOUT_MS,
    MAX_COMMANDS,
    teller,
)
from pycodex.supervisor.frontends.app_server.unconfined import check_unconfined
from pycodex.supervisor.text.base64_text import BadBase64, decoded
from pycodex.supervisor.text.charset import as_text

if TYPE_CHECKING:
    from pycodex.supervisor.config.config import Config

SPAWN = "process/spawn"
UNCONFINED = "started by a client"
_MOST_BYTES = 1 << 62

_running: WeakKeyDictionary[trio.Nursery, dict[str, "_Program"]] = WeakKeyDictionary()
"""By the nursery of the connection, of which every connection has one."""


class _Program:
    """From its start to the notification of its end. Nothing is told before the answer that it has started."""

    def __init__(self, caller: Caller, params: ProcessSpawnParams, config: "Config") -> None:
        self.handle = params.process_handle
        self.failure = ""
        self.over = trio.Event()
        self.answered = trio.Event()
        self._caller = caller
        self._workplace = Workplace(config=config, env=caller.server.env, pool=caller.server.pool)
        is_streamed = params.tty or params.stream_stdout_stderr
        self._tell = teller(caller, "process/outputDelta", {"processHandle": self.handle})
        self.command = OneOff(_wish(config, params), self._say if is_streamed else None)

    async def _say(self, stream: str, data: bytes, is_capped: bool) -> None:
        await self.answered.wait()
        await self._tell(stream, data, is_capped)

    async def live(self, programs: "dict[str, _Program]") -> None:
        try:
            outcome = await self._outcome()
            self.over.set()
            if not self.failure or await self.command.started():
                await self.answered.wait()
                self._caller.notify("process/exited", _told(self.handle, outcome))
        finally:
            del programs[self.handle]

    async def _outcome(self) -> Outcome:
        try:
            return await self.command.run(self._workplace)
        except (ModelFacing, BadFrame) as error:
            self.failure = str(error)
            return Outcome(exit_code=NO_EXIT_CODE, stderr=self.failure.encode())


async def spawn(caller: Caller, params: ProcessSpawnParams) -> Json:
    """Answered once it runs."""
    _check(params)
    check_unconfined(SPAWN, caller.server.env)
    programs = _running.setdefault(caller.nursery, {})
    if params.process_handle in programs:
        raise RpcError(f"duplicate active process handle: {_shown(params.process_handle)}")
    if len(programs) >= MAX_COMMANDS:
        raise RpcError(f"{MAX_COMMANDS} processes of this connection are running; end one of them first")
    program = programs[params.process_handle] = _Program(caller, params, latest_config(caller.server))
    caller.nursery.start_soon(program.live, programs)
    if not await program.command.started():
        await program.over.wait()
        # Without a failure its time was over before it began, which is an end like any other.
        if program.failure:
            raise RpcError(f"failed to spawn process: {program.failure}", code=INTERNAL_ERROR)
    caller.after_answer(program.answered.set)
    return {}


def _check(params: ProcessSpawnParams) -> None:
    if not params.command:
        raise RpcError("command must not be empty")
    if not params.process_handle:
        raise RpcError("processHandle must not be empty")
    if params.size is not None and not params.tty:
        raise RpcError("process/spawn size requires tty: true", code=INVALID_PARAMS)
    if params.timeout_ms is not None and params.timeout_ms < 0:
        raise RpcError(f"process/spawn timeoutMs must be non-negative, got {params.timeout_ms}", code=INVALID_PARAMS)
    if params.size is not None:
        _check_size(params.size)


def _check_size(size: ProcessTerminalSize) -> None:
    if not size.rows or not size.cols:
        raise RpcError("process size rows and cols must be greater than 0", code=INVALID_PARAMS)


def _wish(config: "Config", params: ProcessSpawnParams) -> Wish:
    """Null means no bound, where nothing means ours."""
    given = params.model_fields_set
    cap_bytes = params.output_bytes_cap if "output_bytes_cap" in given else DEFAULT_CAP_BYTES
    size = params.size
    terminal = Pty() if size is None else Pty(rows=size.rows, cols=size.cols)
    return Wish(
        argv=tuple(params.command),
        cwd=params.cwd,
        permissions=config.permissions,
        env=params.env or {},
        timeout_ms=params.timeout_ms if "timeout_ms" in given else DEFAULT_TIMEOUT_MS,
        cap_bytes=None if cap_bytes is None else min(cap_bytes, _MOST_BYTES),
        pty=terminal if params.tty else None,
        has_stdin=params.stream_stdin,
        unconfined_because=UNCONFINED,
    )


def _told(handle: str, outcome: Outcome) -> Json:
    return {
        "processHandle": handle,
        "exitCode": outcome.exit_code,
        "stdout": as_text(outcome.stdout, is_cut=outcome.is_cut),
        "stdoutCapReached": STDOUT in outcome.capped,
        "stderr": as_text(outcome.stderr, is_cut=outcome.is_cut),
        "stderrCapReached": STDERR in outcome.capped,
    }


# While it runs


async def write_stdin(caller: Caller, params: ProcessWriteStdinParams) -> Json:
    if params.delta_base64 is None and not params.close_stdin:
        raise RpcError("process/writeStdin requires deltaBase64 or closeStdin", code=INVALID_PARAMS)
    try:
        data = decoded(params.delta_base64 or "")
    except BadBase64 as error:
        raise RpcError(f"invalid deltaBase64: {error}", code=INVALID_PARAMS) from None
    command = await _found(caller, params.process_handle)
    if not (command.wish.has_stdin or command.wish.pty):
        raise RpcError("stdin streaming is not enabled for this process")
    try:
        command.write(data, close=params.close_stdin)
    except NotWritable as error:
        raise RpcError(str(error)) from None
    return {}


async def resize_pty(caller: Caller, params: ProcessResizePtyParams) -> Json:
    _check_size(params.size)
    command = await _found(caller, params.process_handle)
    if command.wish.pty is None:
        raise RpcError("failed to resize PTY: process is not attached to a PTY")
    try:
        await command.resize(params.size.rows, params.size.cols)
    except NoLongerRunning:
        raise RpcError(f"process {_shown(params.process_handle)} is no longer running") from None
    return {}


async def kill(caller: Caller, params: ProcessKillParams) -> Json:
    await (await _found(caller, params.process_handle)).terminate()
    return {}


async def _found(caller: Caller, handle: str) -> OneOff:
    if handle not in _running.get(caller.nursery, {}):
        # Its request may have come just before this one, and have had no turn yet.
        await trio.lowlevel.checkpoint()
    program = _running.get(caller.nursery, {}).get(handle)
    if program is None:
        raise RpcError(f"no active process for process handle {_shown(handle)}")
    return program.command


def _shown(handle: str) -> str:
    return json.dumps(handle, ensure_ascii=False)


METHODS = (
    Method(name=SPAWN, params=ProcessSpawnParams, run=spawn, experimental=True, may_wait=True),
    Method(name="process/writeStdin", params=ProcessWriteStdinParams, run=write_stdin, experimental=True),
    Method(name="process/kill", params=ProcessKillParams, run=kill, experimental=True),
    Method(name="process/resizePty", params=ProcessResizePtyParams, run=resize_pty, experimental=True),
)
