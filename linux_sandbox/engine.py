"""Everything that a trusted parent process asks of this backend, in one place.

The worker and the command line see this object and none of the modules behind it.
"""

import marshal
import os

from pycodex.linux_sandbox import apply, box, init, kernel, placeholders, tree, watch
from pycodex.protocol.confinement import FULL, LANDLOCK, NO_LEVEL, Confinement, Enforced, Limits, Unenforceable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pycodex.linux_sandbox.guard import Guard


class Ended:
    """What the init reported of its command."""

    __slots__ = ("cpu_ms", "peak_rss_bytes", "status", "survivors")

    def __init__(self, report: bytes) -> None:
        self.status, user, user_us, system, system_us, peak_kib, self.survivors = init.REPORT.unpack(report)
        self.cpu_ms = (user + system) * 1000 + (user_us + system_us) / 1000
        self.peak_rss_bytes = peak_kib * 1024


class Engine:
    """The Linux backend."""

    report_bytes = init.REPORT.size
    watch_interval_seconds = watch.INTERVAL_SECONDS

    def examine(self) -> Enforced:
        """What this host can enforce, found out by doing it in a child."""
        reasons: list[str] = []
        for level in (FULL, LANDLOCK):
            try:
                found = _try_level(level)
            except Unenforceable as error:
                reasons.append(str(error))
                continue
            return found.replace(degraded=(*reasons, *found.degraded))
        return Enforced(level=NO_LEVEL, degraded=tuple(reasons))

    def open_box(self, level: str, *, network: bool, body: "Callable[[], None]") -> box.Box:
        return box.open_box(level, network=network, body=body)

    def take_seat(self, level: str, *, network: bool) -> apply.Seat:
        return apply.take_seat(level, network=network)

    def describe(self, seat: apply.Seat) -> Enforced:
        return apply.describe(seat)

    def confine(self, confinement: Confinement, seat: apply.Seat, cwd: str, *, inside: "Callable[[], None]") -> None:
        apply.confine(confinement, seat, cwd, inside=inside)

    def execute(self, argv: "Sequence[str]", env: "Mapping[str, str]") -> None:
        apply.execute(argv, env)

    def hold_placeholders(self, paths: "Iterable[str]", ledger: str) -> placeholders.Held:
        return placeholders.hold(paths, ledger)

    def watch_protected(self, confinement: Confinement) -> "Guard":
        from pycodex.linux_sandbox.guard import watch_protected

        return watch_protected(confinement)

    def become_subreaper(self) -> None:
        kernel.become_subreaper()

    def children(self, pid: int) -> "list[int]":
        return tree.children(pid)

    def descendants(self, pid: int) -> "list[int]":
        return tree.descendants(pid)

    def kill_descendants(self, pid: int, *, spare: "frozenset[int]" = frozenset()) -> "list[int]":
        return tree.kill_descendants(pid, spare=spare)

    def needs_watch(self, limits: Limits) -> bool:
        return watch.is_needed(limits)

    def exceeded(self, pid: int, limits: Limits) -> str:
        return watch.exceeded(pid, limits)


def _try_level(level: str) -> Enforced:
    answer_fd, answer_to = os.pipe()

    def body() -> None:
        try:
            answer: object = apply.describe(apply.take_seat(level, network=False)).to_plain()
        except Unenforceable as error:
            answer = str(error)
        os.write(answer_to, marshal.dumps(answer))

    try:
        opened = box.open_box(level, network=False, body=body)
    except Unenforceable:
        os.close(answer_fd)
        raise
    finally:
        os.close(answer_to)
    data = os.read(answer_fd, 65536)
    os.close(answer_fd)
    os.waitpid(opened.pid, 0)
    os.close(opened.report_fd)
    answer = marshal.loads(data) if data else "the probe was killed"
    if isinstance(answer, str):
        raise Unenforceable(answer)
    return Enforced.from_plain(answer)
