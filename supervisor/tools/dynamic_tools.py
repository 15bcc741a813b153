"""Tools that the client of a thread brings along: how they are declared.

Owns the form, which session files share: maps of `name`, `description`, `inputSchema` and `deferLoading`, and of
`namespace` and `tool` for one of a group, which the model knows by a name made of both. Takes what a client or a file
says, gives maps that hold just these. Running one is the business of `handlers/dynamic_tool`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pycodex.protocol.errors import UserFacing

Declaration = Mapping[str, Any]


class BadDeclaration(UserFacing):
    """A client's tool cannot be taken as it is."""


def declared(given: Iterable[object]) -> tuple[dict[str, Any], ...]:
    """The tools of a new thread. Raises BadDeclaration for the first that is wrong."""
    tools: dict[str, dict[str, Any]] = {}
    for each in given:
        tool = _plain(each)
        if tool is None:
            raise BadDeclaration("a dynamic tool needs a name, a description and an inputSchema")
        name = tool["name"]
        for objection in _objections(name):
            raise BadDeclaration(objection)
        if name in tools:
            raise BadDeclaration(f"duplicate dynamic tool name: {name}")
        tools[name] = tool
    return tuple(tools.values())


def stored_tools(given: Iterable[object] | None) -> tuple[dict[str, Any], ...]:
    """The tools of a thread that goes on; what its file tells wrongly is left out."""
    known = (tool for each in given or () if (tool := _plain(each)) is not None)
    return tuple({tool["name"]: tool for tool in known if not any(_objections(tool["name"]))}.values())


def _plain(given: object) -> dict[str, Any] | None:
    if not isinstance(given, Mapping) or "inputSchema" not in given:
        return None
    name, description, later = given.get("name"), given.get("description"), given.get("deferLoading")
    if not isinstance(name, str) or not isinstance(description, str):
        return None
    schema = given["inputSchema"]
    plain = {"name": name, "description": description, "inputSchema": schema, "deferLoading": later is True}
    namespace, tool = given.get("namespace"), given.get("tool")
    if isinstance(namespace, str) and isinstance(tool, str):
        plain |= {"namespace": namespace, "tool": tool}
    return plain


def in_namespace(namespace: str, tool: Declaration) -> dict[str, Any]:
    """One of a group. The group is part of the name that the model calls it by."""
    name = tool["name"]
    return {**tool, "name": f"{namespace.removesuffix('__')}__{name}", "namespace": namespace, "tool": name}


def _objections(name: str) -> Iterator[str]:
    if not name.strip():
        yield "dynamic tool name must not be empty"
    elif name != name.strip():
        yield f"dynamic tool name has leading/trailing whitespace: {name}"
    elif name == "mcp" or name.startswith("mcp__"):
        yield f"dynamic tool name is reserved: {name}"
