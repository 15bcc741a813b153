"""The Landlock rules of one confinement.

Owns which rights each version of Landlock knows and who gets them. Takes a Confinement and the version (ABI) that the
kernel offers, binds the calling thread, and reports what that version covers. The rules name the files that are at the
paths now, so they are made after the mounts. Landlock only adds rights on the way down: what must be taken away again
below a granted path is the work of the mounts.
"""

import errno
import os
import struct

from pycodex.linux_sandbox import kernel
from pycodex.protocol.confinement import NONE, READ, WRITE, Confinement, Unenforceable

EXECUTE = 1 << 0
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
MAKE_CHAR = 1 << 6
MAKE_BLOCK = 1 << 11
REFER = 1 << 13
TRUNCATE = 1 << 14
IOCTL_DEV = 1 << 15
RESOLVE_UNIX = 1 << 16

_FIRST_RIGHTS = (1 << 13) - 1
# (version, right): what came after the first version.
_LATER_RIGHTS = ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV), (9, RESOLVE_UNIX))
_READING = EXECUTE | READ_FILE | READ_DIR
_ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
_ON_DEVICES = READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV
# Device nodes are ways around everything else; a socket of the host in a writable root still belongs to the host.
_NOT_IN_ROOTS = MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV | RESOLVE_UNIX

_TCP_BIND_AND_CONNECT = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11
_TCP_SINCE, _IOCTL_SINCE, _SCOPES_SINCE, _LOG_FLAGS_SINCE = 4, 5, 6, 7
# Keeps the command from filling the host's audit log with denials of sandboxes that it makes itself.
_LOG_SUBDOMAINS_OFF = 4

_VERSION_QUERY = 1
_PATH_BENEATH = 1
_ATTRIBUTES = struct.Struct("=QQQ")
_PATH_RULE = struct.Struct("=Qi")

_HOST_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")


def landlock_abi() -> int:
    """The version of Landlock that this kernel offers; 0 for none."""
    try:
        return kernel.call("landlock_create_ruleset", None, 0, _VERSION_QUERY)
    except OSError:
        # Not built in, switched off, or kept from us by a container's filter.
        return 0


def describe(abi: int) -> "tuple[str, bool, tuple[str, ...], bool, tuple[str, ...]]":
    """What version `abi` covers: files, TCP, scopes, device ioctls, and in words what it lacks."""
    if abi < 1:
        return "none", False, (), False, ("no Landlock in this kernel",)
    degraded = []
    if abi < 2:
        degraded.append("Landlock 1: nothing can be moved or linked from one directory to another")
    if abi < 3:
        degraded.append(f"Landlock {abi}: truncation of files is left to read-only mounts")
    if abi < _IOCTL_SINCE:
        degraded.append(f"Landlock {abi}: device ioctls are left to the system call filter")
    if abi < _SCOPES_SINCE:
        degraded.append(f"Landlock {abi}: signals and abstract sockets are left to namespaces and system call filter")
    return (
        "no-refer" if abi < 2 else "no-truncate" if abi < 3 else "full",
        abi >= _TCP_SINCE,
        ("abstract_unix_socket", "signal") if abi >= _SCOPES_SINCE else (),
        abi >= _IOCTL_SINCE,
        tuple(degraded),
    )


def restrict(confinement: Confinement, abi: int, *, private_dev: bool, terminal: str = "") -> None:
    """Bind this thread and what it starts, for good. Sets no_new_privs, without which the kernel refuses.

    `private_dev`: /dev holds nothing but the harmless devices, and terminals and shared memory that are the command's
    own; on the host's /dev only the harmless devices are granted, and `terminal`, if the command has one of its own.
    """
    if abi < 1:
        raise Unenforceable("this kernel has no Landlock (it needs 5.13 or later, with `landlock` among its LSMs)")
    files = 0 if confinement.base == WRITE else handled_rights(abi)
    tcp = _TCP_BIND_AND_CONNECT if abi >= _TCP_SINCE and not confinement.network else 0
    scopes = _ABSTRACT_SOCKETS_AND_SIGNALS if abi >= _SCOPES_SINCE else 0
    if not (files or tcp or scopes):
        return
    attributes = _ATTRIBUTES.pack(files, tcp, scopes)
    ruleset = kernel.call("landlock_create_ruleset", attributes, _attributes_size(abi), 0)
    try:
        if files:
            for path, rights in granted(confinement, private_dev=private_dev):
                _allow(ruleset, path, rights & files)
            if terminal and not private_dev:
                _allow(ruleset, terminal, _ON_DEVICES & files)
        kernel.no_new_privileges()
        _enter(ruleset, _LOG_SUBDOMAINS_OFF if abi >= _LOG_FLAGS_SINCE else 0)
    finally:
        os.close(ruleset)


def handled_rights(abi: int) -> int:
    """All rights on files that version `abi` knows; what is handled and not granted is denied."""
    rights = _FIRST_RIGHTS
    for since, right in _LATER_RIGHTS:
        if abi >= since:
            rights |= right
    return rights


def granted(confinement: Confinement, *, private_dev: bool) -> "list[tuple[str, int]]":
    """Paths and the rights that hold at and below each of them, as of the newest version."""
    writing = handled_rights(_LATER_RIGHTS[-1][0]) & ~_NOT_IN_ROOTS
    paths = []
    if confinement.base == READ:
        paths.append(("/", _READING))
    elif confinement.base == NONE and private_dev:
        paths.append(("/proc", _READING))
    for entry in confinement.entries:
        if entry.access == WRITE:
            paths.append((entry.path, writing))
        elif entry.access == READ and confinement.base == NONE:
            paths.append((entry.path, _READING))
    if private_dev:
        paths += [("/dev", _ON_DEVICES | READ_DIR), ("/dev/shm", writing)]
    else:
        paths += [(path, _ON_DEVICES) for path in _HOST_DEVICES]
    return paths


def _attributes_size(abi: int) -> int:
    if abi >= _SCOPES_SINCE:
        return 24
    return 16 if abi >= _TCP_SINCE else 8


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = kernel.open_without_links(path, os.O_PATH | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        # Nothing there that could be granted.
        return
    except OSError as error:
        # A directory on the way has been exchanged for a link: following it would grant what nobody asked for.
        raise Unenforceable(f"cannot grant {path}: {os.strerror(error.errno or 0)} (it changed meanwhile)") from None
    try:
        _add_rule(ruleset, fd, rights)
    except OSError as error:
        if error.errno != errno.EINVAL or not rights & ~_ON_FILES:
            raise
        # Not a directory. Trying is cheaper than asking first, as roots hardly ever are files.
        _add_rule(ruleset, fd, rights & _ON_FILES)
    finally:
        os.close(fd)


def _add_rule(ruleset: int, fd: int, rights: int) -> None:
    kernel.call("landlock_add_rule", ruleset, _PATH_BENEATH, _PATH_RULE.pack(rights, fd), 0)


def _enter(ruleset: int, flags: int) -> None:
    try:
        kernel.call("landlock_restrict_self", ruleset, flags)
    except OSError as error:
        if error.errno == errno.E2BIG:
            raise Unenforceable(
                "there are already 16 Landlock sandboxes around this one, the most that the kernel stacks:"
                " run it from outside of them"
            ) from None
        raise
