"""The first process of a box after it has confined itself: starts the command, reaps, and reports how it ended.

It is under the same Landlock domain and filter as the command, has no capabilities and cannot be read or signalled by
it. When it exits, the kernel ends whatever is left in its pid namespace.
"""

import _signal
import errno
import os
import struct

from pycodex.linux_sandbox import kernel
from pycodex.protocol.confinement import Ended

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_USAGE = struct.Struct("=5q")
"""User seconds and microseconds, system seconds and microseconds, peak RSS in KiB: the start of `struct rusage`."""

_CATCHABLE = tuple(_signal.valid_signals() - {_signal.SIGKILL, _signal.SIGSTOP})


def become_unreachable() -> None:
    """No signal from inside the box and no look into this process's memory."""
    # A handler, even Python's for SIGINT, would make pid 1 reachable by signals from inside its namespace.
    for number in _CATCHABLE:
        if number != _signal.SIGCHLD:
            _signal.signal(number, _signal.SIG_IGN)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)


def start(argv: "Sequence[str]", env: "Mapping[str, str]", **options: "Any") -> int:
    """Start the command with clean signals. `options` are os.posix_spawn's. Raises OSError as execvp would.

    The new process borrows our memory until it executes, which is several times faster than a copy.
    """
    if not argv or not argv[0]:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return os.posix_spawn(_found(argv[0], env), list(argv), env, setsigmask=(), setsigdef=_CATCHABLE, **options)


def _found(name: str, env: "Mapping[str, str]") -> str:
    """The file that execvp would run; looking first is cheaper than trying to start each candidate."""
    if "/" in name:
        return name
    refused = errno.ENOENT
    for folder in env.get("PATH", os.defpath).split(os.pathsep):
        path = f"{folder or '.'}/{name}"
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
        if os.path.isfile(path):
            refused = errno.EACCES
    raise OSError(refused, os.strerror(refused), name)


def reap_until(command: int) -> Ended:
    """Wait for `command`. Whoever is left by then has become our child."""
    while True:
        pid, status, usage = kernel.wait_for_any_child()
        if pid == command:
            break
    user, user_us, system, system_us, peak_kib = _USAGE.unpack_from(usage)
    cpu_ms = (user + system) * 1000 + (user_us + system_us) / 1000
    return Ended(
        status=status,
        cpu_ms=cpu_ms,
        peak_rss_bytes=peak_kib * 1024,
        survivors=_has_children(),
        processes=_started_in_namespace(),
    )


def _started_in_namespace() -> int:
    """By the number that was given out last, which the kernel tells each pid namespace of its own."""
    if os.getpid() != 1:
        return 0
    try:
        fd = os.open("/proc/loadavg", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        return int(os.read(fd, 128).split()[-1]) - 1
    except (OSError, ValueError, IndexError):
        return 0
    finally:
        os.close(fd)


def _has_children() -> bool:
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True
