"""The names under which the tools of MCP servers are offered to the model.

Owns how a name is made from those of the server and the tool, and which tool keeps it where two would have the same.
Pure.
"""

import hashlib
import re
from collections.abc import Iterable

PREFIX = "mcp"
DELIMITER = "__"
MOST_NAME_CHARS = 64
_KEPT_CHARS = MOST_NAME_CHARS - 40
_SERVER_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_FOREIGN = re.compile(r"[^A-Za-z0-9_]")


def server_name_problem(name: str) -> str | None:
    """Why no server can be called so; None if one can."""
    if _SERVER_NAME.fullmatch(name):
        return None
    return f"Invalid MCP server name '{name}': must match pattern ^[a-zA-Z0-9_-]+$"


def sanitised(name: str) -> str:
    """With nothing in it that providers do not take in the name of a tool."""
    return _FOREIGN.sub("_", name)


def qualified(server: str, tool: str) -> str:
    """A long name keeps its beginning and is told apart by a digest of the whole."""
    raw = DELIMITER.join((PREFIX, server, tool))
    name = sanitised(raw)
    if len(name) <= MOST_NAME_CHARS:
        return name
    return name[:_KEPT_CHARS] + hashlib.sha1(raw.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


def by_qualified_name(tools: Iterable[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Servers and tools by the names they are offered under, sorted. Of two with the same name the first is kept."""
    found: dict[str, tuple[str, str]] = {}
    for server, tool in tools:
        found.setdefault(qualified(server, tool), (server, tool))
    return dict(sorted(found.items()))
