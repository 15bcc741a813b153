"""What this host lacks for the strongest sandbox, and what would bring it.

Owns the wording of findings; the probing is the backend's. Each finding stands alone: what was tried, how it went,
what to do. Gives plain values, prints nothing.
"""

import sys
from collections.abc import Iterator

from pycodex.protocol.record import Record

OK = "ok"
WARNING = "warning"
FAIL = "fail"

_RESTRICTED_BY_APPARMOR = "kernel.apparmor_restrict_unprivileged_userns"
_CLONE_SWITCH = "kernel.unprivileged_userns_clone"
_COUNT_LIMIT = "user.max_user_namespaces"
_NO_DETAILS: dict[str, str] = {}


class Finding(Record):
    """One thing that was looked at."""

    id: "str"
    status: "str"
    summary: "str"
    details: "dict[str, str]" = _NO_DETAILS
    remedy: "str" = ""


def findings() -> Iterator[Finding]:
    """One after the other, so that the caller can time each."""
    if sys.platform != "linux":
        yield Finding(
            id="sandbox.platform", status=FAIL, summary=f"there is no sandbox for {sys.platform}", remedy="use Linux"
        )
        return
    yield _landlock()
    yield _seccomp()
    user = _namespace("user")
    yield user
    for kind in ("mount", "pid", "network", "ipc"):
        yield _namespace(kind, user_works=user.status == OK)
    yield _cgroup()


def _landlock() -> Finding:
    from pycodex.linux_sandbox import probe

    abi = probe.landlock_abi()
    details = {"abi": str(abi)}
    if abi == 0:
        return Finding(
            id="sandbox.landlock",
            status=FAIL,
            summary="Landlock is not available",
            details=details,
            remedy="use Linux 5.13 or newer with Landlock built in and listed in the `lsm=` boot parameter "
            "(in a container: a seccomp profile that allows the landlock_* calls)",
        )
    if abi < 3:
        return Finding(
            id="sandbox.landlock",
            status=WARNING,
            summary=f"Landlock ABI {abi} does not cover truncation",
            details=details,
            remedy="use Linux 6.2 or newer; mounts cover the gap where namespaces work",
        )
    return Finding(id="sandbox.landlock", status=OK, summary=f"Landlock ABI {abi}", details=details)


def _seccomp() -> Finding:
    from pycodex.linux_sandbox import probe

    probed = probe.seccomp_filters()
    if probed.works:
        return Finding(id="sandbox.seccomp", status=OK, summary="seccomp filters can be installed")
    return Finding(
        id="sandbox.seccomp",
        status=FAIL,
        summary="seccomp filters cannot be installed",
        details={"error": probed.why_not},
        remedy="use a kernel with CONFIG_SECCOMP_FILTER (in a container: a profile that allows seccomp(2))",
    )


def _namespace(kind: str, *, user_works: bool = True) -> Finding:
    from pycodex.linux_sandbox import probe

    probed = probe.namespace(kind)
    name = f"sandbox.namespace.{kind}"
    if probed.works:
        return Finding(id=name, status=OK, summary=f"{kind} namespaces can be made")
    details = {"error": probed.why_not}
    for setting in (_RESTRICTED_BY_APPARMOR, _CLONE_SWITCH, _COUNT_LIMIT):
        if value := probe.sysctl(setting):
            details[setting] = value
    return Finding(
        id=name,
        status=WARNING,
        summary=f"{kind} namespaces cannot be made: {probed.why_not}",
        details=details,
        remedy=_namespace_remedy(kind, details) if user_works else "the remedy for user namespaces is the one for this",
    )


def _namespace_remedy(kind: str, details: dict[str, str]) -> str:
    if details.get(_RESTRICTED_BY_APPARMOR) == "1":
        return (
            f"AppArmor restricts user namespaces here: as an administrator run `sysctl -w {_RESTRICTED_BY_APPARMOR}=0` "
            "or give the Python interpreter an AppArmor profile with `userns,`"
        )
    if details.get(_CLONE_SWITCH) == "0":
        return f"as an administrator run `sysctl -w {_CLONE_SWITCH}=1`"
    if details.get(_COUNT_LIMIT) == "0":
        return f"as an administrator run `sysctl -w {_COUNT_LIMIT}=15000`"
    return (
        f"in a container, start it with a seccomp profile that allows {kind} namespaces and mounts, for example "
        "`docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined`; elsewhere use a kernel "
        "with user namespaces; or accept the weaker level with `[sandbox] landlock_only = true` in config.toml"
    )


def _cgroup() -> Finding:
    from pycodex.linux_sandbox import probe

    probed = probe.delegated_cgroup()
    found = "this process may make cgroups of its own" if probed.works else "no cgroup is delegated to this process"
    return Finding(
        id="sandbox.cgroup",
        status=OK,
        summary=f"{found}; for information only, as limits are kept by watching and rlimits",
        details={"reason": probed.why_not} if probed.why_not else {},
    )
