"""How the fetching of a model is told on stderr.

Owns the layout: one line that is written over on a terminal, and elsewhere a line whenever there is something new to
read. Knows nothing of where a model comes from.
"""

from collections.abc import Callable

from pycodex.supervisor.frontends.exec.style import harmless
from pycodex.supervisor.model.oss import Pulled

_GIB = 1 << 30
_STEP_PERCENT = 10
_OVER = "\r\x1b[K"


class PullProgress:
    """`write` takes text for stderr. Call it with every step, then `end` it."""

    def __init__(self, write: Callable[[str], None], *, overwrites: bool) -> None:
        self._write = write
        self._overwrites = overwrites
        self._last: tuple[str, int] = ("", -1)
        self._is_open = False

    def __call__(self, step: Pulled) -> None:
        percent = step.completed_bytes * 100 // step.total_bytes if step.total_bytes else 0
        if self._overwrites:
            self._write(f"{_OVER}{told(step)}")
            self._is_open = True
            return
        news = step.status, percent // _STEP_PERCENT
        if news != self._last:
            self._last = news
            self._write(f"{told(step)}\n")

    def end(self) -> None:
        if self._is_open:
            self._is_open = False
            self._write("\n")


def told(step: Pulled) -> str:
    status = harmless(step.status)
    if not step.total_bytes:
        return status
    done, total = step.completed_bytes / _GIB, step.total_bytes / _GIB
    return f"{status} {done:.2f}/{total:.2f} GB ({100 * step.completed_bytes / step.total_bytes:.1f}%)"
