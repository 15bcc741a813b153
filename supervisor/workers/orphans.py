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
QUIET_ROUNDS = 2


def become_subreaper() -> None:
    """From now on, orphans among our descendants become our children instead of init's."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def tree_of(roots: Iterable[int]) -> list[int]:
    """The roots that exist and all their descendants, with those that only wait to be reaped; parents first."""
    children: dict[int, list[int]] = {}
    present = set()
    for name in os.listdir("/proc"):
        if name.isdecimal():
            parent = _parent_of(name)
            if parent is not None:
                present.add(int(name))
                children.setdefault(parent, []).append(int(name))
    found: dict[int, None] = {}
    pending = [pid for pid in roots if pid in present]
    while pending:
        pid = pending.pop()
        if pid not in found:
            found[pid] = None
            pending.extend(children.get(pid, ()))
    return list(found)


def _parent_of(pid: str) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split(maxsplit=2)[1])
    except (OSError, ValueError, IndexError):
        return None


def kill_trees(roots: Iterable[int]) -> list[int]:
    """Stop every process of the trees until no new one appears, then kill them all. Gives the pids killed.

    A process that forks and exits while it is looked for leaves a corpse, and where there is a fresh corpse there may
    be a child that was missed: corpses count as new ones. Two looks must find nothing, as a corpse may vanish, too.
    """
    own = os.getpid()
    roots = [pid for pid in roots if pid > 1 and pid != own]
    frozen: dict[int, None] = {}
    quiet_rounds = 0
    for _ in range(FREEZE_ROUNDS if roots else 0):
        fresh = [pid for pid in tree_of([*roots, *frozen]) if pid not in frozen]
        quiet_rounds = 0 if fresh else quiet_rounds + 1
        if quiet_rounds == QUIET_ROUNDS:
            break
        for pid in fresh:
            _signal(pid, signal.SIGSTOP)
            frozen[pid] = None
    for pid in frozen:
        _signal(pid, signal.SIGKILL)
    return list(frozen)


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
