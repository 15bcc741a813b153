"""The course of one call in a worker: from the order to its last fact.

One poll loop over the supervisor's socket, the line to the confined child, the init's report and the command's streams.
Ends in exactly one of Exited, Refused and Failed.
"""

import fcntl
import os
import select
import time

from pycodex.protocol.confinement import FULL, LANDLOCK, UNCONFINED, Ended, Unenforceable
from pycodex.protocol.frames import (
    STDERR,
    STDIN_BYTES,
    STDIN_NONE,
    STDOUT,
    TIMEOUT,
    BadFrame,
    Credit,
    Exited,
    Failed,
    Output,
    Refused,
    Resize,
    RunCommand,
    RunFileJob,
    Started,
    Stop,
    WriteStdin,
    decode_order,
    encode,
)
from pycodex.protocol.record import BadRecord
from pycodex.sandbox.backend import host_backend
from pycodex.worker.confined import Task
from pycodex.worker.ends import Birth, Ends, end
from pycodex.worker.output import Outflow
from pycodex.worker.terminal_line import receive_fd
from pycodex.worker.zmtp import Dealer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from pycodex.protocol.confinement import Limits
    from pycodex.protocol.frames import Fact

_READ_BYTES = 1 << 16
# As much as the largest pipe holds; whoever goes on writing is not waited for.
_MOST_LAST_READS = 16
_STDIN_CAP_BYTES = 4 << 20
_TIOCSWINSZ = 0x5414
_MOST_ROWS_OR_COLS = 0xFFFF
_SIGXCPU, _SIGXFSZ, _SIGKILL = 24, 25, 9
_SHELL_SIGNAL_BASE = 128


class Call:
    """One call. `run` does all of it and returns the worker's exit status."""

    def __init__(self, order: "RunCommand | RunFileJob", ends: Ends, dealer: Dealer, birth: Birth) -> None:
        self._order = order
        self._ends = ends
        self._dealer = dealer
        self._birth = birth
        self._engine = host_backend()
        self._poller = select.poll()
        self._on_ready: dict[int, Callable[[], object]] = {}
        self._streams: dict[int, str] = {}
        self._stdin = b""
        self._stdin_closing = False
        self._terminal = False
        self._listening = False
        self._size: tuple[int, int] | None = None
        self._started_at = time.monotonic()
        self._reason = ""
        self._ended: Ended | None = None
        self._box_gone = False
        self._last_fact: Fact | None = None
        self._left: tuple[int, ...] = ()
        self._deadline: float | None = None
        self._drain_until: float | None = None
        if order.timeout_ms is not None:
            self._deadline = self._started_at + order.timeout_ms / 1000
        credit = order.credit_bytes if isinstance(order, RunCommand) else order.output_cap_bytes
        self._outflow = Outflow(
            order.job_id,
            cap_bytes=order.output_cap_bytes,
            credit_bytes=credit,
            send=self._push,
            lossless_bytes=order.lossless_bytes if isinstance(order, RunCommand) else 0,
            head_bytes=order.head_bytes if isinstance(order, RunCommand) else None,
        )
        self._held_back = False

    def run(self, messages: list[bytes]) -> int:
        """`messages` arrived together with the order."""
        confinement, level = self._order.confinement, self._ends.enforced.level
        held = None
        try:
            if confinement.placeholders and level == FULL:
                held = self._engine.hold_placeholders(confinement.placeholders, confinement.ledger)
            guard = self._engine.watch_protected(confinement) if level == LANDLOCK else None
            self._begin()
            self._read_messages(messages)
            self._loop()
            self._end_tree()
            restored = guard.restore() if guard is not None else ()
            self._report((*restored, *self._engine.disarm_repositories(confinement)))
        except Unenforceable as error:
            self._last_fact = Refused(job_id=self._order.job_id, text=str(error))
            self._report(())
        finally:
            end(self._ends)
            # Nobody needs to wait for this: whoever comes next knows a placeholder when it sees one.
            if held is not None:
                held.release()
        return 1 if self._dealer.closed else 0

    def _report(self, notes: "tuple[str, ...]") -> None:
        self._outflow.finish()
        self._push(self._last_fact or self._exited(notes))
        self._dealer.flush(block=True)

    def _begin(self) -> None:
        order, ends = self._order, self._ends
        self._engine.order(ends.line, _for_child(order).to_plain())
        self._watch(self._dealer.fileno(), self._read_orders)
        self._watch(self._birth.liveness_fd, self._orphaned)
        self._watch(ends.line, self._read_line)
        self._streams = {ends.stdout: STDOUT, ends.stderr: STDERR}
        for fd in (ends.stdout, ends.stderr):
            os.set_blocking(fd, False)
        mode = order.stdin if isinstance(order, RunCommand) else STDIN_NONE
        os.set_blocking(ends.stdin, False)
        if self._awaits_terminal():
            return
        if isinstance(order, RunCommand) and mode == STDIN_BYTES:
            self._stdin, self._stdin_closing = order.stdin_bytes, True
            self._feed_stdin()
        elif mode == STDIN_NONE:
            self._close_stdin()

    def _loop(self) -> None:
        while not self._is_over():
            for fd, _ in self._poller.poll(self._patience_ms()):
                handler = self._on_ready.get(fd)
                if handler is not None:
                    handler()
            self._check_clock()
            self._dealer.flush()
            self._mind_backlog()
        self._read_what_is_left()

    def _is_over(self) -> bool:
        if self._last_fact is not None or self._dealer.closed:
            return True
        if self._ended is None and not self._box_gone:
            return False
        return not self._streams or (self._drain_until is not None and time.monotonic() >= self._drain_until)

    # Descriptors

    def _watch(self, fd: int, handler: "Callable[[], object]", events: int = select.POLLIN) -> None:
        self._poller.register(fd, events)
        self._on_ready[fd] = handler

    def _unwatch(self, fd: int) -> None:
        if self._on_ready.pop(fd, None) is not None:
            self._poller.unregister(fd)

    def _mind_backlog(self) -> None:
        # A command that does not read holds up its own input, not our memory.
        reading = select.POLLIN if len(self._stdin) <= _STDIN_CAP_BYTES else 0
        wanted = reading | (select.POLLOUT if self._dealer.wants_to_write else 0)
        self._poller.modify(self._dealer.fileno(), wanted)

    def _push(self, fact: "Fact | Output") -> None:
        self._dealer.push(encode(fact))

    # From the supervisor

    def _read_orders(self) -> None:
        self._dealer.flush()
        self._read_messages(self._dealer.pull())

    def _read_messages(self, messages: list[bytes]) -> None:
        for message in messages:
            try:
                order = decode_order(message)
            except BadFrame:
                continue
            if order.job_id == self._order.job_id:
                self._obey(order)

    def _obey(self, order: object) -> None:
        if isinstance(order, Stop):
            self._stop(order.reason)
        elif isinstance(order, Credit):
            self._outflow.grant(order.size_bytes)
            self._mind_congestion()
        elif isinstance(order, WriteStdin):
            self._stdin += order.data
            self._stdin_closing = self._stdin_closing or order.close
            self._feed_stdin()
        elif isinstance(order, Resize):
            self._size = order.rows, order.cols
            self._apply_size()

    def _orphaned(self) -> None:
        # The zygote is gone, and with it the one who would look after what we leave behind.
        self._last_fact = Failed(job_id=self._order.job_id, text="the zygote of this worker ended")

    # From the confined child

    def _read_line(self) -> None:
        message = self._engine.hear(self._ends.line)
        job_id = self._order.job_id
        match message:
            case ("terminal",):
                self._use_terminal(receive_fd(self._ends.line))
            case ("started",):
                self._watch_streams()
                pid = next(iter(self._engine.children(self._ends.pid)), self._ends.pid)
                self._push(Started(job_id=job_id, pid=pid))
            case ("ended", figures):
                self._unwatch(self._ends.line)
                self._box_ended(_figures(figures))
            case ("refused", str(text)):
                self._last_fact = Refused(job_id=job_id, text=text)
            case ("failed", str(text), int(number)):
                self._last_fact = Failed(job_id=job_id, text=text, errno=number)
            case _:
                # It has gone, or says what no honest one does.
                self._unwatch(self._ends.line)
                self._box_ended(None)

    def _apply_size(self) -> None:
        if self._terminal and self._size is not None:
            rows, cols = (_dimension(value).to_bytes(2, "little") for value in self._size)
            fcntl.ioctl(self._ends.stdin, _TIOCSWINSZ, rows + cols + bytes(4))

    def _use_terminal(self, fd: int) -> None:
        for stream in (self._ends.stdout, self._ends.stderr):
            self._close_stream(stream)
        if self._ends.stdin >= 0:
            os.close(self._ends.stdin)
        os.set_blocking(fd, False)
        self._terminal = True
        self._ends.stdin = self._ends.stdout = fd
        self._streams = {fd: STDOUT}
        self._apply_size()
        self._feed_stdin()

    def _watch_streams(self) -> None:
        """Only from the start on: that a command has started is told before anything that it says."""
        self._listening = True
        if self._terminal:
            self._watch_terminal()
            return
        for fd in self._streams:
            self._watch(fd, self._reader_of(fd))

    def _watch_terminal(self) -> None:
        if not self._listening:
            return
        fd = self._ends.stdout
        events = (0 if self._held_back else select.POLLIN) | (select.POLLOUT if self._stdin else 0)
        self._unwatch(fd)
        if events:
            self._watch(fd, self._terminal_ready, events)

    def _terminal_ready(self) -> None:
        if not self._held_back:
            self._read_stream(self._ends.stdout)
        if self._stdin:
            self._feed_stdin()

    def _box_ended(self, ended: "Ended | None") -> None:
        """The command has ended, or (None) its whole box was killed."""
        self._ended, self._box_gone = ended, ended is None
        if not self._listening:
            self._watch_streams()
        if self._ends.enforced.level == LANDLOCK:
            self._engine.kill_descendants(os.getpid())
            self._ends.pid = 0
        drain_ms = self._order.drain_ms if isinstance(self._order, RunCommand) else 0
        self._drain_until = time.monotonic() + drain_ms / 1000
        self._deadline = None
        # What the pipes still hold fits into what may wait.
        self._mind_congestion()

    # Streams

    def _reader_of(self, fd: int) -> "Callable[[], object]":
        return lambda: self._read_stream(fd)

    def _read_stream(self, fd: int) -> bool:
        """Whether there was anything to read."""
        try:
            data = os.read(fd, _READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            # A terminal whose last user has gone.
            data = b""
        if data:
            self._outflow.feed(self._streams[fd], data)
            self._mind_congestion()
        else:
            self._close_stream(fd)
        return bool(data)

    def _read_what_is_left(self) -> None:
        """What the pipes hold when time is up: that it was not read yet is not the command's doing."""
        for fd in tuple(self._streams):
            for _ in range(_MOST_LAST_READS):
                if not self._read_stream(fd):
                    break

    def _mind_congestion(self) -> None:
        """Let a running command wait while nobody takes what it has said."""
        hold_back = self._outflow.is_congested and self._ended is None and not self._box_gone
        if hold_back == self._held_back:
            return
        self._held_back = hold_back
        if self._terminal:
            self._watch_terminal()
        elif hold_back:
            for fd in self._streams:
                self._unwatch(fd)
        else:
            self._watch_streams()

    def _close_stream(self, fd: int) -> None:
        self._unwatch(fd)
        self._streams.pop(fd, None)
        if not self._terminal:
            os.close(fd)

    def _awaits_terminal(self) -> bool:
        """What is typed before the child has opened its terminal waits for it."""
        return isinstance(self._order, RunCommand) and self._order.pty is not None and not self._terminal

    def _feed_stdin(self) -> None:
        if self._awaits_terminal():
            return
        fd = self._ends.stdin
        if fd < 0:
            self._stdin = b""
            return
        try:
            while self._stdin:
                self._stdin = self._stdin[os.write(fd, self._stdin) :]
        except BlockingIOError:
            if self._terminal:
                self._watch_terminal()
            elif fd not in self._on_ready:
                self._watch(fd, self._feed_stdin, select.POLLOUT)
            return
        except OSError:
            self._stdin = b""
            self._stdin_closing = True
        if self._terminal:
            self._watch_terminal()
        elif self._stdin_closing:
            self._close_stdin()
        else:
            self._unwatch(fd)

    def _close_stdin(self) -> None:
        if self._ends.stdin >= 0 and not self._terminal:
            self._unwatch(self._ends.stdin)
            os.close(self._ends.stdin)
            self._ends.stdin = -1

    # Time, limits and the end

    def _patience_ms(self) -> float | None:
        moments = [moment for moment in (self._deadline, self._drain_until) if moment is not None]
        if self._ended is None and self._engine.needs_watch(self._order.confinement.limits):
            moments.append(time.monotonic() + self._engine.watch_interval_seconds)
        return max(0.0, (min(moments) - time.monotonic()) * 1000 + 0.5) if moments else None

    def _check_clock(self) -> None:
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._deadline = None
            self._stop(TIMEOUT)
        limits = self._order.confinement.limits
        if self._ended is None and not self._reason and self._engine.needs_watch(limits):
            reason = self._engine.exceeded(self._ends.pid, limits)
            if reason:
                self._stop(reason)

    def _stop(self, reason: str) -> None:
        """End the whole tree now. Its end then comes in by the usual way."""
        if self._reason or self._ended is not None or self._box_gone:
            return
        self._reason = reason or "stopped"
        if self._ends.enforced.level == FULL:
            os.kill(self._ends.pid, _SIGKILL)
        else:
            self._engine.kill_descendants(os.getpid())
            self._ends.pid = 0

    def _end_tree(self) -> None:
        """After this nothing of the call is alive, but what unconfined work left running on purpose."""
        left_on_purpose = self._ends.enforced.level == UNCONFINED and self._ended is not None and not self._reason
        if left_on_purpose:
            self._left = self._leave_running()
        elif self._ended is None or self._ended.survivors or self._ends.enforced.level != FULL:
            end(self._ends)

    def _leave_running(self) -> "tuple[int, ...]":
        os.waitpid(self._ends.pid, 0)
        self._ends.pid = 0
        _reap_the_dead()
        left = tuple(pid for pid in self._engine.descendants(os.getpid()) if not self._engine.is_ending(pid))
        if left:
            os.write(self._birth.spare_fd, b"".join(b"%d\n" % pid for pid in left))
        return left

    def _exited(self, notes: "tuple[str, ...]") -> Exited:
        code, number = self._status()
        ended = self._ended
        reason = self._reason or (_limit_hit(ended, self._order.confinement.limits) if ended else "")
        return Exited(
            job_id=self._order.job_id,
            code=code,
            signal=number,
            reason=reason,
            wall_ms=(time.monotonic() - self._started_at) * 1000,
            cpu_ms=ended.cpu_ms if ended else 0.0,
            peak_rss_bytes=ended.peak_rss_bytes if ended else 0,
            processes=ended.processes if ended else 0,
            output_bytes=self._outflow.total_bytes,
            dropped_bytes=self._outflow.dropped_bytes,
            survivors_killed=bool(ended and ended.survivors) and not self._left,
            pipe_held=bool(self._streams),
            left_running=self._left,
            notes=tuple(notes),
            enforced=self._ends.enforced,
        )

    def _status(self) -> "tuple[int | None, int | None]":
        if self._ended is None:
            return None, _SIGKILL
        code = os.waitstatus_to_exitcode(self._ended.status)
        return (code, None) if code >= 0 else (None, -code)


def _limit_hit(ended: Ended, limits: "Limits") -> str:
    """The limit for which the kernel ended the command, or a child whose end a shell told as its own."""
    code = os.waitstatus_to_exitcode(ended.status)
    died_of = -code if code < 0 else code - _SHELL_SIGNAL_BASE
    seconds = limits.cpu_seconds
    if seconds is not None:
        # One that ignores the warning is killed a second later.
        spent = died_of == _SIGKILL and ended.cpu_ms >= seconds * 1000
        if spent or died_of == _SIGXCPU:
            return f"limit cpu_seconds = {seconds} exceeded"
    if limits.file_bytes is not None and died_of == _SIGXFSZ:
        return f"limit file_bytes = {limits.file_bytes} exceeded"
    return ""


def _dimension(value: int) -> int:
    return min(max(value, 1), _MOST_ROWS_OR_COLS)


def _reap_the_dead() -> None:
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return


def _for_child(order: "RunCommand | RunFileJob") -> Task:
    if isinstance(order, RunFileJob):
        return Task(
            cwd=order.cwd,
            env={},
            confinement=order.confinement,
            job=order.name,
            arguments=order.arguments,
        )
    return Task(
        cwd=order.cwd,
        exact_cwd=order.exact_cwd,
        argv=order.argv,
        env=order.env,
        confinement=order.confinement,
        has_stdin=order.stdin != STDIN_NONE,
        merged=order.merge_streams,
        rows=_dimension(order.pty.rows) if order.pty is not None else 0,
        cols=_dimension(order.pty.cols) if order.pty is not None else 0,
    )


def _figures(plain: object) -> Ended | None:
    """What the box says of the command's end; None if it makes no sense."""
    try:
        return Ended.from_plain(plain)
    except BadRecord:
        return None
