"""`account/*` and `getAuthStatus`: who pays, and logging in and out.

Owns the form of the answers and of the notifications, and what is not offered: logging in by a browser. The login
itself is in `auth/login`.
"""

import uuid
from functools import partial

import trio

from pycodex.protocol.app.account import (
    ApiKeyLoginAccountParams,
    CancelLoginAccountParams,
    GetAccountParams,
    LoginAccountParams,
)
from pycodex.protocol.app.legacy import GetAuthStatusParams
from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.auth_file import API_KEY
from pycodex.supervisor.auth.login import Login, current_login, log_in_with_key, log_out
from pycodex.supervisor.frontends.app_server.latest_config import latest_config
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, Caller, Json, Method, RpcError, Server

_NO_CHATGPT = "ChatGPT login is not supported; log in with an API key (`type` is `apiKey`)"


async def read(caller: Caller, params: GetAccountParams) -> Json:
    del params
    if not _needs_openai(caller.server):
        return {"account": None, "requiresOpenaiAuth": False}
    login = await _login(caller.server)
    return {"account": None if login is None else _account(login), "requiresOpenaiAuth": True}


def _account(login: Login) -> Json:
    if login.mode == API_KEY:
        return {"type": "apiKey"}
    if login.email is None or login.plan_type is None:
        raise RpcError("email and plan type are required for chatgpt authentication")
    return {"type": "chatgpt", "email": login.email, "planType": login.plan_type}


async def read_status(caller: Caller, params: GetAuthStatusParams) -> Json:
    if not _needs_openai(caller.server):
        return {"authMethod": None, "authToken": None, "requiresOpenaiAuth": False}
    login = await _login(caller.server)
    return {
        "authMethod": None if login is None else login.mode,
        "authToken": login.token if login is not None and params.include_token else None,
        "requiresOpenaiAuth": True,
    }


async def read_rate_limits(caller: Caller, params: None) -> Json:
    del params
    login = await _login(caller.server)
    if login is None:
        raise RpcError("codex account authentication required to read rate limits")
    if login.mode == API_KEY:
        raise RpcError("chatgpt authentication required to read rate limits")
    raise RpcError("reading the rate limits of a ChatGPT login is not supported; turns tell them as they change")


async def start_login(caller: Caller, params: LoginAccountParams) -> Json:
    server, wish = caller.server, params.root
    config = latest_config(server)
    if not isinstance(wish, ApiKeyLoginAccountParams):
        if config.forced_login_method == "api":
            raise RpcError("ChatGPT login is disabled. Use API key login instead.")
        raise RpcError(_NO_CHATGPT)
    if config.forced_login_method == "chatgpt":
        raise RpcError("API key login is disabled. Use ChatGPT login instead.")
    store = config.cli_auth_credentials_store
    try:
        await trio.to_thread.run_sync(partial(log_in_with_key, server.codex_home, wish.api_key, store=store))
    except UserFacing as error:
        raise RpcError(f"failed to save api key: {error}", code=INTERNAL_ERROR) from None
    completed = {"loginId": None, "success": True, "error": None}
    caller.after_answer(partial(server.broadcast, "account/login/completed", completed))
    await _tell_account(caller)
    return {"type": "apiKey"}


async def cancel_login(caller: Caller, params: CancelLoginAccountParams) -> Json:
    del caller
    try:
        uuid.UUID(params.login_id)
    except ValueError:
        raise RpcError(f"invalid login id: {params.login_id}") from None
    # No login takes longer than its request, so there is never one to cancel.
    return {"status": "notFound"}


async def end_login(caller: Caller, params: None) -> Json:
    del params
    try:
        await trio.to_thread.run_sync(log_out, caller.server.codex_home)
    except UserFacing as error:
        raise RpcError(f"logout failed: {error}", code=INTERNAL_ERROR) from None
    await _tell_account(caller)
    return {}


async def _tell_account(caller: Caller) -> None:
    """Everybody, once the answer is on its way."""
    login = await _login(caller.server)
    account = {
        "authMode": None if login is None else login.mode,
        "planType": None if login is None else login.plan_type,
    }
    caller.after_answer(partial(caller.server.broadcast, "account/updated", account))


def _needs_openai(server: Server) -> bool:
    return latest_config(server).provider.requires_openai_auth


async def _login(server: Server) -> Login | None:
    return await trio.to_thread.run_sync(current_login, server.env, server.codex_home)


METHODS = (
    Method(name="account/read", params=GetAccountParams, run=read),
    Method(name="account/login/start", params=LoginAccountParams, run=start_login),
    Method(name="account/login/cancel", params=CancelLoginAccountParams, run=cancel_login),
    Method(name="account/logout", params=None, run=end_login),
    Method(name="account/rateLimits/read", params=None, run=read_rate_limits),
    Method(name="getAuthStatus", params=GetAuthStatusParams, run=read_status),
)
