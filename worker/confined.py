"""The first process of a box: waits for one order, confines itself, then starts the command or runs a file job.

Made while idle, with a single thread and nothing but its line to the worker and the ends of three pipes. Nothing here
runs with model-chosen input before `confine` has succeeded.
"""

import fcntl
import os
import resource

from pycodex.protocol.confinement import Confinement, Ended, Unenforceable
from pycodex.protocol.record import Record
from pycodex.worker.ends import Birth
from pycodex.worker.jobs import run_file_job
from pycodex.worker.terminal_line import send_fd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pycodex.linux_sandbox.apply import Seat
    from pycodex.linux_sandbox.engine import Engine

_TIOCSWINSZ = 0x5414
_STANDARD_FDS = (0, 1, 2)


class Task(Record):
    """The part of an order that the child needs; comes from the worker, which has checked it."""

    cwd: "str"
    argv: "tuple[str, ...]" = ()
    env: "dict[str, str]"
    confinement: "Confinement"
    has_stdin: "bool" = False
    merged: "bool" = False
    rows: "int" = 0
    cols: "int" = 0
    job: "str" = ""
    arguments: "bytes" = b""


class Pipes:
    """The child's ends: what the command reads and writes unless the order says otherwise."""

    __slots__ = ("stderr", "stdin", "stdout")

    def __init__(self, stdin: int, stdout: int, stderr: int) -> None:
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr


class Confined:
    """One box's first process, from its birth to its end."""

    def __init__(self, engine: "Engine", birth: Birth, pipes: Pipes, *, rehearse: "Callable[[], None]") -> None:
        self._engine = engine
        self._birth = birth
        self._rehearse = rehearse
        self._line = -1
        self._pipes = pipes
        self._terminal = ""
        self._subject = ""

    def serve(self, line: int) -> None:
        self._line = line
        tell = self._engine.tell
        try:
            seat = self._engine.take_seat(self._birth.level, network=self._birth.network)
        except Unenforceable as error:
            tell(self._line, "unseated", str(error))
            return
        self._rehearse()
        # Just the facts: putting them into words costs less in a process whose memory is its own.
        tell(self._line, "seated", seat.network, seat.abi, seat.private_proc)
        message = self._engine.take_order(self._line)
        if message is None:
            return
        task = Task.from_plain(message[0])
        try:
            self._obey(seat, task)
        except Unenforceable as error:
            tell(self._line, "refused", str(error))
        except OSError as error:
            tell(self._line, "failed", f"{self._subject}: {os.strerror(error.errno or 0)}", error.errno or 0)
        except BaseException as error:
            tell(self._line, "failed", f"{type(error).__name__}: {error}", 0)

    def _obey(self, seat: "Seat", task: Task) -> None:
        def inside() -> str:
            if task.rows:
                self._open_terminal(task.rows, task.cols)
            return self._terminal

        engine = self._engine
        self._subject = task.cwd
        engine.confine(task.confinement, seat, task.cwd, inside=inside)
        self._subject = task.argv[0] if task.argv else "no command"
        if task.job:
            engine.tell(self._line, "started")
            status = run_file_job(task.job, task.arguments, self._pipes.stdout)
            engine.tell(self._line, "ended", _ended_job(status).to_plain())
            return
        pid = engine.start(task.argv, task.env, setsid=True, file_actions=self._file_actions(task))
        engine.tell(self._line, "started")
        # The streams must end when the command closes them, not when we do.
        for fd in (*_STANDARD_FDS, self._pipes.stdin, self._pipes.stdout, self._pipes.stderr):
            os.close(fd)
        engine.tell(self._line, "ended", engine.reap_until(pid).to_plain())

    def _open_terminal(self, rows: int, cols: int) -> None:
        """A terminal of the sandbox's own; the worker gets the other side."""
        ours, theirs = os.openpty()
        self._terminal = os.ttyname(theirs)
        fcntl.ioctl(theirs, _TIOCSWINSZ, rows.to_bytes(2, "little") + cols.to_bytes(2, "little") + bytes(4))
        self._engine.tell(self._line, "terminal")
        send_fd(self._line, ours)
        os.close(ours)

    def _file_actions(self, task: Task) -> "list[tuple[Any, ...]]":
        dup, pipes = os.POSIX_SPAWN_DUP2, self._pipes
        if self._terminal:
            # The leader of a new session that opens a terminal gets it as its controlling one.
            terminal = (os.POSIX_SPAWN_OPEN, 0, self._terminal, os.O_RDWR, 0)
            return [terminal, (dup, 0, 1), (dup, 0, 2)]
        stdin = (dup, pipes.stdin, 0) if task.has_stdin else (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)
        return [stdin, (dup, pipes.stdout, 1), (dup, pipes.stdout if task.merged else pipes.stderr, 2)]


def _ended_job(status: int) -> Ended:
    """With what this process has used since its birth, which is little before the job."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return Ended(
        status=status << 8,
        cpu_ms=(used.ru_utime + used.ru_stime) * 1000,
        peak_rss_bytes=used.ru_maxrss * 1024,
        processes=1,
    )
