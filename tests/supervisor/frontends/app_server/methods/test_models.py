"""`model/list` and `collaborationMode/list` as a client sees them."""

import pytest

from pycodex.protocol.app import catalogue
from support.app_server import Client, Refused


async def test_models_come_in_pages(client: Client) -> None:
    everything = await client.call("model/list", includeHidden=True)
    catalogue.ModelListResponse.model_validate(everything)
    shown = (await client.call("model/list"))["data"]
    assert shown == [model for model in everything["data"] if not model["hidden"]]
    first = await client.call("model/list", limit=1)
    assert first == {"data": shown[:1], "nextCursor": "1"}
    assert (await client.call("model/list", cursor="1"))["data"] == shown[1:]
    assert [model["model"] for model in shown if model["isDefault"]] == ["gpt-5.3-codex"]
    assert [model["model"] for model in shown if model["supportsPersonality"]] == [
        "gpt-5.3-codex",
        "gpt-5.4",
        "gpt-5.2-codex",
    ]


async def test_a_wrong_cursor_is_told(client: Client) -> None:
    with pytest.raises(Refused, match="invalid cursor: x"):
        await client.call("model/list", cursor="x")
    with pytest.raises(Refused, match="cursor 99 exceeds total models 6"):
        await client.call("model/list", cursor="99")


async def test_there_are_two_modes(client: Client) -> None:
    answer = await client.call("collaborationMode/list")
    catalogue.CollaborationModeListResponse.model_validate(answer)
    assert [(mode["name"], mode["reasoning_effort"]) for mode in answer["data"]] == [
        ("Plan", "medium"),
        ("Default", None),
    ]
