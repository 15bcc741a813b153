"""`config/*` and `configRequirements/read`: the configuration, as it is and as it shall be.

Owns the form of the answers and of the errors. What the layers say is known to `config/stack` and `config/shown`, what
a change means to `config/values`.
"""

import os
from functools import partial
from typing import Any

import trio

from pycodex.protocol.app.config import ConfigBatchWriteParams, ConfigReadParams, ConfigValueWriteParams
from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config import requirements, stack
from pycodex.supervisor.config.early import BadConfig
from pycodex.supervisor.config.kinds import first_mismatch
from pycodex.supervisor.config.requirements import Allowed, Requirements
from pycodex.supervisor.config.schema import ROOT
from pycodex.supervisor.config.shown import shown
from pycodex.supervisor.config.stack import Level
from pycodex.supervisor.config.values import Change, ConfigFile, Overridden, WriteRefused, Written
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, Caller, Json, Method, RpcError, Server

_SHOWN_MODES = ("read-only", "workspace-write", "danger-full-access")


async def read(caller: Caller, params: ConfigReadParams) -> Json:
    try:
        levels = await trio.to_thread.run_sync(partial(_levels, caller.server, params.cwd))
    except UserFacing as error:
        raise RpcError(f"failed to read configuration layers: {error}", code=INTERNAL_ERROR) from None
    values = stack.merged(levels)
    found = first_mismatch(ROOT, values)
    if found is not None:
        wrong = BadConfig(found.message, place=".".join(found.place))
        raise RpcError(f"invalid configuration: {wrong}", code=INTERNAL_ERROR)
    origins = {key: _metadata(level) for key, level in stack.origins(levels).items()}
    answer: Json = {"config": shown(values), "origins": origins}
    if params.include_layers:
        answer["layers"] = [_layer(level) for level in reversed(levels)]
    return answer


def _levels(server: Server, cwd: str | None) -> list[Level]:
    here = os.getcwd()
    if cwd is None:
        return stack.base_stack(env=server.env, overrides=server.overrides, cwd=here)
    directory = os.path.realpath(os.path.join(here, cwd))
    # Mistakes that only show when all is put together are told here as well.
    server.load_config(cwd=directory)
    return stack.full_stack(env=server.env, overrides=server.overrides, cwd=directory)


def _metadata(level: Level) -> Json:
    return {"name": level.source, "version": level.version}


def _layer(level: Level) -> Json:
    layer = {**_metadata(level), "config": stack.plain(level.values)}
    return layer if level.disabled_reason is None else {**layer, "disabledReason": level.disabled_reason}


async def write_value(caller: Caller, params: ConfigValueWriteParams) -> Json:
    change = Change(params.key_path, params.value, params.merge_strategy)
    return await _written(caller.server, [change], params)


async def write_batch(caller: Caller, params: ConfigBatchWriteParams) -> Json:
    changes = [Change(edit.key_path, edit.value, edit.merge_strategy) for edit in params.edits]
    return await _written(caller.server, changes, params)


async def _written(
    server: Server, changes: list[Change], params: ConfigValueWriteParams | ConfigBatchWriteParams
) -> Json:
    file = ConfigFile(env=server.env, overrides=server.overrides, cwd=os.getcwd())
    write = partial(file.write, changes, file_path=params.file_path, expected_version=params.expected_version)
    try:
        written: Written = await trio.to_thread.run_sync(write)
    except WriteRefused as error:
        raise RpcError(error.message, data={"config_write_error_code": error.code}) from None
    except UserFacing as error:
        raise RpcError(f"failed to persist config.toml: {error}", code=INTERNAL_ERROR) from None
    return {
        "status": "ok" if written.overridden is None else "okOverridden",
        "version": written.version,
        "filePath": written.path,
        "overriddenMetadata": None if written.overridden is None else _overridden(written.overridden),
    }


def _overridden(overridden: Overridden) -> Json:
    return {
        "message": overridden.message,
        "overridingLayer": _metadata(overridden.level),
        "effectiveValue": overridden.effective_value,
    }


async def read_requirements(caller: Caller, params: None) -> Json:
    del params
    try:
        demanded = await trio.to_thread.run_sync(requirements.demanded_here, caller.server.env)
    except UserFacing as error:
        raise RpcError(f"failed to read configuration layers: {error}", code=INTERNAL_ERROR) from None
    return {"requirements": None if demanded == Requirements(source=demanded.source) else _told(demanded)}


def _told(demanded: Requirements) -> Json:
    modes = _values(demanded.sandbox_modes)
    searches = _values(demanded.web_search_modes)
    if searches is not None and "disabled" not in searches:
        # To do without is always allowed.
        searches = [*searches, "disabled"]
    return {
        "allowedApprovalPolicies": _values(demanded.approval_policies),
        "allowedSandboxModes": None if modes is None else [mode for mode in modes if mode in _SHOWN_MODES],
        "allowedWebSearchModes": searches,
        "featureRequirements": dict(demanded.features) or None,
        "enforceResidency": None,
        "network": None,
    }


def _values(allowed: Allowed | None) -> list[Any] | None:
    return None if allowed is None else list(allowed.values)


METHODS = (
    Method(name="config/read", params=ConfigReadParams, run=read),
    Method(name="config/value/write", params=ConfigValueWriteParams, run=write_value),
    Method(name="config/batchWrite", params=ConfigBatchWriteParams, run=write_batch),
    Method(name="configRequirements/read", params=None, run=read_requirements),
)
