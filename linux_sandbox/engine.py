"""Everything that a trusted parent process asks of this backend, in one place.

The worker and the command line see this object and none of the modules behind it.
"""

import os

from pycodex.linux_sandbox import (
    apply,
    box,
    init,
    kernel,
    namespaces,
    placeholders,
    repositories,
    seccomp_filter,
    tree,
    watch,
)
from pycodex.linux_sandbox.line import hear, order, take_order, tell
from pycodex.protocol.confinement import FULL, LANDLOCK, NO_LEVEL, Confinement, Ended, Enforced, Limits, Unenforceable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from pycodex.linux_sandbox.guard import Guard

_SIGKILL = 9


class Engine:
    """The Linux backend."""

    watch_interval_seconds = watch.INTERVAL_SECONDS
    order = staticmethod(order)
    take_order = staticmethod(take_order)
    tell = staticmethod(tell)
    hear = staticmethod(hear)

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

    def fork_with_box(self, level: str, *, network: bool) -> "tuple[int, int]":
        return box.fork_with_box(level, network=network)

    def fork(self) -> int:
        return namespaces.fork()

    def clone_sibling(self, *, network: bool) -> int:
        """One more first process of a box of level `full`, as a child of our parent."""
        return namespaces.clone_sibling(with_network=network)

    def die_with_parent(self) -> None:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, _SIGKILL)

    def run_first_process(
        self, level: str, identity: "tuple[int, int]", line: int, body: "Callable[[int], None]"
    ) -> None:
        box.run_first_process(level, identity, line, body)

    def forbidden(self, number: int) -> Unenforceable:
        return box.forbidden(number)

    def objection(self, confinement: Confinement, host: Enforced) -> str:
        """Why a host of this level refuses the confinement; empty if it does not."""
        if host.level == NO_LEVEL:
            return "; ".join(host.degraded)
        try:
            if host.level == LANDLOCK and not confinement.unconfined_because:
                apply.check_landlock_suffices(confinement)
        except Unenforceable as error:
            return str(error)
        return ""

    def stillborn(self, answer: "tuple[str, ...] | None") -> Unenforceable:
        return box.stillborn(answer)

    def preload(self) -> None:
        """Read what every box needs once, in the process that all of them are forked from."""
        for network in (False, True):
            seccomp_filter.program(network=network, superuser=os.geteuid() == 0)

    def take_seat(self, level: str, *, network: bool) -> apply.Seat:
        return apply.take_seat(level, network=network)

    def describe(self, level: str, *, network: bool, abi: int, private_proc: bool) -> Enforced:
        return apply.describe(level, network=network, abi=abi, private_proc=private_proc)

    def confine(
        self, confinement: Confinement, seat: apply.Seat, cwd: str, *, inside: "Callable[[], str | None]"
    ) -> None:
        apply.confine(confinement, seat, cwd, inside=inside)

    def start(self, argv: "Sequence[str]", env: "Mapping[str, str]", **options: "Any") -> int:
        return init.start(argv, env, **options)

    def reap_until(self, command: int) -> Ended:
        return init.reap_until(command)

    def hold_placeholders(self, paths: "Sequence[str]", ledger: str) -> placeholders.Held:
        return placeholders.hold(paths, ledger)

    def watch_protected(self, confinement: Confinement) -> "Guard":
        from pycodex.linux_sandbox.guard import watch_protected

        return watch_protected(confinement)

    def disarm_repositories(self, confinement: Confinement) -> "tuple[str, ...]":
        return repositories.disarm(confinement.not_repositories)

    def become_subreaper(self) -> None:
        kernel.become_subreaper()

    def children(self, pid: int) -> "list[int]":
        return tree.children(pid)

    def descendants(self, pid: int) -> "list[int]":
        return tree.descendants(pid)

    def is_ending(self, pid: int) -> bool:
        return tree.is_ending(pid)

    def kill_descendants(self, pid: int, *, spare: "frozenset[int]" = frozenset()) -> "list[int]":
        return tree.kill_descendants(pid, spare=spare)

    def needs_watch(self, limits: Limits) -> bool:
        return watch.is_needed(limits)

    def exceeded(self, pid: int, limits: Limits) -> str:
        return watch.exceeded(pid, limits)


def _try_level(level: str) -> Enforced:
    line = os.pipe()

    def body(to_parent: int) -> None:
        try:
            tell(to_parent, apply.take_seat(level, network=False).enforced().to_plain())
        except Unenforceable as error:
            tell(to_parent, str(error))

    try:
        pid = box.open_box(level, network=False, line=line, body=body)
        box.confirm_birth(pid, line[0])
        message = hear(line[0])
        os.waitpid(pid, 0)
    finally:
        os.close(line[0])
    answer = message[0] if message else "the probe was killed"
    if isinstance(answer, str):
        raise Unenforceable(answer)
    return Enforced.from_plain(answer)
