"""What the issuer is asked, and what is made of its answers."""

import base64
import hashlib
import json
from typing import Any
from urllib.parse import parse_qsl

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.grants import LoginFailed, RefreshFailed, new_pkce
from pycodex.supervisor.auth.oauth import ISSUER, Tokens, api_key_for, refreshed_tokens, tokens_for_code
from pycodex.supervisor.auth.web import Send, Unreachable, WebAnswer, WebRequest


def answering(seen: list[WebRequest], status: int, content: Any) -> Send:
    async def send(request: WebRequest) -> WebAnswer:
        seen.append(request)
        return WebAnswer(status, content if isinstance(content, str) else json.dumps(content))

    return send


async def away(request: WebRequest) -> WebAnswer:
    raise Unreachable(f"no way to {request.url}")


def test_a_proof_is_new_each_time_and_can_be_checked() -> None:
    one, other = new_pkce(), new_pkce()
    assert one.verifier != other.verifier
    assert (len(one.verifier), one.verifier in repr(one)) == (86, False)
    digest = hashlib.sha256(one.verifier.encode()).digest()
    assert one.challenge == base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


async def test_a_code_is_exchanged() -> None:
    seen: list[WebRequest] = []
    sent = {"id_token": "i", "access_token": "a", "refresh_token": "r"}
    send = answering(seen, 200, sent)
    tokens = await tokens_for_code(send, "http://i", code="c &", redirect_uri="http://r/", verifier="v")
    assert tokens == Tokens(**sent)
    (request,) = seen
    assert (request.url, request.headers["content-type"]) == (
        "http://i/oauth/token",
        "application/x-www-form-urlencoded",
    )
    assert dict(parse_qsl(request.body.decode())) == {
        "grant_type": "authorization_code",
        "code": "c &",
        "redirect_uri": "http://r/",
        "client_id": "app_EMoamEEZ73f0CkXaXp7hrann",
        "code_verifier": "v",
    }
    assert "c" not in repr(request).replace("oauth/token", "").replace("WebRequest", "").replace("method", "")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"error": "bad", "error_description": "too\n late"}, "too late"),
        ({"error": {"code": "c", "message": "m"}}, "m"),
        ({"error": {"code": "c"}}, "c"),
        ({"error": "bad"}, "bad"),
        ("<html> code-1 v-1", "<html> *** ***"),
        (" ", "unknown error"),
        ({"error_description": 5}, '{"error_description": 5}'),
    ],
)
async def test_a_refusal_is_one_line_without_what_was_sent(body: Any, reason: str) -> None:
    with pytest.raises(LoginFailed) as caught:
        await tokens_for_code(answering([], 403, body), "i", code="code-1", redirect_uri="r", verifier="v-1")
    assert str(caught.value) == f"token endpoint returned status 403 Forbidden: {reason}"


@pytest.mark.parametrize("access", [None, 5, "", " ", "a\r\nb", "ä"])
async def test_what_could_not_be_sent_is_no_token(access: Any) -> None:
    content = {"id_token": "i", "access_token": access, "refresh_token": "r"}
    with pytest.raises(LoginFailed, match="did not send all of"):
        await tokens_for_code(answering([], 200, content), "i", code="c", redirect_uri="r", verifier="v")
    with pytest.raises(RefreshFailed, match="holds no access token"):
        await refreshed_tokens(answering([], 200, content), {}, "rt")


@pytest.mark.parametrize(
    ("send", "key"),
    [
        (answering([], 200, {"access_token": "sk"}), "sk"),
        (answering([], 403, {"access_token": "sk"}), None),
        (answering([], 200, "no JSON"), None),
        (away, None),
    ],
)
async def test_a_key_that_is_not_given_is_done_without(send: Send, key: str | None) -> None:
    assert await api_key_for(send, "i", "id") == key


@pytest.mark.parametrize(
    ("env", "url"), [({}, f"{ISSUER}/oauth/token"), ({"CODEX_REFRESH_TOKEN_URL_OVERRIDE": "http://x/y"}, "http://x/y")]
)
async def test_where_new_tokens_are_asked_for(env: dict[str, str], url: str) -> None:
    seen: list[WebRequest] = []
    assert await refreshed_tokens(answering(seen, 200, {"access_token": "a"}), env, "rt") == Tokens(access_token="a")
    assert [request.url for request in seen] == [url]
    with pytest.raises(UserFacing, match="Failed to refresh token: no way to"):
        await refreshed_tokens(away, env, "rt")
