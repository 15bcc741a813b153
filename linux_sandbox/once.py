"""One confined command with the caller's own terminal or pipes: the engine of `pycodex sandbox linux`.

Runs in the caller's process, which stays outside as the trusted parent: it passes signals on, waits, ends the whole
tree, and tidies up. Nothing is copied: the command has the caller's stdin, stdout and stderr.
"""

import _signal
import os
import time

from pycodex.linux_sandbox import apply, box, init, kernel, placeholders, repositories, streams, tree, watch
from pycodex.linux_sandbox.line import hear, tell
from pycodex.protocol.confinement import (
    FULL,
    LANDLOCK,
    UNCONFINED,
    CannotExec,
    Confinement,
    Enforced,
    Limits,
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


def run_once(confinement: Confinement, *, argv: "Sequence[str]", cwd: str, env: "Mapping[str, str]") -> Outcome:
    """Raises Unenforceable or CannotExec; in both cases nothing of the command has run."""
    old_mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, (*_FORWARDED, _signal.SIGCHLD))
    kernel.become_subreaper()
    if confinement.ledger:
        placeholders.sweep(confinement.ledger)
    try:
        outcome = _run_at_best_level(confinement, argv, cwd, env)
        return outcome.replace(notes=(*outcome.notes, *repositories.disarm(confinement.not_repositories)))
    finally:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, old_mask)


def _run_at_best_level(confinement: Confinement, argv: "Sequence[str]", cwd: str, env: "Mapping[str, str]") -> Outcome:
    if confinement.unconfined_because:
        return _run(UNCONFINED, confinement, argv, cwd, env)
    # Without mounts there is nothing to cover a missing name with: there the guard removes what was made of it.
    held = placeholders.hold(confinement.placeholders, confinement.ledger) if confinement.placeholders else None
    try:
        return _run(FULL, confinement, argv, cwd, env)
    except _Unseated:
        apply.check_landlock_suffices(confinement)
    finally:
        if held is not None:
            held.release()
    return _run_guarded(confinement, argv, cwd, env)


def _run_guarded(confinement: Confinement, argv: "Sequence[str]", cwd: str, env: "Mapping[str, str]") -> Outcome:
    from pycodex.linux_sandbox.guard import watch_protected

    guard = watch_protected(confinement)
    notes: tuple[str, ...] = ()
    try:
        outcome = _run(LANDLOCK, confinement, argv, cwd, env)
    finally:
        notes = guard.restore()
    return outcome.replace(notes=(*outcome.notes, *notes))


def _run(level: str, confinement: Confinement, argv: "Sequence[str]", cwd: str, env: "Mapping[str, str]") -> Outcome:
    line = os.pipe()

    def body(to_parent: int) -> None:
        _serve(to_parent, level, confinement, (argv, cwd, env))

    try:
        pid = box.open_box(level, network=confinement.network, line=line, body=body)
        box.confirm_birth(pid, line[0])
    except Unenforceable as error:
        os.close(line[0])
        raise _Unseated(str(error)) from None
    interrupted_by, reason = None, ""
    try:
        enforced = _read_verdict(line[0])
        interrupted_by, reason = _wait(pid, confinement.limits)
        ended = hear(line[0])
    finally:
        os.close(line[0])
        _finish(pid)
        if level == LANDLOCK or (level == UNCONFINED and (interrupted_by or reason)):
            tree.kill_descendants(os.getpid())
    return _outcome(enforced, ended, interrupted_by, reason)


def _serve(
    to_parent: int, level: str, confinement: Confinement, command: "tuple[Sequence[str], str, Mapping[str, str]]"
) -> None:
    """The first process of the box."""
    argv, cwd, env = command
    step = "unseated"
    subject = cwd
    try:
        seat = apply.take_seat(level, network=confinement.network)
        step = "refused"
        inside = streams.reopen_read_only if level == FULL else None
        # It stays in the caller's group: a terminal serves one group at a time.
        apply.confine(confinement, seat, cwd, inside=inside, own_group=False)
        tell(to_parent, "confined", seat.enforced().to_plain())
        subject = argv[0]
        pid = init.start(argv, env)
    except Unenforceable as error:
        tell(to_parent, step, str(error))
    except OSError as error:
        tell(to_parent, "failed", error.errno or 0, subject)
    except BaseException as error:
        tell(to_parent, "refused", f"{type(error).__name__}: {error}")
    else:
        tell(to_parent, "started")
        for standard in (0, 1, 2):
            os.close(standard)
        ended = init.reap_until(pid)
        tell(to_parent, "ended", ended.status)


def _read_verdict(fd: int) -> Enforced:
    """What is enforced, once the command was started. Without a pid namespace it may have ended the box by then."""
    message = hear(fd)
    if message is None:
        raise Unenforceable("the confined process ended before it could report")
    kind, *rest = message
    if kind == "unseated":
        raise _Unseated(rest[0])
    if kind == "refused":
        raise Unenforceable(rest[0])
    if kind == "failed":
        raise CannotExec(*rest)
    enforced = Enforced.from_plain(rest[0])
    match hear(fd):
        case ("failed", number, subject):
            raise CannotExec(number, subject)
        case ("refused", text):
            raise Unenforceable(text)
    return enforced


def _wait(pid: int, limits: Limits) -> "tuple[int | None, str]":
    """Until the box has ended. Returns the signal or the limit that made us end it, if one did."""
    interrupted_by: int | None = None
    reason = ""
    deadline: float | None = None
    waited = {*_FORWARDED, _signal.SIGCHLD}
    watched = watch.is_needed(limits)
    while not _has_ended(pid):
        received = _next_signal(waited, deadline, watched=watched)
        if received is None:
            reason = watch.exceeded(pid, limits) if watched and not reason else reason
            if reason or (deadline is not None and time.monotonic() >= deadline):
                os.kill(pid, _signal.SIGKILL)
                deadline = None
        elif received.si_signo != _signal.SIGCHLD and _must_end(pid, received):
            interrupted_by = interrupted_by or received.si_signo
            deadline = deadline or time.monotonic() + _GRACE_SECONDS
    return interrupted_by, reason


def _next_signal(waited: "set[int]", deadline: "float | None", *, watched: bool) -> "_signal.struct_siginfo | None":
    if deadline is None and not watched:
        return _signal.sigwaitinfo(waited)
    patience = watch.INTERVAL_SECONDS if watched else _GRACE_SECONDS
    if deadline is not None:
        patience = min(patience, max(0.0, deadline - time.monotonic()))
    return _signal.sigtimedwait(waited, patience)


def _must_end(init_pid: int, received: "_signal.struct_siginfo") -> bool:
    """Pass a signal on. From the terminal the command got it already, and one that handles it decides for itself."""
    commands = tree.descendants(init_pid)
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
    """Leaves the body for `_finish`."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _outcome(
    enforced: Enforced, ended: "tuple[object, ...] | None", interrupted_by: "int | None", reason: str
) -> Outcome:
    notes = (reason,) if reason else ()
    code = os.waitstatus_to_exitcode(int(str(ended[1]))) if ended is not None else -_signal.SIGKILL
    return Outcome(
        enforced=enforced,
        code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        interrupted_by=interrupted_by,
        notes=notes,
    )


def _finish(pid: int) -> None:
    if not _has_ended(pid):
        os.kill(pid, _signal.SIGKILL)
    os.waitpid(pid, 0)
