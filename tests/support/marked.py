"""Processes that can be found on the host however they hide: by a number in their argument list that nobody else has.

Owns the number and the search. Knows nothing of how they are started or ended.
"""

import itertools
import os

import psutil

_counter = itertools.count(1)

# Three processes that wait: one in the session, one in a session of its own, and one whose parents have all gone.
_FAMILY = "sleep {mark} & setsid sleep {mark} & (setsid sh -c 'sleep {mark} & exit' &); echo complete; {end}"


class Mark:
    """`sleep {mark}` lasts for days and is findable. Use it as an argument of anything that should be found."""

    def __init__(self) -> None:
        self._number = f"1000000.{os.getpid()}{next(_counter):04d}"

    def __str__(self) -> str:
        return self._number

    def family(self, end: str = "wait") -> str:
        """A shell script that starts three sleepers, says `complete`, and does `end`."""
        return _FAMILY.format(mark=self, end=end)

    def alive(self) -> set[int]:
        """Host pids of all that carry it and are not dead."""
        return {process.pid for process in psutil.process_iter() if self._carried_by(process)}

    def sleepers(self) -> set[int]:
        """Those that have become `sleep`, without the shells on their way there."""
        return {pid for pid in self.alive() if _argv(pid)[:1] == ["sleep"]}

    def _carried_by(self, process: psutil.Process) -> bool:
        try:
            return any(self._number in word for word in process.cmdline()) and process.status() != "zombie"
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return False


def _argv(pid: int) -> list[str]:
    try:
        return list(psutil.Process(pid).cmdline())
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return []
