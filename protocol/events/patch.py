"""Events about patches, and about what a turn has changed by them."""

from pycodex.protocol.events.event import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Changes = dict[str, dict[str, Any]]
    """Absolute path -> `{"type": "add" | "delete", "content"}` or `{"type": "update", "unified_diff", "move_path"}`."""


class _PatchApply(Event):
    call_id: "str"
    turn_id: "str"


class PatchApplyBegin(_PatchApply):
    _tag = "patch_apply_begin"

    auto_approved: "bool"
    changes: "Changes"


class PatchApplyEnd(_PatchApply):
    """`status` is completed, failed or declined."""

    _tag = "patch_apply_end"
    _persisted_at_length = True

    stdout: "str"
    stderr: "str"
    success: "bool"
    changes: "Changes"
    status: "str"


class TurnDiff(Event):
    """All that the turn has changed in files that it patched, in the form of git."""

    _tag = "turn_diff"

    unified_diff: "str"
