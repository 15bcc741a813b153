"""The parameters that the shell tools share: where, how long, and with which permissions a command runs.

Owns their fields, how they are described to the model, and the older name under which escalation can be asked for.
"""

from typing import Any

from pycodex.supervisor.policy import escalation
from pycodex.supervisor.tools import spec
from pycodex.supervisor.tools.arguments import (
    Field,
    Shape,
    choice,
    list_of,
    optional,
    parse,
    parse_any,
    struct,
    text,
    u64,
)
from pycodex.supervisor.tools.shell_runs import DEFAULT_TIMEOUT_MS

WORKDIR = Field("workdir", optional(text), None)
# After the fields of the tool itself, in this order: arguments may come as a list.
FIELDS = (
    Field("timeout_ms", optional(u64), None, alias="timeout"),
    Field("sandbox_permissions", optional(choice(*escalation.CHOICES)), None),
    Field("prefix_rule", optional(list_of(text)), None),
    Field("additional_permissions", optional(struct("PermissionProfile")), None),
    Field("justification", optional(text), None),
)
_OLD_ESCALATION = "with_escalated_permissions"


def properties() -> dict[str, spec.Schema]:
    return {
        "workdir": spec.text("Directory to run it in; the turn's working directory if left out."),
        "timeout_ms": spec.number(f"How long it may run before it is killed. Default: {DEFAULT_TIMEOUT_MS}."),
        "sandbox_permissions": spec.text(
            f'"{escalation.REQUIRE_ESCALATED}" asks to run it outside the sandbox. Default: "{escalation.USE_DEFAULT}".'
        ),
        "justification": spec.text(
            f"Only with {escalation.REQUIRE_ESCALATED}: the question that the user is asked, in one sentence."
        ),
        "prefix_rule": spec.list_of(
            {"type": "string"},
            f"Only with {escalation.REQUIRE_ESCALATED}: first words of the command which the user may allow for good.",
        ),
    }


def read(arguments: str, shape: Shape) -> dict[str, Any]:
    """The fields of `shape`, with `sandbox_permissions` always set."""
    given = parse(arguments, shape)
    if given["sandbox_permissions"] is None:
        is_escalated = _OLD_ESCALATION in arguments and _asks_the_old_way(parse_any(arguments))
        given["sandbox_permissions"] = escalation.REQUIRE_ESCALATED if is_escalated else escalation.USE_DEFAULT
    return given


def _asks_the_old_way(given: object) -> bool:
    return isinstance(given, dict) and given.get(_OLD_ESCALATION) is True
