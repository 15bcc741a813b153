"""The helper interface: called under the name `codex-linux-sandbox`, with a policy as JSON.

Owns that calling convention, in its older form (tagged or split policy) and its newer one (permission profile), so
that other programs can use this sandbox in place of the reference's helper. Plans and runs like `pycodex sandbox`.
"""

import json
import os
from collections.abc import Callable
from typing import Any, TypeVar

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.permissions import Permissions, from_legacy, from_split
from pycodex.protocol.record import BadRecord
from pycodex.supervisor.cli.options import Flag, Scanned, bad_usage, scan
from pycodex.supervisor.cli.sandbox import run_confined
from pycodex.supervisor.cli.terminal import say
from pycodex.supervisor.config.early import BadHome, codex_home

_POLICY_CWD = Flag("--sandbox-policy-cwd", value="SANDBOX_POLICY_CWD")
_COMMAND_CWD = Flag("--command-cwd", value="COMMAND_CWD")
_POLICY = Flag("--sandbox-policy", value="SANDBOX_POLICY")
_FILES = Flag("--file-system-sandbox-policy", value="FILE_SYSTEM_SANDBOX_POLICY")
_NETWORK = Flag("--network-sandbox-policy", value="NETWORK_SANDBOX_POLICY")
_PROFILE = Flag("--permission-profile", value="PERMISSION_PROFILE")
_LEGACY_LANDLOCK = Flag("--use-legacy-landlock")
_NO_PROC = Flag("--no-proc")
_UNSUPPORTED = (
    Flag("--apply-seccomp-then-exec"),
    Flag("--allow-network-for-proxy"),
    Flag("--proxy-route-spec", value="PROXY_ROUTE_SPEC"),
    Flag("--verify-fd-mount", value="VERIFY_FD_MOUNT", many=True),
)
_FLAGS = (
    *(_POLICY_CWD, _COMMAND_CWD, _POLICY, _FILES, _NETWORK, _PROFILE, _LEGACY_LANDLOCK, _NO_PROC),
    *_UNSUPPORTED,
)
_USAGE = "codex-linux-sandbox [OPTIONS] --sandbox-policy-cwd <SANDBOX_POLICY_CWD> [COMMAND]..."

HELP = f"""\
Run a command under a sandbox policy given as JSON; meant to be called by programs

Usage: {_USAGE}

Options:
      --sandbox-policy-cwd <DIR>           The directory that the policy is about
      --command-cwd <DIR>                  Accepted; the command runs in the caller's directory
      --sandbox-policy <JSON>              A tagged policy, for example {{"type":"read-only"}}
      --file-system-sandbox-policy <JSON>  A split policy: its files, ...
      --network-sandbox-policy <JSON>      ... and its network, "restricted" or "enabled"
      --permission-profile <JSON>          A profile, in place of the policies above
      --use-legacy-landlock                Accept the weaker level where namespaces are forbidden
      --no-proc                            Accepted; /proc is always private where it can be
  -h, --help                               Show this text"""

T = TypeVar("T")


def run(argv: list[str], overrides: list[str]) -> int:
    """The helper after its own name. Takes no `-c`."""
    del overrides
    scanned = scan(argv, _FLAGS, usage=_USAGE)
    if scanned.wants_help:
        say(HELP)
        return 0
    for flag in _UNSUPPORTED:
        if scanned.has(flag.key):
            raise UserFacing(f"{flag.key} is not supported: this sandbox needs no second stage and has no proxy")
    policy_cwd = scanned.last(_POLICY_CWD.key)
    if policy_cwd is None:
        message = f"the following required arguments were not provided:\n  {_POLICY_CWD.shown}"
        raise bad_usage(message, usage=_USAGE)
    permissions = _permissions(scanned)
    if not scanned.rest:
        raise UserFacing("No command specified to execute.")
    return _run(permissions, scanned, os.path.abspath(policy_cwd))


def _permissions(scanned: Scanned) -> Permissions:
    profile = _json(scanned, _PROFILE, _from_profile)
    if profile is not None:
        return profile
    files, network = scanned.last(_FILES.key), scanned.last(_NETWORK.key)
    if (files is None) != (network is None):
        raise UserFacing("file-system and network sandbox policies must be provided together")
    if files is not None:
        word = _json(scanned, _NETWORK, _network_word)
        split = _json(scanned, _FILES, lambda value: from_split(value, word))
        if split is not None:
            return split
    legacy = _json(scanned, _POLICY, from_legacy)
    if legacy is None:
        raise UserFacing("missing sandbox policy configuration")
    return legacy


def _json(scanned: Scanned, flag: Flag, read: Callable[[Any], T]) -> T | None:
    text = scanned.last(flag.key)
    if text is None:
        return None
    try:
        return read(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise bad_usage(f"invalid value '{text:.200}' for '{flag.shown}': {error}") from None


def _network_word(value: object) -> str:
    if value not in ("restricted", "enabled"):
        raise BadRecord(f"expected restricted or enabled, not {value!r:.60}")
    return str(value)


def _from_profile(value: Any) -> Permissions:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "disabled":
        return from_legacy({"type": "danger-full-access"})
    if kind == "external":
        return from_split({"kind": "external-sandbox"}, value.get("network"))
    files = value.get("file_system") if isinstance(value, dict) else None
    if kind != "managed" or not isinstance(files, dict):
        raise BadRecord("expected a managed, disabled or external profile")
    entries = [_with_older_word(entry) for entry in files.get("entries") or []]
    return from_split({"kind": files.get("type"), "entries": entries}, value.get("network"))


def _with_older_word(entry: Any) -> Any:
    """Newer profiles say `deny` for `none`."""
    if isinstance(entry, dict) and entry.get("access") == "deny":
        return {**entry, "access": "none"}
    return entry


def _run(permissions: Permissions, scanned: Scanned, policy_cwd: str) -> int:
    from pycodex.sandbox.plan import plan
    from pycodex.sandbox.survey import survey

    env = dict(os.environ)
    try:
        home = codex_home(env)
    except BadHome:
        home = ""
    confinement = plan(
        permissions,
        survey(permissions, cwd=policy_cwd, env=env, codex_home=home),
        landlock_only=scanned.has(_LEGACY_LANDLOCK.key),
    )
    try:
        cwd = os.getcwd()
    except OSError as error:
        raise UserFacing(f"cannot use the current directory: {error.strerror}") from None
    return run_confined(confinement, argv=scanned.rest, cwd=cwd, env=env)
