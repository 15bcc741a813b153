"""Events about the model's plan."""

from pycodex.protocol.events.event import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class PlanUpdate(Event):
    """`plan` holds maps of `step` and `status` (pending, in_progress or completed)."""

    _tag = "plan_update"

    explanation: "str | None"
    plan: "tuple[dict[str, Any], ...]"
