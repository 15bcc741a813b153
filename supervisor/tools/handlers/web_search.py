"""web_search: a tool that the provider runs itself. We only say that it may, and how.

Owns its entry in the request. A search comes back as an item that tells what was looked for; nothing is to be answered.
"""

from collections.abc import Mapping
from typing import Any

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.items import CUSTOM_TOOL_CALL, FUNCTION_CALL
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.tools.router import unsupported
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec

NAME = "web_search"
DISABLED = "disabled"
LIVE = "live"

_PLACES = ("country", "region", "city", "timezone")


class WebSearch:
    """`options` is the table `[tools.web_search]`."""

    name = NAME
    parallel = False
    # In these a model may ask us for a search, although it is not we who search.
    kinds = (FUNCTION_CALL, CUSTOM_TOOL_CALL)

    def __init__(self, mode: str, options: Mapping[str, Any]) -> None:
        self._mode = mode
        self._options = options

    def spec(self, turn: TurnContext) -> ToolSpec:
        options = self._options
        entry: ToolSpec = {"type": NAME, "external_web_access": self._mode == LIVE}
        if "allowed_domains" in options:
            entry["filters"] = {"allowed_domains": options["allowed_domains"]}
        if "location" in options:
            known = {name: options["location"][name] for name in _PLACES if name in options["location"]}
            entry["user_location"] = {"type": "approximate", **known}
        if "context_size" in options:
            entry["search_context_size"] = options["context_size"]
        if turn.model_info.searches_images:
            entry["search_content_types"] = ["text", "image"]
        return entry

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        del scope
        raise ModelFacing(unsupported(call))
