"""`hooks/list`: programs that run at certain points of a turn. There are none, which is told for each directory."""

import os

from pycodex.protocol.app.hooks import HooksListParams
from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.frontends.app_server.method import Caller, Json, Method


async def list_hooks(caller: Caller, params: HooksListParams) -> Json:
    return {"data": [_entry(caller, cwd) for cwd in params.cwds or [os.getcwd()]]}


def _entry(caller: Caller, cwd: str) -> Json:
    """A configuration that cannot be read might have named some."""
    errors: list[Json] = []
    try:
        caller.server.load_config(cwd=cwd)
    except UserFacing as error:
        errors.append({"path": cwd, "message": str(error)})
    return {"cwd": cwd, "hooks": [], "warnings": [], "errors": errors}


METHODS = (Method(name="hooks/list", params=HooksListParams, run=list_hooks),)
