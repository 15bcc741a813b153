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
    ProcessWriteStdinParams,
)
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.frames import STDERR, STDOUT, BadFrame
from pycodex.supervisor.commands.one_off import NO_EXIT_CODE, OneOff, Outcome, Wish
from pycodex.supervisor.commands.workplace import Workplace
from pycodex.supervisor.frontends.app_server import client_commands
from pycodex.supervisor.frontends.app_server.client_commands import (
    DEFAULT_CAP_BYTES,
    DEFAULT_TIMEOUT_MS,
    MAX_COMMANDS,
    MOST_CAP_BYTES,
    check_size,
    input_in,
    teller,
    terminal,
)
from pycodex.supervisor.frontends.app_server.latest_config import latest_config
from pycodex.supervisor.frontends.app_server.method import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    Caller,
    Json,
    Method,
    RpcError,
)
from pycodex.supervisor.frontends.app_server.unconfined import check_unconfined
from pycodex.supervisor.text.charset import as_text

if TYPE_CHECKING:
    from pycodex.supervisor.config.config import Config

SPAWN = "process/spawn"
UNCONFINED = "started by a client"
PROCESS = "process"
"""What one is called in errors."""

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
        check_size(params.size, PROCESS)


def _wish(config: "Config", params: ProcessSpawnParams) -> Wish:
    """Null means no bound, where nothing means ours."""
    given = params.model_fields_set
    cap_bytes = params.output_bytes_cap if "output_bytes_cap" in given else DEFAULT_CAP_BYTES
    return Wish(
        argv=tuple(params.command),
        cwd=params.cwd,
        permissions=config.permissions,
        env=params.env or {},
        timeout_ms=params.timeout_ms if "timeout_ms" in given else DEFAULT_TIMEOUT_MS,
        cap_bytes=None if cap_bytes is None else min(cap_bytes, MOST_CAP_BYTES),
        pty=terminal(params.size) if params.tty else None,
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
    data = input_in(params, "process/writeStdin")
    command = await _found(caller, params.process_handle)
    client_commands.write(command, data, close=params.close_stdin, what=PROCESS)
    return {}


async def resize_pty(caller: Caller, params: ProcessResizePtyParams) -> Json:
    check_size(params.size, PROCESS)
    command = await _found(caller, params.process_handle)
    await client_commands.resize(command, params.size, f"{PROCESS} {_shown(params.process_handle)}")
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
