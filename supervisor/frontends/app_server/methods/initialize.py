"""The first request of a connection."""

import os

from pycodex.protocol.app.initialize import InitializeParams
from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.frontends.app_server.connection import Call, Client
from pycodex.supervisor.frontends.app_server.method import Caller, Json, Method, RpcError
from pycodex.supervisor.frontends.app_server.methods.calls import call_of
from pycodex.supervisor.model.headers import identity_of


async def initialize(caller: Caller, params: InitializeParams) -> Json:
    call = call_of(caller)
    if call.connection.client is not None:
        raise RpcError("Already initialized")
    info = params.client_info
    if not all(" " <= letter <= "~" or letter == "\t" for letter in info.name):
        raise RpcError(f"Invalid clientInfo.name: '{info.name}'. Must be a valid HTTP header value.")
    notes, beta_features = _configuration(call)
    identity = identity_of(
        call.server.env, originator=info.name, client=f"{info.name}; {info.version}", beta_features=beta_features
    )
    wishes = params.capabilities
    call.connection.client = Client(
        identity=identity,
        is_experimental=wishes is not None and wishes.experimental_api,
        opted_out=frozenset((wishes.opt_out_notification_methods if wishes is not None else None) or ()),
    )
    call.after_answer(lambda: _warn(call, notes))
    return {
        "userAgent": identity.user_agent,
        "codexHome": call.server.codex_home,
        "platformFamily": "unix" if os.name == "posix" else "windows",
        "platformOs": _system(),
    }


def _configuration(call: Call) -> tuple[list[Json], tuple[str, ...]]:
    """What is wrong with it, and which unfinished features it switches on. It need not be right yet."""
    from pycodex.supervisor.config import features

    try:
        config = call.server.load_config()
    except UserFacing as error:
        return [{"summary": "Invalid configuration; using defaults.", "details": str(error)}], ()
    notes = [{"summary": line, "details": None} for line in (*config.warnings, *config.unknown_keys)]
    return notes, tuple(features.experimental(config.features))


def _warn(call: Call, notes: list[Json]) -> None:
    for note in notes:
        call.notify("configWarning", note)


def _system() -> str:
    import sys

    return {"darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform)


METHODS = (Method(name="initialize", params=InitializeParams, run=initialize),)
