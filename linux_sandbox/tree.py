"""Finding and ending all descendants of a process, for levels where no pid namespace does it.

Reads /proc only. A process that escapes its session or its parent is still found: the callers are child subreapers, so
every orphan below them comes back to them.
"""

import errno
import os
import time

_SIGKILL = 9
_EXITING = 0x4


def children(pid: int) -> "list[int]":
    found: list[int] = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for task in tasks:
        try:
            fd = os.open(f"/proc/{pid}/task/{task}/children", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return _children_by_scan(pid)
        except OSError:
            continue
        try:
            found += [int(word) for word in _read_all(fd).split()]
        except OSError as error:
            if error.errno != errno.ESRCH:
                raise
        finally:
            os.close(fd)
    return found


def descendants(pid: int) -> "list[int]":
    """Children before grandchildren."""
    found: list[int] = []
    level = children(pid)
    while level:
        found += level
        level = [child for parent in level for child in children(parent)]
    return found


def kill_descendants(pid: int, *, spare: "frozenset[int]" = frozenset(), within_seconds: float = 2.0) -> "list[int]":
    """Kill every descendant but the spared and theirs, and reap our own; returns those that would not die in time."""
    deadline = time.monotonic() + within_seconds
    while True:
        # Only when nobody is listed, not even the dead, is nobody left: while we looked at a list, somebody on it may
        # have died and left us a child that is not. And a process whose first thread has ended looks dead, too.
        found = _unspared(pid, spare)
        if not found or time.monotonic() > deadline:
            return [each for each in found if not _is_zombie(each)]
        for each in found:
            try:
                os.kill(each, _SIGKILL)
            except ProcessLookupError:
                continue
        _reap(pid, spare)
        time.sleep(0.001)


def _unspared(pid: int, spare: "frozenset[int]") -> "list[int]":
    found: list[int] = []
    level = [child for child in children(pid) if child not in spare]
    while level:
        found += level
        level = [child for parent in level for child in children(parent) if child not in spare]
    return found


def _reap(pid: int, spare: "frozenset[int]") -> None:
    if pid != os.getpid():
        return
    for child in children(pid):
        if child not in spare and _is_zombie(child):
            try:
                os.waitpid(child, os.WNOHANG)
            except ChildProcessError:
                continue


def _is_zombie(pid: int) -> bool:
    return state_and_parent(pid)[0] in ("Z", "X", "")


def state_and_parent(pid: int) -> "tuple[str, int]":
    """The letter of the process state and the parent's pid; ("", 0) if there is no such process."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return "", 0
    try:
        fields = os.read(fd, 4096).rpartition(b")")[2].split()
    except OSError:
        return "", 0
    finally:
        os.close(fd)
    return fields[0].decode(), int(fields[1])


def is_ending(pid: int) -> bool:
    """Gone, dead, or on its way out: it has let go of everything but its name."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        fields = os.read(fd, 4096).rpartition(b")")[2].split()
    except OSError:
        return True
    finally:
        os.close(fd)
    return fields[0] in (b"Z", b"X") or bool(int(fields[6]) & _EXITING)


def _children_by_scan(pid: int) -> "list[int]":
    everybody = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [each for each in everybody if state_and_parent(each)[1] == pid]


def _read_all(fd: int) -> bytes:
    parts = []
    while part := os.read(fd, 65536):
        parts.append(part)
    return b"".join(parts)
