"""Who is logged in and what is left, as a client sees it."""

import json

import pytest

from pycodex.supervisor.model.scripted import refuse
from support.app_server import Client, Refused, Scratch, exactly, open_app_server
from support.engine import Place
from support.issuer import EMAIL, Issuer, store, stored_login

CHATGPT = {"account": {"type": "chatgpt", "email": EMAIL, "planType": "plus"}, "requiresOpenaiAuth": True}


async def test_a_provider_of_its_own_needs_no_account(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        await client.call("account/login/start", type="apiKey", apiKey="sk-1")
        assert await client.call("account/read") == {"account": None, "requiresOpenaiAuth": False}
        status = {"authMethod": None, "authToken": None, "requiresOpenaiAuth": False}
        assert await client.call("getAuthStatus", includeToken=True) == status


async def test_without_a_login_there_are_no_rate_limits(client: Client) -> None:
    with pytest.raises(Refused, match=exactly("codex account authentication required to read rate limits")):
        await client.call("account/rateLimits/read")


async def test_a_key_has_no_rate_limits(client: Client) -> None:
    await client.call("account/login/start", type="apiKey", apiKey="sk-1")
    with pytest.raises(Refused, match=exactly("chatgpt authentication required to read rate limits")):
        await client.call("account/rateLimits/read")


async def test_a_broken_auth_file_is_told(client: Client, place: Place) -> None:
    (place.home / "auth.json").write_text("{")
    with pytest.raises(Refused, match="not valid JSON"):
        await client.call("account/read")


async def test_who_is_logged_in_with_chatgpt(issued: Scratch, issuer: Issuer, place: Place) -> None:
    client = await issued.connect().hello()
    store(place.home, stored_login())
    assert await client.call("account/read") == CHATGPT
    status = {"authMethod": "chatgpt", "authToken": "at-0-secret", "requiresOpenaiAuth": True}
    assert await client.call("getAuthStatus", includeToken=True) == status
    assert issuer.server.requests == []
    assert await client.call("account/logout") == {}
    assert await client.until("account/updated") == {"authMode": None, "planType": None}
    assert await client.call("account/read") == {"account": None, "requiresOpenaiAuth": True}


@pytest.mark.parametrize("method", ["account/read", "getAuthStatus"])
async def test_new_tokens_on_demand(issued: Scratch, issuer: Issuer, place: Place, method: str) -> None:
    client = await issued.connect().hello()
    path = store(place.home, stored_login())
    await client.call(method, refreshToken=True)
    assert issuer.renewals == 1
    assert json.loads(path.read_text())["tokens"]["access_token"] == "at-1-secret"


async def test_an_issuer_that_gives_none_is_no_obstacle(issued: Scratch, issuer: Issuer, place: Place) -> None:
    client = await issued.connect().hello()
    store(place.home, stored_login(refresh="rt-used-secret"))
    assert await client.call("account/read", refreshToken=True) == CHATGPT
    assert len(issuer.server.requests) == 1


async def test_rate_limits_of_a_chatgpt_login(issued: Scratch, issuer: Issuer, place: Place) -> None:
    client = await issued.connect().hello()
    # Refused at first: then they are asked for again with new tokens.
    store(place.home, stored_login(access="at-expired-secret"))
    limits = await client.call("account/rateLimits/read")
    first = {
        "limitId": "codex",
        "limitName": None,
        "primary": {"usedPercent": 42, "windowDurationMins": 6, "resetsAt": 123},
        "secondary": None,
        "credits": {"hasCredits": True, "unlimited": False, "balance": "5"},
        "planType": "plus",
    }
    other = {
        **first,
        "limitId": "codex_other",
        "limitName": "Other",
        "primary": None,
        "secondary": {"usedPercent": 7, "windowDurationMins": 60, "resetsAt": 456},
        "credits": None,
    }
    assert limits == {"rateLimits": first, "rateLimitsByLimitId": {"codex": first, "codex_other": other}}
    assert [request.method for request in issuer.asked("/backend-api/wham/usage")] == ["GET", "GET"]


async def test_rate_limits_that_cannot_be_had(issued: Scratch, issuer: Issuer, place: Place) -> None:
    client = await issued.connect().hello()
    store(place.home, stored_login())
    issuer.instead["/backend-api/wham/usage"] = lambda _: refuse(500, "at-0-secret")
    with pytest.raises(Refused) as raised:
        await client.call("account/rateLimits/read")
    url = f"{issuer.url}/backend-api/wham/usage"
    assert raised.value.message == (f"failed to fetch codex rate limits: GET {url} failed: 500 Internal Server Error")
