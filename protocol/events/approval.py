"""Events that ask a person whether something may be done. Each is answered by an `Answer` with the call's id.

The value of that answer is the wire form of a `Decision`.
"""

from pycodex.protocol.events.event import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pycodex.protocol.events.patch import Changes


class ExecApprovalRequest(Event):
    """May this command be run, or run again without a sandbox?"""

    _tag = "exec_approval_request"
    _optional = ("reason", "proposed_execpolicy_amendment", "additional_permissions")

    call_id: "str"
    turn_id: "str"
    command: "tuple[str, ...]"
    cwd: "str"
    reason: "str | None" = None
    proposed_execpolicy_amendment: "tuple[str, ...] | None" = None
    """First words of commands that the person may allow for good."""
    additional_permissions: "dict[str, Any] | None" = None
    """What it shall be allowed inside the sandbox besides: `{"network": {...}, "file_system": {...}}`."""
    available_decisions: "tuple[str | dict[str, Any], ...]"
    """What to offer to the person, in this order. Other answers count, too."""
    parsed_cmd: "tuple[dict[str, Any], ...]"


class ApplyPatchApprovalRequest(Event):
    """May these files be changed? Its `patch_apply_begin` was told before."""

    _tag = "apply_patch_approval_request"
    _optional = ("reason", "grant_root")

    call_id: "str"
    turn_id: "str"
    changes: "Changes"
    reason: "str | None" = None
    grant_root: "str | None" = None
