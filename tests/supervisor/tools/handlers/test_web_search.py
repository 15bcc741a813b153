"""What the provider is told of searching the web."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.items import CUSTOM_TOOL_CALL, FUNCTION_CALL
from pycodex.supervisor.tools.handlers.web_search import WebSearch
from pycodex.supervisor.tools.tool import ToolCall, ToolScope
from support.tool_calls import make_turn

TURN = make_turn()


@pytest.mark.parametrize(
    ("mode", "options", "rest"),
    [
        ("cached", {}, {"external_web_access": False}),
        ("live", {}, {"external_web_access": True}),
        (
            "cached",
            {
                "location": {"city": "X", "country": "DE", "street": "unknown"},
                "context_size": "high",
                "allowed_domains": ["a.org", "b.org"],
                "unknown": 1,
            },
            {
                "external_web_access": False,
                "filters": {"allowed_domains": ["a.org", "b.org"]},
                "user_location": {"type": "approximate", "country": "DE", "city": "X"},
                "search_context_size": "high",
            },
        ),
        (
            "live",
            {"allowed_domains": [], "location": {}},
            {
                "external_web_access": True,
                "filters": {"allowed_domains": []},
                "user_location": {"type": "approximate"},
            },
        ),
    ],
)
def test_entry_in_the_request(mode: str, options: Mapping[str, Any], rest: Mapping[str, Any]) -> None:
    spec = WebSearch(mode, options).spec(TURN)
    assert spec == {"type": "web_search", **rest}
    assert list(spec) == ["type", *rest]


def test_places_come_in_their_order() -> None:
    given = {"timezone": "t", "city": "c", "region": "r", "country": "DE"}
    spec = WebSearch("cached", {"location": given}).spec(TURN)
    assert list(spec["user_location"]) == ["type", "country", "region", "city", "timezone"]


def test_model_that_takes_pictures_from_a_search() -> None:
    turn = make_turn(model_info=replace(TURN.model_info, searches_images=True))
    assert WebSearch("cached", {}).spec(turn)["search_content_types"] == ["text", "image"]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (FUNCTION_CALL, "unsupported call: web_search"),
        (CUSTOM_TOOL_CALL, "unsupported custom tool call: web_search"),
    ],
)
async def test_we_do_not_search(kind: str, text: str) -> None:
    tool = WebSearch("live", {})
    assert kind in tool.kinds
    with pytest.raises(ModelFacing) as raised:
        await tool.run(ToolCall(kind, "c", "web_search", "{}"), cast(ToolScope, None))
    assert str(raised.value) == text
