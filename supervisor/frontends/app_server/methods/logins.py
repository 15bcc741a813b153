"""`account/login/*`: the ways to log in that a client may choose from.

Owns which of them are open, the form of the answers, and what is told to everybody afterwards.
"""

import logging
import uuid
from typing import TYPE_CHECKING

from pycodex.protocol.app.account import (
    ApiKeyLoginAccountParams,
    CancelLoginAccountParams,
    ChatgptAuthTokensLoginAccountParams,
    ChatgptLoginAccountParams,
    LoginAccountParams,
)
from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.login import document_of_key
from pycodex.supervisor.auth.restrictions import CHATGPT_DISABLED, KEY_DISABLED
from pycodex.supervisor.frontends.app_server.connection import Call
from pycodex.supervisor.frontends.app_server.latest_config import latest_config
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, Caller, Json, Method, RpcError
from pycodex.supervisor.frontends.app_server.methods.accounts import account_told, login_now
from pycodex.supervisor.frontends.app_server.methods.calls import call_of, end_of

if TYPE_CHECKING:
    from pycodex.supervisor.auth.chatgpt_login import LoginTerms
    from pycodex.supervisor.config.config import Config

ISSUER_VARIABLE = "CODEX_APP_SERVER_LOGIN_ISSUER"
logger = logging.getLogger("pycodex.app_server")

_EXTERNAL_ACTIVE = (
    "External auth is active. Use account/login/start (chatgptAuthTokens) to update it or account/logout to clear it."
)


async def start(caller: Caller, params: LoginAccountParams) -> Json:
    call, wish = call_of(caller), params.root
    config = latest_config(call.server)
    if isinstance(wish, ChatgptAuthTokensLoginAccountParams):
        return await _with_tokens(call, config, wish)
    if call.server.threads.keeper(call.server.codex_home).external is not None:
        raise RpcError(_EXTERNAL_ACTIVE)
    if isinstance(wish, ApiKeyLoginAccountParams):
        return await _with_key(call, config, wish.api_key)
    if config.forced_login_method == "api":
        raise RpcError(CHATGPT_DISABLED)
    if isinstance(wish, ChatgptLoginAccountParams):
        return await _with_browser(call, _terms(call, config))
    return await _with_device(call, _terms(call, config))


async def _with_key(call: Call, config: "Config", key: str) -> Json:
    if config.forced_login_method == "chatgpt":
        raise RpcError(KEY_DISABLED)
    server = call.server
    await server.logins.end()
    try:
        await server.threads.keeper(server.codex_home).save(config.cli_auth_credentials_store, document_of_key(key))
    except UserFacing as error:
        raise RpcError(f"failed to save api key: {error}", code=INTERNAL_ERROR) from None
    await _tell_after_answer(call)
    return {"type": "apiKey"}


async def _with_browser(call: Call, terms: "LoginTerms") -> Json:
    try:
        login_id, url = await call.server.logins.start_browser(call.nursery, terms, _Completion(call).tell)
    except UserFacing as error:
        raise RpcError(f"failed to start login server: {error}", code=INTERNAL_ERROR) from None
    return {"type": "chatgpt", "loginId": login_id, "authUrl": url}


async def _with_device(call: Call, terms: "LoginTerms") -> Json:
    from pycodex.supervisor.auth.device_login import NoDeviceLogin

    try:
        login_id, code = await call.server.logins.start_device(call.nursery, terms, _Completion(call).tell)
    except NoDeviceLogin as error:
        raise RpcError(str(error)) from None
    except UserFacing as error:
        raise RpcError(f"failed to request device code: {error}", code=INTERNAL_ERROR) from None
    return {
        "type": "chatgptDeviceCode",
        "loginId": login_id,
        "verificationUrl": code.url,
        "userCode": code.user_code,
    }


async def _with_tokens(call: Call, config: "Config", wish: ChatgptAuthTokensLoginAccountParams) -> Json:
    from pycodex.supervisor.auth.chatgpt_login import external_login
    from pycodex.supervisor.frontends.app_server.client_tokens import ClientTokens

    if config.forced_login_method == "api":
        raise RpcError("External ChatGPT auth is disabled. Use API key login instead.")
    server, workspace = call.server, config.forced_chatgpt_workspace_id
    await server.logins.end()
    if workspace is not None and wish.chatgpt_account_id != workspace:
        import json

        received = json.dumps(wish.chatgpt_account_id)
        raise RpcError(f"External auth must use workspace {workspace}, but received {received}.")
    try:
        login = external_login(wish.access_token, wish.chatgpt_account_id, wish.chatgpt_plan_type)
    except UserFacing as error:
        raise RpcError(f"failed to set external auth: {error}", code=INTERNAL_ERROR) from None
    keeper = server.threads.keeper(server.codex_home)
    keeper.external = login
    keeper.ask_client = ClientTokens(server, call.connection, workspace).ask
    await _tell_after_answer(call)
    return {"type": "chatgptAuthTokens"}


def _terms(call: Call, config: "Config") -> "LoginTerms":
    from pycodex.supervisor.auth.chatgpt_login import LoginTerms
    from pycodex.supervisor.auth.oauth import ISSUER

    server, client = call.server, call.connection.client
    assert client is not None, "nobody gets here who has not said hello"
    keeper, store = server.threads.keeper(server.codex_home), config.cli_auth_credentials_store

    async def keep(document: Json) -> None:
        await keeper.save(store, document)

    return LoginTerms(
        send=server.threads.send,
        keep=keep,
        originator=client.identity.originator,
        issuer=server.env.get(ISSUER_VARIABLE, "").strip().rstrip("/") or ISSUER,
        workspace=config.forced_chatgpt_workspace_id,
    )


async def _tell_after_answer(call: Call) -> None:
    server = call.server
    account = account_told(await login_now(server))
    completed = {"loginId": None, "success": True, "error": None}
    call.after_answer(lambda: server.broadcast("account/login/completed", completed))
    call.after_answer(lambda: server.broadcast("account/updated", account))


class _Completion:
    """Tells everybody how a login that took its time has ended, but not before its beginning was answered."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._answered = end_of(call)

    async def tell(self, login_id: str, error: str | None) -> None:
        await self._answered.wait()
        server = self._call.server
        server.broadcast("account/login/completed", {"loginId": login_id, "success": error is None, "error": error})
        if error is None:
            try:
                server.broadcast("account/updated", account_told(await login_now(server)))
            except (RpcError, UserFacing) as failure:
                logger.warning("who is logged in could not be told: %s", failure)


async def cancel(caller: Caller, params: CancelLoginAccountParams) -> Json:
    try:
        login_id = str(uuid.UUID(params.login_id))
    except ValueError:
        raise RpcError(f"invalid login id: {params.login_id}") from None
    return {"status": "canceled" if call_of(caller).server.logins.cancel(login_id) else "notFound"}


def _takes_its_time(params: object) -> bool:
    return isinstance(params, dict) and params.get("type") in ("chatgpt", "chatgptDeviceCode")


METHODS = (
    Method(name="account/login/start", params=LoginAccountParams, run=start, may_wait=_takes_its_time),
    Method(name="account/login/cancel", params=CancelLoginAccountParams, run=cancel),
)
