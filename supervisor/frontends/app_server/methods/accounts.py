"""`account/read`, `account/logout`, `account/rateLimits/read` and `getAuthStatus`: who pays, and what is left.

Owns the form of the answers. The login itself is in `auth`; how one comes about: `logins` beside this.
"""

import logging

from pycodex.protocol.app.account import GetAccountParams
from pycodex.protocol.app.legacy import GetAuthStatusParams
from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.auth_file import API_KEY
from pycodex.supervisor.auth.login import Login, login_of
from pycodex.supervisor.frontends.app_server.latest_config import latest_config
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, Caller, Json, Method, RpcError, Server
from pycodex.supervisor.frontends.app_server.methods.calls import call_of

logger = logging.getLogger("pycodex.app_server")


async def read(caller: Caller, params: GetAccountParams) -> Json:
    await _refresh(caller.server, wanted=params.refresh_token)
    if not _needs_openai(caller.server):
        return {"account": None, "requiresOpenaiAuth": False}
    login = await login_now(caller.server)
    return {"account": None if login is None else _account(login), "requiresOpenaiAuth": True}


def _account(login: Login) -> Json:
    if login.mode == API_KEY:
        return {"type": "apiKey"}
    if login.email is None or login.plan_type is None:
        raise RpcError("email and plan type are required for chatgpt authentication")
    return {"type": "chatgpt", "email": login.email, "planType": login.plan_type}


async def read_status(caller: Caller, params: GetAuthStatusParams) -> Json:
    await _refresh(caller.server, wanted=params.refresh_token is True)
    if not _needs_openai(caller.server):
        return {"authMethod": None, "authToken": None, "requiresOpenaiAuth": False}
    login = await login_now(caller.server)
    return {
        "authMethod": None if login is None else login.mode,
        "authToken": login.token if login is not None and params.include_token else None,
        "requiresOpenaiAuth": True,
    }


async def _refresh(server: Server, *, wanted: bool) -> None:
    """New tokens for a client that wants some. Who is logged in is told either way."""
    if not wanted:
        return
    try:
        await server.threads.keeper(server.codex_home).refresh(latest_config(server).cli_auth_credentials_store)
    except UserFacing as error:
        logger.warning("the tokens could not be renewed for a client: %s", error)


async def read_rate_limits(caller: Caller, params: None) -> Json:
    del params
    from pycodex.supervisor.auth.credentials import Credentials
    from pycodex.supervisor.frontends.app_server.rate_limits import told_rate_limits
    from pycodex.supervisor.model.account_usage import LimitsUnread, limits_in, usage_request

    server = caller.server
    config = latest_config(server)
    keeper = server.threads.keeper(server.codex_home)
    credentials = Credentials(server.env, keeper, store=config.cli_auth_credentials_store)
    token = await credentials.openai_token()
    if token is None:
        raise RpcError("codex account authentication required to read rate limits")
    if not token.is_chatgpt:
        raise RpcError("chatgpt authentication required to read rate limits")
    request = usage_request(config.chatgpt_base_url, token)
    try:
        answer = await server.threads.send(request)
        newer = await credentials.after_refusal(token) if answer.status == 401 else None
        if newer is not None:
            answer = await server.threads.send(usage_request(config.chatgpt_base_url, newer))
        limits = [told_rate_limits(each) for each in limits_in(answer, request.url)]
    except (LimitsUnread, UserFacing) as error:
        raise RpcError(f"failed to fetch codex rate limits: {error}", code=INTERNAL_ERROR) from None
    return {"rateLimits": limits[0], "rateLimitsByLimitId": {each["limitId"]: each for each in limits}}


async def end_login(caller: Caller, params: None) -> Json:
    del params
    call = call_of(caller)
    server = call.server
    await server.logins.end()
    try:
        await server.threads.keeper(server.codex_home).remove(latest_config(server).cli_auth_credentials_store)
    except UserFacing as error:
        raise RpcError(f"logout failed: {error}", code=INTERNAL_ERROR) from None
    account = account_told(await login_now(server))
    call.after_answer(lambda: server.broadcast("account/updated", account))
    return {}


def account_told(login: Login | None) -> Json:
    """For `account/updated`."""
    return {
        "authMode": None if login is None else login.mode,
        "planType": None if login is None else login.plan_type,
    }


def _needs_openai(server: Server) -> bool:
    return latest_config(server).provider.requires_openai_auth


async def login_now(server: Server) -> Login | None:
    store = latest_config(server).cli_auth_credentials_store
    return login_of(server.env, await server.threads.keeper(server.codex_home).stored(store))


def _wants_new_tokens(params: object) -> bool:
    return isinstance(params, dict) and bool(params.get("refreshToken"))


METHODS = (
    Method(name="account/read", params=GetAccountParams, run=read, may_wait=_wants_new_tokens),
    Method(name="account/logout", params=None, run=end_login),
    Method(name="account/rateLimits/read", params=None, run=read_rate_limits, may_wait=True),
    Method(name="getAuthStatus", params=GetAuthStatusParams, run=read_status, may_wait=_wants_new_tokens),
)
