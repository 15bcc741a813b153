"""One confined command with the caller's own terminal or pipes: the engine of `pycodex sandbox linux`.

Runs in the caller's process, which stays outside as the trusted parent: it passes signals on, waits, ends the whole
tree, and tidies up. Nothing is copied: the command has the caller's stdin, stdout and stderr.
"""

import _signal
import marshal
import os
import time

from pycodex.linux_sandbox import apply, box, init, kernel, placeholders, tree
from pycodex.protocol.confinement import (
    FULL,
    LANDLOCK,
    UNCONFINED,
    CannotExec,
    Confinement,
    Enforced,
    Outcome,
    Unenforceable,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FORWARDED = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT)
_GRACE_SECONDS = 2.0
_SENT_BY_KERNEL = 0x80


class _Unseated(Unenforceable):
    """The host cannot give this level at all, whatever the command."""


def run_once(
    confinement: Confinement, *, argv: "Sequence[str]", cwd: str, env: "Mapping[str, str]"
) -> Outcome:
    """Raises Unenforceable or CannotExec; in both cases nothing of the command has run."""
    old_mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, (*_FORWARDED, _signal.SIGCHLD))
    kernel.become_subreaper()
    if confinement.ledger:
        placeholders.sweep(confinement.ledger)
    held = placeholders.hold(confinement.placeholders, confinement.ledger) if confinement.placeholders else None
    try:
        return _run_at_best_level(confinement, argv, cwd, env)
    finally:
        if held is not None:
            held.release()
        _signal.pthread_sigmask(_signal.SIG_SETMASK, old_mask)


def _run_at_best_level(
    confinement: Confinement, argv: "Sequence[str]", cwd: str, env: "Mapping[str, str]"
) -> Outcome:
    if confinement.unconfined_because:
        return _run(UNCONFINED, confinement, argv, cwd, env)
    try:
        return _run(FULL, confinement, argv, cwd, env)
    except _Unseated:
        apply.check_landlock_suffices(confinement)
    return _run_guarded(confinement, argv, cwd, env)


def _run_guarded(confinement: Confinement, argv: "Sequence[str]", cwd: str, env: "Mapping[str, str]") -> Outcome:
    from pycodex.linux_sandbox.guard import watch_protected

    guard = watch_protected(confinement)
    outcome = _run(LANDLOCK, confinement, argv, cwd, env)
    return outcome.replace(notes=(*outcome.notes, *guard.restore()))


def _run(
    level: str, confinement: Confinement, argv: "Sequence[str]", cwd: str, env: "Mapping[str, str]"
) -> Outcome:
    verdict_fd, verdict_to = os.pipe()

    def body() -> None:
        os.close(verdict_fd)
        _become_command(verdict_to, level, confinement, (argv, cwd, env))

    try:
        opened = box.open_box(level, network=confinement.network, body=body)
    except Unenforceable as error:
        os.close(verdict_fd)
        raise _Unseated(str(error)) from None
    finally:
        os.close(verdict_to)
    try:
        enforced = _read_verdict(verdict_fd)
    except BaseException:
        _finish(opened, level, kill=True)
        raise
    finally:
        os.close(verdict_fd)
    interrupted_by = _wait(opened)
    return _outcome(opened, enforced, interrupted_by)


def _become_command(
    verdict_to: int, level: str, confinement: Confinement, command: "tuple[Sequence[str], str, Mapping[str, str]]"
) -> None:
    argv, cwd, env = command
    step = "seat"
    subject = cwd
    try:
        seat = apply.take_seat(level, network=confinement.network)
        step = "confine"
        apply.confine(confinement, seat, cwd)
        _tell(verdict_to, "enforced", apply.describe(seat).to_plain())
        subject = argv[0]
        apply.execute(argv, env)
    except Unenforceable as error:
        _tell(verdict_to, step, str(error))
    except OSError as error:
        _tell(verdict_to, "exec", (error.errno or 0, subject))
    except BaseException as error:
        _tell(verdict_to, "confine", f"{type(error).__name__}: {error}")


def _tell(fd: int, kind: str, value: object) -> None:
    os.write(fd, marshal.dumps((kind, value)))


def _read_verdict(fd: int) -> Enforced:
    with os.fdopen(fd, "rb", closefd=False) as stream:
        messages = []
        while stream.peek(1):
            messages.append(marshal.load(stream))
    if not messages:
        raise Unenforceable("the confined process ended before it could report")
    kind, value = messages[-1]
    if kind == "enforced":
        return Enforced.from_plain(value)
    if kind == "seat":
        raise _Unseated(value)
    if kind == "confine":
        raise Unenforceable(value)
    raise CannotExec(*value)


def _wait(opened: box.Box) -> "int | None":
    """Until the init has ended. Returns the signal that made us end the command, if any did."""
    interrupted_by: int | None = None
    deadline: float | None = None
    waited = {*_FORWARDED, _signal.SIGCHLD}
    while not _has_ended(opened.pid):
        if deadline is None:
            received = _signal.sigwaitinfo(waited)
        else:
            timed = _signal.sigtimedwait(waited, max(0.0, deadline - time.monotonic()))
            if timed is None:
                os.kill(opened.pid, _signal.SIGKILL)
                deadline = None
                continue
            received = timed
        if received.si_signo == _signal.SIGCHLD:
            continue
        if _must_end(opened.pid, received):
            interrupted_by = interrupted_by or received.si_signo
            deadline = deadline or time.monotonic() + _GRACE_SECONDS
    return interrupted_by


def _must_end(init_pid: int, received: "_signal.struct_siginfo") -> bool:
    """Pass a signal on. From the terminal the command got it already, and one that handles it decides for itself."""
    commands = tree.children(init_pid)
    if received.si_code == _SENT_BY_KERNEL:
        return not any(_catches(pid, received.si_signo) for pid in commands)
    for pid in commands:
        try:
            os.kill(pid, received.si_signo)
        except ProcessLookupError:
            continue
    return True


def _catches(pid: int, number: int) -> bool:
    try:
        with open(f"/proc/{pid}/status", "rb") as status:
            for line in status:
                if line.startswith(b"SigCgt:"):
                    return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    except OSError:
        pass
    return False


def _has_ended(pid: int) -> bool:
    return os.waitpid(pid, os.WNOHANG)[0] == pid


def _outcome(opened: box.Box, enforced: Enforced, interrupted_by: "int | None") -> Outcome:
    data = os.read(opened.report_fd, init.REPORT.size)
    os.close(opened.report_fd)
    if enforced.level == LANDLOCK or (enforced.level == UNCONFINED and interrupted_by):
        tree.kill_descendants(os.getpid())
    if len(data) < init.REPORT.size:
        return Outcome(enforced=enforced, signal=_signal.SIGKILL, interrupted_by=interrupted_by)
    code = os.waitstatus_to_exitcode(init.REPORT.unpack(data)[0])
    return Outcome(
        enforced=enforced,
        code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        interrupted_by=interrupted_by,
    )


def _finish(opened: box.Box, level: str, *, kill: bool) -> None:
    os.close(opened.report_fd)
    if kill:
        os.kill(opened.pid, _signal.SIGKILL)
    os.waitpid(opened.pid, 0)
    if level != FULL:
        tree.kill_descendants(os.getpid())
