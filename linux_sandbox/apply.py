"""The ordered steps by which a process confines itself, and nothing else.

mounts, resource limits, working directory, capabilities, Landlock, descriptors, seccomp. The order is
forced: Landlock forbids mounting, and the filter forbids all the earlier steps. Either everything that the Confinement
asks for is enforced or Unenforceable is raised, before anything of the command has run.
"""

import os

from pycodex.linux_sandbox import capabilities, init, kernel, landlock_rules, limits, mounts, seccomp_filter
from pycodex.protocol.confinement import (
    FULL,
    LANDLOCK,
    NONE,
    READ,
    UNCONFINED,
    WRITE,
    Confinement,
    Enforced,
    Unenforceable,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_FIRST_PRIVATE_FD = 3
_TRUNCATION_SINCE = 3


class Seat:
    """A process that is ready to be confined: what it is in, and what the kernel offers it."""

    __slots__ = ("abi", "level", "network", "prepared")

    def __init__(self, level: str, *, network: bool, abi: int, prepared: "mounts.Prepared | None") -> None:
        self.level = level
        self.network = network
        self.abi = abi
        self.prepared = prepared

    @property
    def private_proc(self) -> bool:
        return self.prepared is not None and self.prepared.private_proc

    def enforced(self) -> Enforced:
        return describe(self.level, network=self.network, abi=self.abi, private_proc=self.private_proc)


def take_seat(level: str, *, network: bool) -> Seat:
    """The part that needs no order: done while idle, in the process that will run the work."""
    init.become_unreachable()
    if level == UNCONFINED:
        return Seat(level, network=True, abi=0, prepared=None)
    abi = landlock_rules.landlock_abi()
    check_landlock_version(abi, level)
    prepared = None
    if level == FULL:
        try:
            prepared = mounts.prepare()
        except OSError as error:
            raise Unenforceable(f"this host forbids mounts in user namespaces ({error.strerror})") from None
    return Seat(level, network=network, abi=abi, prepared=prepared)


def describe(level: str, *, network: bool, abi: int, private_proc: bool) -> Enforced:
    """What a process enforces that has found its seat to be like this."""
    if level == UNCONFINED:
        return Enforced(level=UNCONFINED)
    full = level == FULL
    fs, net_tcp, scopes, ioctl_dev, degraded = landlock_rules.describe(abi)
    if not full:
        degraded = (
            *degraded,
            "no namespaces: protected paths are only checked after the call",
            "no namespaces: a command that may write anywhere can change modes and times of all files of this user",
        )
    elif not private_proc:
        degraded = (*degraded, "the host's /proc stays visible")
    return Enforced(
        level=level,
        landlock_abi=abi,
        fs=fs,
        net_tcp=net_tcp and not network,
        scopes=scopes,
        ioctl_dev=ioctl_dev,
        userns=full,
        mountns=full,
        pidns=full,
        netns=full and not network,
        ipcns=full,
        private_proc=full and private_proc,
        seccomp=True,
        carveouts="mount" if full else "snapshot",
        degraded=degraded,
    )


def check_landlock_version(abi: int, level: str) -> None:
    if abi < 1:
        raise Unenforceable("this kernel has no Landlock (it needs 5.13 or later, with `landlock` among its LSMs)")
    if level == LANDLOCK and abi < _TRUNCATION_SINCE:
        raise Unenforceable(
            f"Landlock version {abi} of this kernel lets every file be truncated, and without user namespaces nothing"
            " else prevents it (it needs Linux 6.2 or later, or user namespaces)"
        )


def check_landlock_suffices(confinement: Confinement) -> None:
    """Without mounts nothing can be taken away again below a path that was granted.

    Where nothing may be written, there is nothing to take away but denied reads. Where something may, protected paths
    and the modes and times of other files are at the command's mercy: only for those who have accepted that.
    """
    check_landlock_version(landlock_rules.landlock_abi(), LANDLOCK)
    granted = [e.path for e in confinement.entries if e.access in (READ, WRITE)]
    for denied in (e.path for e in confinement.entries if e.access == NONE and os.path.lexists(e.path)):
        if confinement.base != NONE or any(denied.startswith(path.rstrip("/") + "/") for path in granted):
            raise Unenforceable(
                f"this host forbids user namespaces, and without them reads of {denied} cannot be denied"
                " (set [sandbox] deny_read_defaults = false if that is the default list, or allow user namespaces)"
            )
    writes = any(entry.access == WRITE for entry in confinement.entries)
    carved = confinement.base == WRITE and (confinement.entries or confinement.placeholders)
    if (writes or carved) and not confinement.landlock_only:
        raise Unenforceable(
            "this host forbids user namespaces, and without them protected paths in writable roots cannot be enforced;"
            " set `[sandbox] landlock_only = true` or `features.use_legacy_landlock = true` to accept a check after"
            " each command instead"
        )


def confine(
    confinement: Confinement,
    seat: Seat,
    cwd: str,
    *,
    inside: "Callable[[], str | None] | None" = None,
    own_group: bool = True,
) -> None:
    """Apply everything to this process, for good. `own_group`: the command will get a process group to itself.

    `inside` is called once, in the new view of the file system but before privileges are dropped; it gives the path of
    the terminal that it has opened for the command, if it has.
    """
    if confinement.unconfined_because:
        if seat.level != UNCONFINED:
            raise Unenforceable(f"a {seat.level} process cannot run unconfined work")
        limits.apply(confinement.limits, own_user_namespace=False)
        os.chdir(cwd)
        if inside is not None:
            inside()
        kernel.close_on_exec_from(_FIRST_PRIVATE_FD)
        return
    if seat.level == UNCONFINED or seat.network != confinement.network:
        raise Unenforceable("the process was prepared for another kind of confinement")
    if seat.prepared is not None:
        mounts.apply(confinement, seat.prepared)
        mounts.hide(confinement.hidden)
    else:
        check_landlock_suffices(confinement)
    limits.apply(confinement.limits, own_user_namespace=seat.level == FULL)
    terminal = inside() if inside is not None else None
    capabilities.drop()
    # Only now: in a user namespace our own capabilities would open directories that the command may not enter.
    os.chdir(cwd)
    landlock_rules.restrict(confinement, seat.abi, private_dev=seat.level == FULL, terminal=terminal or "")
    kernel.close_on_exec_from(_FIRST_PRIVATE_FD)
    seccomp_filter.load(_filter_for(confinement, seat, own_group=own_group))


def _filter_for(confinement: Confinement, seat: Seat, *, own_group: bool) -> "tuple[bytes, ...]":
    writes = confinement.base == WRITE or any(entry.access == WRITE for entry in confinement.entries)
    return seccomp_filter.program(
        network=confinement.network,
        own_namespaces=seat.level != LANDLOCK,
        freeze_metadata=seat.level == LANDLOCK and not writes,
        scoped_signals="signal" in landlock_rules.describe(seat.abi)[2],
        superuser=os.geteuid() == 0,
        own_group=own_group,
    )
