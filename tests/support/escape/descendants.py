"""Processes that outlive the call that started them.

Owns the rule that orphans come back to the test process, so that none can hide, and the list of those that did.
"""

import os
from pathlib import Path

from escape.programs.rawcalls import syscall

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans(*, wanted: bool) -> None:
    """From now on (or no longer) every orphaned descendant becomes a child of this process."""
    syscall("prctl", PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)


def children() -> set[int]:
    """Pids of the children of this process, the dead but unreaped included."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        found.update(int(pid) for pid in (task / "children").read_text(encoding="ascii").split())
    return found


def orphans(expected: set[int]) -> set[int]:
    """Living children that are not `expected`. Those that are dead are reaped on the way."""
    return {pid for pid in children() - expected if not _reaped(pid)}


def _reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
