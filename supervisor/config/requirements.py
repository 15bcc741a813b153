"""What an administrator demands: `requirements.toml`, and the older `managed_config.toml` read as such.

Owns the allowed sets and the replacement of a value that is not in one, with the reference's words for it. Takes files
and the values that were chosen; gives allowed values and warnings.
"""

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config import early
from pycodex.supervisor.config.early import BadConfig, Layer
from pycodex.supervisor.config.features import ALIASES, NAMES
from pycodex.supervisor.config.kinds import ANY, BOOLEAN, Choice, Names, Table, first_mismatch
from pycodex.supervisor.config.kinds import Sequence as SequenceKind
from pycodex.supervisor.config.required_rules import RequiredRule, required_rules
from pycodex.supervisor.config.schema import APPROVAL_POLICY, SANDBOX_MODE, WEB_SEARCH_MODE

REQUIREMENTS_FILE = "requirements file"

_SCHEMA = Table(
    "struct ConfigRequirementsToml",
    {
        "allowed_approval_policies": SequenceKind(APPROVAL_POLICY),
        "allowed_sandbox_modes": SequenceKind(Choice(*SANDBOX_MODE.words, "external-sandbox")),
        "allowed_web_search_modes": SequenceKind(WEB_SEARCH_MODE),
        "features": Names(BOOLEAN, expected="struct FeatureRequirementsToml", loses=True),
        "mcp_servers": Names(ANY),
        "rules": ANY,
    },
)
_MANAGED = Table("struct LegacyManagedConfigToml", {"approval_policy": APPROVAL_POLICY, "sandbox_mode": SANDBOX_MODE})

_SHOWN = {"untrusted": "UnlessTrusted"}
_WEB_SEARCH_ORDER = ("disabled", "cached", "live")
_READ_ONLY_SHOWN = "ReadOnly { access: FullAccess, network_access: false }"


class Allowed(NamedTuple):
    """The values that a key may have, and who said so."""

    values: tuple[Any, ...]
    source: str


class Requirements(NamedTuple):
    """None: nothing is demanded of that key."""

    approval_policies: Allowed | None = None
    sandbox_modes: Allowed | None = None
    web_search_modes: Allowed | None = None
    features: Mapping[str, bool] = MappingProxyType({})
    rules: tuple[RequiredRule, ...] = ()
    mcp_servers: Mapping[str, Any] | None = None
    """The servers that may be used, by name, each with its `identity`."""
    source: str = ""


def read_requirements(system_dir: str, managed: Layer | None) -> Requirements:
    """The system's file; for what it does not say, the managed configuration."""
    path = os.path.join(system_dir, "requirements.toml")
    layer = early.read_layer(path, REQUIREMENTS_FILE)
    if layer is not None:
        _check_types(layer)
    said = layer.values if layer is not None else {}
    older = _from_managed(managed) if managed is not None else {}

    def allowed(key: str) -> Allowed | None:
        if key in said:
            return Allowed(values=tuple(said[key]), source=path)
        return Allowed(values=older[key], source=managed.path) if managed is not None and key in older else None

    policies = allowed("allowed_approval_policies")
    if policies is not None and not policies.values:
        raise BadConfig("field `allowed_approval_policies` cannot be empty")
    modes = allowed("allowed_sandbox_modes")
    if modes is not None and "read-only" not in modes.values:
        candidate = _listed(modes.values)
        rule = "must include 'read-only' to allow any SandboxPolicy"
        raise BadConfig(_not_allowed("allowed_sandbox_modes", candidate, rule, modes.source))
    return Requirements(
        approval_policies=policies,
        sandbox_modes=modes,
        web_search_modes=allowed("allowed_web_search_modes"),
        features=said.get("features", {}),
        rules=required_rules(said.get("rules"), path),
        mcp_servers=said.get("mcp_servers"),
        source=path,
    )


def _check_types(layer: Layer) -> None:
    found = first_mismatch(_SCHEMA, layer.values)
    if found is not None:
        from pycodex.supervisor.config.toml_errors import value_error

        keys = found.keys[:1] if found.keys[0] == "features" else found.keys
        raise value_error(layer, keys, found.in_file or found.message, kind=REQUIREMENTS_FILE)


def _from_managed(managed: Layer) -> dict[str, tuple[Any, ...]]:
    found = first_mismatch(_MANAGED, managed.values)
    if found is not None:
        raise BadConfig(f"Failed to parse config requirements as TOML: {found.message}", place=".".join(found.place))
    allowed: dict[str, tuple[Any, ...]] = {}
    if "approval_policy" in managed.values:
        allowed["allowed_approval_policies"] = (managed.values["approval_policy"],)
    mode = managed.values.get("sandbox_mode")
    if mode is not None:
        allowed["allowed_sandbox_modes"] = ("read-only",) if mode == "read-only" else ("read-only", mode)
    return allowed


def required_features(requirements: Requirements) -> Mapping[str, bool]:
    """The features that are pinned; an administrator must call them by their proper names."""
    for name in sorted(requirements.features):
        if name in NAMES:
            continue
        problem = f"invalid `features` requirement `{name}` from {requirements.source}"
        proper = f": use canonical feature key `{ALIASES[name]}`" if name in ALIASES else ""
        raise UserFacing(f"{problem}{proper}")
    return requirements.features


def constrained_policy(chosen: Any, allowed: Allowed | None, *, explicit: bool, warnings: list[str]) -> Any:
    """The approval policy, or the first allowed one."""
    if allowed is None or chosen in allowed.values:
        return chosen
    fallback = allowed.values[0]
    if explicit:
        details = _not_allowed("approval_policy", shown(chosen), _listed(allowed.values), allowed.source)
        warnings.append(_fallback_text("approval_policy", shown(fallback), details))
    return fallback


def constrained_mode(chosen: str, allowed: Allowed | None, *, explicit: bool, warnings: list[str]) -> str:
    """The sandbox mode, or read-only."""
    if allowed is None or chosen in allowed.values:
        return chosen
    if explicit:
        details = _not_allowed("sandbox_mode", shown(chosen), _listed(allowed.values), allowed.source)
        warnings.append(_fallback_text("sandbox_mode", _READ_ONLY_SHOWN, details))
    return "read-only"


def mode_refusal(chosen: str, allowed: Allowed | None) -> str | None:
    """Why a mode that somebody insists on may not be used; None if it may."""
    if allowed is None or chosen in allowed.values:
        return None
    return _not_allowed("sandbox_mode", shown(chosen), _listed(allowed.values), allowed.source)


def demanded_here(env: Mapping[str, str], system_dir: str = early.SYSTEM_DIR) -> Requirements:
    """What is demanded on this machine. Raises UserFacing."""
    managed = early.file_layer(os.path.join(system_dir, "managed_config.toml"), env)
    return read_requirements(system_dir, managed)


def allowed_web_search(allowed: Allowed | None) -> tuple[str, ...]:
    """The modes of web search that may be used; to do without is always allowed."""
    if allowed is None:
        return _WEB_SEARCH_ORDER
    return tuple(mode for mode in _WEB_SEARCH_ORDER if mode == "disabled" or mode in allowed.values)


def constrained_web_search(chosen: str, allowed: Allowed | None, *, warnings: list[str]) -> str:
    modes = allowed_web_search(allowed)
    if allowed is None or chosen in modes:
        return chosen
    fallback = next(mode for mode in ("cached", "live", "disabled") if mode in modes)
    details = _not_allowed("web_search_mode", shown(chosen), _listed(modes), allowed.source)
    warnings.append(_fallback_text("web_search_mode", shown(fallback), details))
    return fallback


def _fallback_text(key: str, fallback: str, details: str) -> str:
    return (
        f"Configured value for `{key}` is disallowed by requirements; falling back to required value {fallback}. "
        f"Details: {details}"
    )


def _not_allowed(key: str, candidate: str, allowed: str, source: str) -> str:
    return f"invalid value for `{key}`: `{candidate}` is not in the allowed set {allowed} (set by {source})"


def _listed(values: Sequence[Any]) -> str:
    return f"[{', '.join(map(shown, values))}]"


def shown(value: Any) -> str:
    """A value as the reference's texts name it."""
    if isinstance(value, dict):
        granular = value["granular"]
        names = ("sandbox_approval", "rules", "skill_approval", "request_permissions", "mcp_elicitations")
        flags = ", ".join(f"{name}: {str(granular.get(name, False)).lower()}" for name in names)
        return f"Granular(GranularApprovalConfig {{ {flags} }})"
    return _SHOWN.get(value) or "".join(part.capitalize() for part in value.split("-"))
