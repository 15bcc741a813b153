"""Whether a person is asked before a tool of an MCP server is called.

Owns what the server's own hints about a tool come to. They are claims of the server's, which the user has chosen to
trust; a tool that says nothing of itself is called without a question, as in the reference. Pure.
"""

from collections.abc import Hashable, Mapping
from typing import Any

from pycodex.protocol.permissions import DANGER_FULL_ACCESS, EXTERNAL_SANDBOX
from pycodex.protocol.turn_context import ApprovalPolicy

_UNRESTRICTED = (DANGER_FULL_ACCESS, EXTERNAL_SANDBOX)


def needs_approval(hints: Mapping[str, Any], *, approval_policy: ApprovalPolicy, mode: str) -> bool:
    """`hints` are the annotations of the tool, `mode` is that of the sandbox."""
    if approval_policy == "never" and mode in _UNRESTRICTED:
        return False
    if hints.get("destructiveHint") is True:
        return True
    return hints.get("readOnlyHint") is False and hints.get("openWorldHint") is True


def mcp_tool_key(server: str, tool: str) -> Hashable:
    """By which an approval for the session is known again."""
    return ("mcp tool", server, tool)


def may_elicit(approval_policy: ApprovalPolicy) -> bool:
    """Whether a server may put questions to the person."""
    if isinstance(approval_policy, str):
        return approval_policy != "never"
    granular = approval_policy.get("granular")
    return isinstance(granular, Mapping) and granular.get("mcp_elicitations") is True
