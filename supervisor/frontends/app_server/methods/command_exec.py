"""`command/exec` and what belongs to it: a command of the client, outside of any thread.

Owns the checks of a wish, which command of a connection is meant by a process id, and the notifications. Running it,
confined as the configuration or the wish says, is up to `commands/one_off`; it does not outlive its connection.
"""

import json
import os
from collections.abc import Mapping
from weakref import WeakKeyDictionary

import trio

from pycodex.protocol.app.command_exec import (
    CommandExecParams,
    CommandExecResizeParams,
    CommandExecTerminateParams,
    CommandExecWriteParams,
)
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.frames import BadFrame
from pycodex.protocol.permissions import Permissions
from pycodex.supervisor.commands.one_off import NotStarted, OneOff, Outcome, Wish
from pycodex.supervisor.commands.workplace import Workplace
from pycodex.supervisor.config.config import Config
from pycodex.supervisor.config.requirements import demanded_here, mode_refusal
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
from pycodex.supervisor.frontends.app_server.sandbox_policies import permissions_of
from pycodex.supervisor.text.charset import as_text

NAME = "command/exec"

_running: WeakKeyDictionary[trio.Nursery, dict[str, OneOff]] = WeakKeyDictionary()
"""By the nursery of the connection, of which every connection has one."""


async def run(caller: Caller, params: CommandExecParams) -> Json:
    _check(params)
    config = latest_config(caller.server)
    permissions = _permissions(config, params, caller.server.env)
    is_streamed = params.tty or params.stream_stdout_stderr
    tell = teller(caller, "command/exec/outputDelta", {"processId": params.process_id}) if is_streamed else None
    command = OneOff(_wish(config, params, permissions), tell)
    commands = _running.setdefault(caller.nursery, {})
    # Without an id of the client's nobody can ask for it, but it counts.
    key = _key(params.process_id) if params.process_id is not None else f"{id(command)}"
    if key in commands:
        raise RpcError(f"duplicate active command/exec process id: {key}")
    if len(commands) >= MAX_COMMANDS:
        raise RpcError(f"{MAX_COMMANDS} command/exec processes of this connection are running; end one of them first")
    commands[key] = command
    workplace = Workplace(config=config, env=caller.server.env, pool=caller.server.pool)
    try:
        outcome = await command.run(workplace)
    except NotStarted as error:
        raise RpcError(f"failed to spawn command: {error}", code=INTERNAL_ERROR) from None
    except (ModelFacing, BadFrame) as error:
        raise RpcError(f"exec failed: {error}", code=INTERNAL_ERROR) from None
    finally:
        del commands[key]
    return _told(outcome)


def _check(params: CommandExecParams) -> None:
    if not params.command:
        raise RpcError("command must not be empty")
    if params.size is not None and not params.tty:
        raise RpcError("command/exec size requires tty: true", code=INVALID_PARAMS)
    for one, given, other, switch in (
        ("outputBytesCap", params.output_bytes_cap, "disableOutputCap", params.disable_output_cap),
        ("timeoutMs", params.timeout_ms, "disableTimeout", params.disable_timeout),
    ):
        if given is not None and switch:
            raise RpcError(f"command/exec cannot set both {one} and {other}", code=INVALID_PARAMS)
    if params.timeout_ms is not None and params.timeout_ms < 0:
        text = f"command/exec timeoutMs must be non-negative, got {params.timeout_ms}"
        raise RpcError(text, code=INVALID_PARAMS)
    if params.size is not None:
        check_size(params.size, NAME)
    if params.process_id is None and (params.tty or params.stream_stdin or params.stream_stdout_stderr):
        raise RpcError("command/exec tty or streaming requires a client-supplied processId")


def _permissions(config: Config, params: CommandExecParams, env: Mapping[str, str]) -> Permissions:
    """What was asked for, as far as an administrator lets it; else what is configured."""
    if params.sandbox_policy is None:
        return config.permissions
    asked = permissions_of(params.sandbox_policy.to_json())
    refusal = mode_refusal(asked.mode, demanded_here(env).sandbox_modes)
    if refusal is not None:
        raise RpcError(f"invalid sandbox policy: {refusal}")
    return asked


def _wish(config: Config, params: CommandExecParams, permissions: Permissions) -> Wish:
    timeout_ms = DEFAULT_TIMEOUT_MS if params.timeout_ms is None else params.timeout_ms
    cap_bytes = DEFAULT_CAP_BYTES if params.output_bytes_cap is None else params.output_bytes_cap
    return Wish(
        argv=tuple(params.command),
        cwd=os.path.join(config.cwd, params.cwd or ""),
        permissions=permissions,
        env=params.env or {},
        timeout_ms=None if params.disable_timeout else timeout_ms,
        cap_bytes=None if params.disable_output_cap else min(cap_bytes, MOST_CAP_BYTES),
        pty=terminal(params.size) if params.tty else None,
        has_stdin=params.stream_stdin,
    )


def _told(outcome: Outcome) -> Json:
    return {
        "exitCode": outcome.exit_code,
        "stdout": as_text(outcome.stdout, is_cut=outcome.is_cut),
        "stderr": as_text(outcome.stderr, is_cut=outcome.is_cut),
    }


# While it runs


async def write(caller: Caller, params: CommandExecWriteParams) -> Json:
    data = input_in(params, "command/exec/write")
    command = await _found(caller, params.process_id)
    client_commands.write(command, data, close=params.close_stdin, what=NAME)
    return {}


async def resize(caller: Caller, params: CommandExecResizeParams) -> Json:
    check_size(params.size, NAME)
    command = await _found(caller, params.process_id)
    await client_commands.resize(command, params.size, f"{NAME} {_key(params.process_id)}")
    return {}


async def terminate(caller: Caller, params: CommandExecTerminateParams) -> Json:
    await (await _found(caller, params.process_id)).terminate()
    return {}


async def _found(caller: Caller, process_id: str) -> OneOff:
    key = _key(process_id)
    if key not in _running.get(caller.nursery, {}):
        # Its request may have come just before this one, and have had no turn yet.
        await trio.lowlevel.checkpoint()
    command = _running.get(caller.nursery, {}).get(key)
    if command is None:
        raise RpcError(f"no active command/exec for process id {key}")
    return command


def _key(process_id: str) -> str:
    """As errors name it."""
    return json.dumps(process_id, ensure_ascii=False)


METHODS = (
    Method(name=NAME, params=CommandExecParams, run=run, may_wait=True),
    Method(name="command/exec/write", params=CommandExecWriteParams, run=write),
    Method(name="command/exec/terminate", params=CommandExecTerminateParams, run=terminate),
    Method(name="command/exec/resize", params=CommandExecResizeParams, run=resize),
)
