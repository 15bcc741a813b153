"""When a person is asked about a tool of an MCP server, and by one."""

from typing import Any

import pytest

from pycodex.supervisor.policy.mcp_tools import may_elicit, mcp_tool_key, needs_approval


@pytest.mark.parametrize(
    ("hints", "is_asked"),
    [
        ({}, False),
        ({"readOnlyHint": True}, False),
        ({"destructiveHint": True}, True),
        ({"destructiveHint": True, "readOnlyHint": True}, True),
        ({"destructiveHint": False}, False),
        ({"destructiveHint": "yes"}, False),
        ({"readOnlyHint": False}, False),
        ({"readOnlyHint": False, "openWorldHint": True}, True),
        ({"openWorldHint": True}, False),
    ],
)
def test_hints_of_the_server_decide(hints: dict[str, Any], is_asked: bool) -> None:
    assert needs_approval(hints, approval_policy="on-request", mode="workspace-write") is is_asked


@pytest.mark.parametrize(
    ("policy", "mode", "is_asked"),
    [
        ("never", "danger-full-access", False),
        ("never", "external-sandbox", False),
        ("never", "workspace-write", True),
        ("on-request", "danger-full-access", True),
    ],
)
def test_nobody_is_asked_where_everything_is_allowed(policy: str, mode: str, is_asked: bool) -> None:
    assert needs_approval({"destructiveHint": True}, approval_policy=policy, mode=mode) is is_asked


@pytest.mark.parametrize(
    ("policy", "may"),
    [
        ("never", False),
        ("on-request", True),
        ("untrusted", True),
        ({"granular": {"mcp_elicitations": True}}, True),
        ({"granular": {"mcp_elicitations": False}}, False),
        ({"granular": {}}, False),
    ],
)
def test_whether_servers_may_ask(policy: Any, may: bool) -> None:
    assert may_elicit(policy) is may


def test_approvals_are_for_one_tool_of_one_server() -> None:
    assert len({mcp_tool_key("a", "b"), mcp_tool_key("a", "c"), mcp_tool_key("b", "b"), mcp_tool_key("a", "b")}) == 3
