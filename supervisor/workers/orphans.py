"""Nobody is left behind: adopting, ending and reaping process trees.

Owns the walk over /proc and the freeze-then-kill that no fork can outrun. Signals only descendants of the roots it is
given. Knows nothing of workers or messages.
"""

import ctypes
import os
import signal
import time
from collections.abc import Iterable

import trio

PR_SET_CHILD_SUBREAPER = 36
FREEZE_ROUNDS = 256
FREEZE_PAUSE_S = 0.0002
QUIET_ROUNDS = 2
RUNNING_STATES = (b"R", b"S", b"D")
DEAD_STATES = (b"Z", b"X")
_CHILDREN_ARE_LISTED = os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def become_subreaper() -> None:
    """From now on, orphans among our descendants become our children instead of init's."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def tree_of(roots: Iterable[int]) -> list[int]:
    """The roots that exist and all their descendants, with those that only wait to be reaped; parents first."""
    found: dict[int, None] = {}
    pending = [pid for pid in roots if _state_and_parent(pid)]
    while pending:
        pid = pending.pop()
        if pid not in found:
            found[pid] = None
            pending.extend(_children_of(pid))
    return list(found)


def kill_trees(roots: Iterable[int]) -> list[int]:
    """Stop every process of the trees, each as soon as it is seen, until no new one appears; then kill them all.

    A process that forks and exits while it is looked for leaves a corpse, and where there is a fresh corpse there may
    be a child that was missed: corpses count as new ones. Two looks must find nothing, as a corpse may vanish, too.
    Gives the pids killed.
    """
    own = os.getpid()
    roots = [pid for pid in roots if pid > 1 and pid != own and _state_and_parent(pid)]
    frozen: dict[int, bool] = {}
    quiet_rounds = 0
    for _ in range(FREEZE_ROUNDS if roots else 0):
        if _freeze(roots, frozen):
            quiet_rounds = 0
            time.sleep(FREEZE_PAUSE_S)
        else:
            quiet_rounds += 1
        if quiet_rounds == QUIET_ROUNDS:
            break
    # Children first: the end of a parent may wake a stopped child.
    for pid in reversed(frozen):
        _signal(pid, signal.SIGKILL)
    return list(frozen)


def _freeze(roots: Iterable[int], frozen: dict[int, bool]) -> bool:
    """One walk over the trees; whether somebody was met who is new, or who has not come to a stop yet.

    That takes a moment, in which a fork that has begun is finished. `frozen` tells who may have children.
    """
    restless = False
    seen = set()
    pending = [*roots, *(pid for pid, fertile in frozen.items() if fertile)]
    while pending:
        pid = pending.pop()
        if pid in seen or not frozen.get(pid, True):
            continue
        seen.add(pid)
        if pid not in frozen:
            restless = True
            _signal(pid, signal.SIGSTOP)
        found = _state_and_parent(pid)
        if found is not None:
            restless = restless or found[0] in RUNNING_STATES
            frozen[pid] = found[0] not in DEAD_STATES
            pending.extend(_children_of(pid))
    return restless


def _children_of(pid: int) -> list[int]:
    """Quick, so that few can slip away meanwhile; the slow way is for kernels that do not list children."""
    children = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                children += [int(word) for word in file.read().split()]
    except ProcessLookupError:
        return children
    except FileNotFoundError:
        if not _CHILDREN_ARE_LISTED:
            return [other for other in _all_pids() if (_state_and_parent(other) or (b"", 0))[1] == pid]
    return children


def _all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def _state_and_parent(pid: int) -> tuple[bytes, int] | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, parent = file.read().rpartition(b")")[2].split(maxsplit=2)[:2]
            return state, int(parent)
    except (OSError, ValueError):
        return None


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        # Gone already, or it took another identity by running a set-uid program: nothing more that we could do.
        pass


async def reap(pids: Iterable[int], *, within_s: float) -> list[int]:
    """Collect those of `pids` that are, or become, our children. Gives those that are still there at the end."""
    left = list(pids)
    deadline = time.monotonic() + within_s
    while True:
        left = [pid for pid in left if not _is_gone(pid)]
        if not left or time.monotonic() > deadline:
            return left
        await trio.sleep(0.01)


def _is_gone(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return not os.path.exists(f"/proc/{pid}")


async def reap_session(session: int, *, within_s: float) -> list[int]:
    """End and collect everybody of that session: what a dead zygote left to us and nobody knew by name."""
    deadline = time.monotonic() + within_s
    while True:
        left = [pid for pid in _all_pids() if _session_of(pid) == session and not _is_gone(pid)]
        if not left or time.monotonic() > deadline:
            return left
        for pid in left:
            _signal(pid, signal.SIGKILL)
        await trio.sleep(0.001)


def _session_of(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split(maxsplit=4)[3])
    except (OSError, ValueError):
        return None
