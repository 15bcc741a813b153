"""When a model may ask to run outside the sandbox.

Owns the checks that come before any decision of policy: whether asking is allowed at all. Pure.
"""

from typing import Any

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.turn_context import ApprovalPolicy, TurnContext

USE_DEFAULT = "use_default"
REQUIRE_ESCALATED = "require_escalated"
WITH_ADDITIONAL_PERMISSIONS = "with_additional_permissions"
CHOICES = (USE_DEFAULT, REQUIRE_ESCALATED, WITH_ADDITIONAL_PERMISSIONS)

ON_REQUEST = "on-request"
FEATURE = "exec_permission_approvals"

_NAMES = {"untrusted": "UnlessTrusted", "on-failure": "OnFailure", ON_REQUEST: "OnRequest", "never": "Never"}
_GRANULAR = ("sandbox_approval", "rules", "skill_approval", "request_permissions", "mcp_elicitations")


def check(turn: TurnContext, *, asked: str, additional: dict[str, Any] | None, verb: str) -> None:
    """Raise unless the model may ask for what it asks. `verb` is what the tool's text says it must not do."""
    if asked == USE_DEFAULT and additional is None:
        return
    if turn.approval_policy != ON_REQUEST:
        name = policy_name(turn.approval_policy)
        raise ModelFacing(
            f"approval policy is {name}; reject command — you {verb} ask for escalated permissions "
            f"if the approval policy is {name}"
        )
    check_additional(turn, asked=asked, additional=additional)


def check_additional(turn: TurnContext, *, asked: str, additional: dict[str, Any] | None) -> None:
    """Raise if more permissions inside the sandbox are asked for, and that is not a thing to ask for here."""
    if (asked == WITH_ADDITIONAL_PERMISSIONS or additional is not None) and FEATURE not in turn.features:
        raise ModelFacing(
            f"additional permissions are disabled; enable `features.{FEATURE}` before using "
            f"`{WITH_ADDITIONAL_PERMISSIONS}`"
        )


def policy_name(policy: ApprovalPolicy) -> str:
    """As texts to the model name it."""
    if isinstance(policy, str):
        return _NAMES[policy]
    given = policy["granular"]
    fields = ", ".join(f"{name}: {str(bool(given.get(name, False))).lower()}" for name in _GRANULAR)
    return f"Granular(GranularApprovalConfig {{ {fields} }})"
