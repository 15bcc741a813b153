"""Methods that clients may call and that there is little behind: apps, plugins, other agents, Windows, voice.

Owns what is said instead: nothing where there is nothing, and plainly that something is not offered where it is not.
"""

from collections.abc import Awaitable, Callable
from functools import partial

from pycodex.protocol.app.apps import AppsListParams
from pycodex.protocol.app.catalogue import MockExperimentalMethodParams
from pycodex.protocol.app.host import (
    ExternalAgentConfigDetectParams,
    ExternalAgentConfigImportParams,
    WindowsSandboxSetupStartParams,
)
from pycodex.protocol.app.plugins import PluginInstallParams, PluginListParams, PluginReadParams, PluginUninstallParams
from pycodex.protocol.app.realtime import (
    ThreadRealtimeAppendAudioParams,
    ThreadRealtimeAppendTextParams,
    ThreadRealtimeStartParams,
    ThreadRealtimeStopParams,
)
from pycodex.supervisor.frontends.app_server.method import Caller, Json, Method, RpcError
from pycodex.supervisor.frontends.app_server.methods.calls import call_of, loaded

_WINDOWS_SANDBOXES = {"elevated": "elevated", "unelevated": "legacy"}

RealtimeParams = (
    ThreadRealtimeStartParams
    | ThreadRealtimeAppendAudioParams
    | ThreadRealtimeAppendTextParams
    | ThreadRealtimeStopParams
)


async def list_apps(caller: Caller, params: AppsListParams) -> Json:
    if params.thread_id is not None:
        loaded(call_of(caller), params.thread_id)
    return {"data": [], "nextCursor": None}


async def list_plugins(caller: Caller, params: PluginListParams) -> Json:
    del caller, params
    return {"marketplaces": [], "remoteSyncError": None}


def _no_plugins(what: str) -> Callable[[Caller, object], Awaitable[Json]]:
    async def refuse(caller: Caller, params: object) -> Json:
        del caller, params
        raise RpcError(f"{what} is not supported: there are no plugins here")

    return refuse


async def detect_agents(caller: Caller, params: ExternalAgentConfigDetectParams) -> Json:
    del caller, params
    return {"items": []}


async def import_agents(caller: Caller, params: ExternalAgentConfigImportParams) -> Json:
    del caller
    if params.migration_items:
        raise RpcError("externalAgentConfig/import is not supported: nothing that was detected could be imported")
    return {}


async def set_up_windows_sandbox(caller: Caller, params: WindowsSandboxSetupStartParams) -> Json:
    kind = _WINDOWS_SANDBOXES[params.mode]
    completed = {
        "mode": params.mode,
        "success": False,
        "error": f"{kind} Windows sandbox setup is only supported on Windows",
    }
    caller.after_answer(partial(caller.notify, "windowsSandbox/setupCompleted", completed))
    return {"started": True}


async def refuse_realtime(caller: Caller, params: RealtimeParams) -> Json:
    loaded(call_of(caller), params.thread_id)
    raise RpcError(f"thread {params.thread_id} does not support realtime conversation")


async def echo(caller: Caller, params: MockExperimentalMethodParams) -> Json:
    del caller
    return {"echoed": params.value}


METHODS = (
    Method(name="app/list", params=AppsListParams, run=list_apps),
    Method(name="plugin/list", params=PluginListParams, run=list_plugins),
    Method(name="plugin/read", params=PluginReadParams, run=_no_plugins("plugin/read")),
    Method(name="plugin/install", params=PluginInstallParams, run=_no_plugins("plugin/install")),
    Method(name="plugin/uninstall", params=PluginUninstallParams, run=_no_plugins("plugin/uninstall")),
    Method(name="externalAgentConfig/detect", params=ExternalAgentConfigDetectParams, run=detect_agents),
    Method(name="externalAgentConfig/import", params=ExternalAgentConfigImportParams, run=import_agents),
    Method(name="windowsSandbox/setupStart", params=WindowsSandboxSetupStartParams, run=set_up_windows_sandbox),
    Method(name="thread/realtime/start", params=ThreadRealtimeStartParams, run=refuse_realtime, experimental=True),
    Method(
        name="thread/realtime/appendAudio",
        params=ThreadRealtimeAppendAudioParams,
        run=refuse_realtime,
        experimental=True,
    ),
    Method(
        name="thread/realtime/appendText",
        params=ThreadRealtimeAppendTextParams,
        run=refuse_realtime,
        experimental=True,
    ),
    Method(name="thread/realtime/stop", params=ThreadRealtimeStopParams, run=refuse_realtime, experimental=True),
    Method(name="mock/experimentalMethod", params=MockExperimentalMethodParams, run=echo, experimental=True),
)
