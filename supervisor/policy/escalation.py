"""What a model may ask for beyond its sandbox, and when it may ask at all.

Owns the checks that come before any decision: whether asking is allowed, and whether what is asked for makes sense.
Looks at the disk only to follow links in paths that are asked for.
"""

import os
from typing import Any, NamedTuple

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.turn_context import ApprovalPolicy, TurnContext
from pycodex.supervisor.text.quoting import quoted

USE_DEFAULT = "use_default"
REQUIRE_ESCALATED = "require_escalated"
WITH_ADDITIONAL_PERMISSIONS = "with_additional_permissions"
CHOICES = (USE_DEFAULT, REQUIRE_ESCALATED, WITH_ADDITIONAL_PERMISSIONS)

ON_REQUEST = "on-request"
FEATURE = "exec_permission_approvals"

_NAMES = {"untrusted": "UnlessTrusted", "on-failure": "OnFailure", ON_REQUEST: "OnRequest", "never": "Never"}
_GRANULAR = ("sandbox_approval", "rules", "skill_approval", "request_permissions", "mcp_elicitations")
_MOST_PATHS = 64


class Extra(NamedTuple):
    """What shall be allowed inside the sandbox besides what the turn allows. Paths are absolute."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    network: bool = False

    def told(self) -> str:
        """For the person who is asked."""
        parts = [
            *(f"reading {quoted(path)}" for path in self.read),
            *(f"writing below {quoted(path)}" for path in self.write),
            *(["the network"] if self.network else ()),
        ]
        return ", ".join(parts)

    def to_wire(self) -> dict[str, Any]:
        wire: dict[str, Any] = {"network": {"enabled": True}} if self.network else {}
        if self.read or self.write:
            wire["file_system"] = {"read": list(self.read) or None, "write": list(self.write) or None}
        return wire


def check(turn: TurnContext, *, asked: str, additional: dict[str, Any] | None, verb: str) -> None:
    """Raise unless the model may ask for what it asks. `verb` is what the tool's text says it must not do."""
    if asked == USE_DEFAULT and additional is None:
        return
    refused = refusal(turn.approval_policy, verb=verb)
    if refused is not None:
        raise ModelFacing(refused)
    check_additional(turn, asked=asked, additional=additional)


def refusal(policy: ApprovalPolicy, *, verb: str) -> str | None:
    """What the model is told that asks for more where it must not ask; None: it may."""
    if policy == ON_REQUEST:
        return None
    name = policy_name(policy)
    return (
        f"approval policy is {name}; reject command — you {verb} ask for escalated permissions "
        f"if the approval policy is {name}"
    )


def check_additional(turn: TurnContext, *, asked: str, additional: dict[str, Any] | None) -> None:
    """Raise if more permissions inside the sandbox are asked for, and that is not a thing to ask for here."""
    if (asked == WITH_ADDITIONAL_PERMISSIONS or additional is not None) and FEATURE not in turn.features:
        raise ModelFacing(
            f"additional permissions are disabled; enable `features.{FEATURE}` before using "
            f"`{WITH_ADDITIONAL_PERMISSIONS}`"
        )


def extra_of(additional: dict[str, Any] | None, *, asked: str, cwd: str) -> Extra | None:
    """What the model asks to be added to the sandbox; None: nothing. Relative paths start at `cwd`."""
    if asked != WITH_ADDITIONAL_PERMISSIONS:
        if additional is None:
            return None
        raise ModelFacing(
            f"`additional_permissions` requires `sandbox_permissions` set to `{WITH_ADDITIONAL_PERMISSIONS}`"
        )
    if additional is None:
        raise ModelFacing(
            "missing `additional_permissions`; provide at least one of `network`, `file_system`, or `macos` when using "
            f"`{WITH_ADDITIONAL_PERMISSIONS}`"
        )
    if additional.get("macos") is not None:
        raise ModelFacing("`additional_permissions.macos` is only supported on macOS")
    files = _table(additional, "file_system")
    extra = Extra(
        read=_paths(files, "read", cwd),
        write=_paths(files, "write", cwd),
        network=_table(additional, "network").get("enabled") is True,
    )
    if extra == Extra():
        raise ModelFacing(
            "`additional_permissions` must include at least one requested permission in `network`, `file_system`, or "
            "`macos`"
        )
    return extra


def _table(fields: dict[str, Any], name: str) -> dict[str, Any]:
    value = fields.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ModelFacing(f"`additional_permissions.{name}` must be a table")
    return value


def _paths(files: dict[str, Any], name: str, cwd: str) -> tuple[str, ...]:
    value = files.get(name) or []
    if not isinstance(value, list) or not all(isinstance(path, str) and path and "\0" not in path for path in value):
        raise ModelFacing(f"`additional_permissions.file_system.{name}` must be a list of paths")
    if len(value) > _MOST_PATHS:
        raise ModelFacing(f"`additional_permissions.file_system.{name}` must not name more than {_MOST_PATHS} paths")
    # Where they really lead: that is what the person is asked about.
    return tuple(os.path.realpath(os.path.join(cwd, path)) for path in value)


def policy_name(policy: ApprovalPolicy) -> str:
    """As texts to the model name it."""
    if isinstance(policy, str):
        return _NAMES[policy]
    given = policy["granular"]
    fields = ", ".join(f"{name}: {str(bool(given.get(name, False))).lower()}" for name in _GRANULAR)
    return f"Granular(GranularApprovalConfig {{ {fields} }})"
