"""tool_search: finds tools that are there but not in the request's list, by what they are for.

Owns the arguments and what of a tool is searched; how texts are ranked is in `text/ranking`. Whatever goes wrong, the
answer is a list: without tools, if need be.
"""

from dataclasses import dataclass
from typing import Any

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.items import TOOL_SEARCH_CALL
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.text.ranking import best_matches
from pycodex.supervisor.tools import spec
from pycodex.supervisor.tools.tool import Tool, ToolAnswer, ToolCall, ToolScope, ToolSpec

NAME = "tool_search"
DEFAULT_LIMIT = 8


@dataclass(frozen=True, slots=True)
class ToolSearch:
    tools: tuple[Tool, ...]
    name: str = NAME
    parallel: bool = True
    kinds: tuple[str, ...] = (TOOL_SEARCH_CALL,)

    def spec(self, turn: TurnContext) -> ToolSpec:
        del turn
        return {
            "type": NAME,
            "execution": "client",
            "description": "Finds more tools: ones that are available but not listed here. What it finds can be called "
            "from then on. Search before concluding that something cannot be done.",
            "parameters": spec.record(
                {
                    "query": spec.text("What the tool should do, in a few words."),
                    "limit": spec.number(f"How many tools to return at most. Default: {DEFAULT_LIMIT}."),
                },
                required=("query",),
            ),
        }

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        query, limit = call.action.get("query"), call.action.get("limit")
        limit = DEFAULT_LIMIT if limit is None else limit
        if not isinstance(query, str) or not query.strip():
            raise ModelFacing("query must not be empty")
        if type(limit) is not int or limit < 1:
            raise ModelFacing("limit must be greater than zero")
        specs = [tool.spec(scope.turn) for tool in self.tools]
        found = best_matches(query, [_searched(each) for each in specs], limit=limit)
        return ToolAnswer([{**specs[position], "defer_loading": True} for position in found])


def _searched(described: dict[str, Any]) -> str:
    """All that is said of the tool: what its parameters are called and mean tells what it is for."""
    fields = described["parameters"].get("properties")
    told = [described["name"], described["description"]]
    for name, each in fields.items() if isinstance(fields, dict) else ():
        meaning = each.get("description") if isinstance(each, dict) else None
        told += (str(name), str(meaning or ""))
    return " ".join(told)
