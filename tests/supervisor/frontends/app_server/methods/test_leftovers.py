"""Methods with little behind them, as a client sees them."""

import pytest

from support.app_server import Client, Refused

NOBODY = "00000000-0000-7000-8000-000000000000"
CHUNK = {"data": "", "numChannels": 1, "sampleRate": 1}


@pytest.mark.parametrize(
    ("method", "params", "answer"),
    [
        ("app/list", {}, {"data": [], "nextCursor": None}),
        ("plugin/list", {}, {"marketplaces": [], "remoteSyncError": None}),
        ("externalAgentConfig/detect", {"includeHome": True}, {"items": []}),
        ("externalAgentConfig/import", {"migrationItems": []}, {}),
        ("mock/experimentalMethod", {"value": "x"}, {"echoed": "x"}),
        ("mock/experimentalMethod", {}, {"echoed": None}),
    ],
)
async def test_where_there_is_nothing_that_is_said(
    client: Client, method: str, params: dict[str, object], answer: object
) -> None:
    assert await client.call(method, **params) == answer


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("app/list", {"threadId": NOBODY}, f"thread not found: {NOBODY}"),
        ("plugin/read", {"marketplacePath": "/x", "pluginName": "a"}, "plugin/read is not supported"),
        ("plugin/install", {"marketplacePath": "/x", "pluginName": "a"}, "plugin/install is not supported"),
        ("plugin/uninstall", {"pluginId": "a@b"}, "plugin/uninstall is not supported"),
        (
            "externalAgentConfig/import",
            {"migrationItems": [{"itemType": "CONFIG", "description": "d"}]},
            "externalAgentConfig/import is not supported",
        ),
        ("thread/realtime/stop", {"threadId": NOBODY}, f"thread not found: {NOBODY}"),
    ],
)
async def test_what_is_not_offered_is_refused(
    client: Client, method: str, params: dict[str, object], message: str
) -> None:
    with pytest.raises(Refused) as raised:
        await client.call(method, **params)
    assert raised.value.message.startswith(message)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("start", {"prompt": "p"}),
        ("appendAudio", {"audio": CHUNK}),
        ("appendText", {"text": "t"}),
        ("stop", {}),
    ],
)
async def test_no_thread_can_be_spoken_with(client: Client, method: str, params: dict[str, object]) -> None:
    thread_id = await client.start()
    with pytest.raises(Refused, match=f"thread {thread_id} does not support realtime conversation"):
        await client.call(f"thread/realtime/{method}", threadId=thread_id, **params)


@pytest.mark.parametrize(("mode", "kind"), [("elevated", "elevated"), ("unelevated", "legacy")])
async def test_the_sandbox_of_windows_is_for_windows(client: Client, mode: str, kind: str) -> None:
    assert await client.call("windowsSandbox/setupStart", mode=mode) == {"started": True}
    assert await client.until("windowsSandbox/setupCompleted") == {
        "mode": mode,
        "success": False,
        "error": f"{kind} Windows sandbox setup is only supported on Windows",
    }
