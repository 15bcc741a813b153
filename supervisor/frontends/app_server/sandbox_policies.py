"""What commands may do, in the words of the app-server and back. Pure."""

from typing import Any

from pycodex.protocol import permissions as modes
from pycodex.protocol.permissions import Permissions, from_legacy, told_as_legacy

Json = dict[str, Any]

_TYPES = {
    modes.READ_ONLY: "readOnly",
    modes.WORKSPACE_WRITE: "workspaceWrite",
    modes.DANGER_FULL_ACCESS: "dangerFullAccess",
    modes.EXTERNAL_SANDBOX: "externalSandbox",
}
_MODES = {told: mode for mode, told in _TYPES.items()}


def told_policy(permissions: Permissions) -> Json:
    policy = told_as_legacy(permissions)
    told: Json = {"type": _TYPES[policy["type"]]}
    match policy["type"]:
        case modes.READ_ONLY:
            told["access"] = _told_access(policy.get("access"))
            told["networkAccess"] = policy.get("network_access", False)
        case modes.EXTERNAL_SANDBOX:
            told["networkAccess"] = policy["network_access"]
        case modes.WORKSPACE_WRITE:
            told["writableRoots"] = policy["writable_roots"]
            told["readOnlyAccess"] = _told_access(policy.get("read_only_access"))
            told["networkAccess"] = policy["network_access"]
            told["excludeTmpdirEnvVar"] = policy["exclude_tmpdir_env_var"]
            told["excludeSlashTmp"] = policy["exclude_slash_tmp"]
    return told


def _told_access(access: Json | None) -> Json:
    if access is None:
        return {"type": "fullAccess"}
    return {
        "type": "restricted",
        "includePlatformDefaults": access["include_platform_defaults"],
        "readableRoots": access["readable_roots"],
    }


def permissions_of(policy: Json) -> Permissions:
    """Of a policy whose form was checked."""
    mode = _MODES[policy["type"]]
    legacy: Json = {"type": mode}
    if mode == modes.EXTERNAL_SANDBOX:
        legacy["network_access"] = policy["networkAccess"]
    elif mode == modes.READ_ONLY:
        legacy["access"] = _access_of(policy["access"])
        legacy["network_access"] = policy["networkAccess"]
    elif mode == modes.WORKSPACE_WRITE:
        legacy["writable_roots"] = policy["writableRoots"]
        legacy["read_only_access"] = _access_of(policy["readOnlyAccess"])
        legacy["network_access"] = policy["networkAccess"]
        legacy["exclude_tmpdir_env_var"] = policy["excludeTmpdirEnvVar"]
        legacy["exclude_slash_tmp"] = policy["excludeSlashTmp"]
    return from_legacy(legacy)


def _access_of(access: Json) -> Json | None:
    if access["type"] == "fullAccess":
        return None
    return {
        "type": "restricted",
        "include_platform_defaults": access["includePlatformDefaults"],
        "readable_roots": access["readableRoots"],
    }
