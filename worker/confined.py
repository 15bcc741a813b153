"""The confined child: waits for one order, confines itself, and becomes the command or runs a file job.

Forked while idle, with a single thread and nothing but its line to the worker and the ends of three pipes. Nothing here
runs with model-chosen input before `confine` has succeeded.
"""

import _socket
import os

from pycodex.protocol.confinement import Confinement, Unenforceable
from pycodex.sandbox.backend import host_backend
from pycodex.worker import channel
from pycodex.worker.jobs import run_file_job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pycodex.linux_sandbox.engine import Engine

_TIOCSWINSZ = 0x5414


class Pipes:
    """The child's ends: what the command reads and writes unless the order says otherwise."""

    __slots__ = ("stderr", "stdin", "stdout")

    def __init__(self, stdin: int, stdout: int, stderr: int) -> None:
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr


def serve(line: "_socket.socket", pipes: Pipes, *, level: str, network: bool) -> None:
    """Runs in the forked child and never returns to its caller's work: the caller exits afterwards."""
    engine = host_backend()
    os.setsid()
    try:
        seat = engine.take_seat(level, network=network)
    except Unenforceable as error:
        channel.send(line, ("unseated", str(error)))
        return
    channel.send(line, ("seated", engine.describe(seat).to_plain()))
    received = channel.receive(line)
    if received is None:
        return
    order = received[0]
    assert isinstance(order, dict)
    try:
        _obey(engine, seat, order, line, pipes)
    except Unenforceable as error:
        channel.send(line, ("refused", str(error)))
    except OSError as error:
        subject = error.filename or order["subject"]
        channel.send(line, ("failed", f"{os.fsdecode(subject)}: {os.strerror(error.errno or 0)}", error.errno or 0))
    except BaseException as error:
        channel.send(line, ("failed", f"{type(error).__name__}: {error}", 0))


def _obey(engine: "Engine", seat: object, order: "dict[str, object]", line: "_socket.socket", pipes: Pipes) -> None:
    confinement = Confinement.from_plain(order["confinement"])

    def inside() -> None:
        size = order["pty"]
        if size is None:
            _use_pipes(pipes, has_stdin=bool(order["has_stdin"]), merged=bool(order["merged"]))
        else:
            _use_terminal(line, size)

    engine.confine(confinement, seat, str(order["cwd"]), inside=inside)  # type: ignore[arg-type]
    if order["job"] is not None:
        channel.send(line, ("working",))
        run_file_job(order["job"])  # type: ignore[arg-type]
        os._exit(0)
    engine.execute(order["argv"], order["env"])  # type: ignore[arg-type]


def _use_pipes(pipes: Pipes, *, has_stdin: bool, merged: bool) -> None:
    if has_stdin:
        os.dup2(pipes.stdin, 0)
    else:
        null = os.open("/dev/null", os.O_RDONLY)
        if null != 0:
            os.dup2(null, 0)
            os.close(null)
    os.dup2(pipes.stdout, 1)
    os.dup2(pipes.stdout if merged else pipes.stderr, 2)


def _use_terminal(line: "_socket.socket", size: object) -> None:
    """A terminal of the sandbox's own; the worker gets the other side."""
    import fcntl

    rows, cols = size  # type: ignore[misc]
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, _TIOCSWINSZ, rows.to_bytes(2, "little") + cols.to_bytes(2, "little") + bytes(4))
    channel.send(line, ("terminal",), fd=ours)
    os.close(ours)
    os.login_tty(theirs)
