"""Logging in on another device: the person types a short code there, and we ask until that has happened.

Owns the two steps, the pauses and the limit. What the person is told is for the caller.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import trio

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.chatgpt_login import LoginTerms, check_workspace, document_of_tokens
from pycodex.supervisor.auth.grants import LoginFailed
from pycodex.supervisor.auth.oauth import CLIENT_ID, tokens_for_code
from pycodex.supervisor.auth.web import json_request

LIMIT_S = 15 * 60.0
_LEAST_PAUSE_S = 1.0
_MOST_PAUSE_S = 60.0
_MOST_CODE_CHARACTERS = 64


class NoDeviceLogin(LoginFailed):
    """The issuer does not offer it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCode:
    url: str
    user_code: str
    device_id: str = field(repr=False)
    pause_s: float


async def new_device_code(terms: LoginTerms) -> DeviceCode:
    """Raises NoDeviceLogin, LoginFailed or Unreachable."""
    base = terms.issuer.rstrip("/")
    answer = await terms.send(json_request(f"{base}/api/accounts/deviceauth/usercode", {"client_id": CLIENT_ID}))
    if answer.status == 404:
        raise NoDeviceLogin(
            "device code login is not enabled for this Codex server. Use the browser login or verify the server URL."
        )
    if not answer.is_good:
        raise LoginFailed(f"device code request failed with status {answer.status_text}")
    found = answer.fields
    code, device_id = found.get("user_code", found.get("usercode")), found.get("device_auth_id")
    if not isinstance(device_id, str) or not isinstance(code, str) or not _is_showable(code):
        raise LoginFailed("the issuer sent no device code")
    return DeviceCode(
        url=f"{base}/codex/device", user_code=code, device_id=device_id, pause_s=_pause(found.get("interval"))
    )


async def device_login(terms: LoginTerms, code: DeviceCode) -> None:
    """Until the person has typed the code. Raises LoginFailed or other UserFacing errors."""
    base = terms.issuer.rstrip("/")
    granted: Mapping[str, Any] | None = None
    with trio.move_on_after(LIMIT_S):
        granted = await _granted(terms, base, code)
    if granted is None:
        raise LoginFailed("device auth timed out after 15 minutes")
    secret, verifier = granted.get("authorization_code"), granted.get("code_verifier")
    if not isinstance(secret, str) or not isinstance(verifier, str):
        raise LoginFailed("the issuer sent no authorization code")
    try:
        tokens = await tokens_for_code(
            terms.send, base, code=secret, redirect_uri=f"{base}/deviceauth/callback", verifier=verifier
        )
    except UserFacing as error:
        raise LoginFailed(f"device code exchange failed: {error}") from error
    check_workspace(terms, tokens)
    await terms.keep(document_of_tokens(tokens, None))


async def _granted(terms: LoginTerms, base: str, code: DeviceCode) -> Mapping[str, Any]:
    question = {"device_auth_id": code.device_id, "user_code": code.user_code}
    while True:
        answer = await terms.send(json_request(f"{base}/api/accounts/deviceauth/token", question))
        if answer.is_good:
            return answer.fields
        if answer.status not in (403, 404):
            raise LoginFailed(f"device auth failed with status {answer.status_text}")
        await trio.sleep(code.pause_s)


def _is_showable(code: str) -> bool:
    return 0 < len(code) <= _MOST_CODE_CHARACTERS and code.isascii() and code.isprintable()


def _pause(told: object) -> float:
    """The issuer tells it as text. However short, we do not ask all the time."""
    try:
        seconds = float(told) if isinstance(told, str | int | float) else _LEAST_PAUSE_S
    except ValueError:
        seconds = _LEAST_PAUSE_S
    return min(max(seconds, _LEAST_PAUSE_S), _MOST_PAUSE_S)
