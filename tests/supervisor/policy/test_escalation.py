"""Whoever may not ask for more is told so in the words that models know."""

from typing import Any

import pytest

from pycodex.protocol.errors import ModelFacing
from pycodex.supervisor.policy import escalation
from support.tool_calls import make_turn

GRANULAR = {"granular": {"sandbox_approval": True, "rules": False, "mcp_elicitations": True}}
GRANULAR_NAME = (
    "Granular(GranularApprovalConfig { sandbox_approval: true, rules: false, skill_approval: false, "
    "request_permissions: false, mcp_elicitations: true })"
)


@pytest.mark.parametrize(
    ("policy", "name"),
    [
        ("never", "Never"),
        ("on-failure", "OnFailure"),
        ("untrusted", "UnlessTrusted"),
        (GRANULAR, GRANULAR_NAME),
    ],
)
@pytest.mark.parametrize(
    ("asked", "additional"),
    [("require_escalated", None), ("with_additional_permissions", None), ("use_default", {})],
)
def test_only_on_request_may_anything_be_asked(
    policy: Any, name: str, asked: str, additional: dict[str, Any] | None
) -> None:
    turn = make_turn(approval_policy=policy)
    with pytest.raises(ModelFacing) as raised:
        escalation.check(turn, asked=asked, additional=additional, verb="cannot")
    assert str(raised.value) == (
        f"approval policy is {name}; reject command — you cannot ask for escalated permissions "
        f"if the approval policy is {name}"
    )
    escalation.check(turn, asked="use_default", additional=None, verb="cannot")


@pytest.mark.parametrize(("asked", "additional"), [("with_additional_permissions", None), ("use_default", {})])
def test_additional_permissions_need_their_feature(asked: str, additional: dict[str, Any] | None) -> None:
    turn = make_turn(approval_policy="on-request")
    with pytest.raises(ModelFacing, match=r"^additional permissions are disabled; enable `features\.exec_permission"):
        escalation.check(turn, asked=asked, additional=additional, verb="cannot")
    allowed = make_turn(approval_policy="on-request", features=frozenset({"exec_permission_approvals"}))
    escalation.check(allowed, asked=asked, additional=additional, verb="cannot")
    escalation.check(turn, asked="require_escalated", additional=None, verb="cannot")
