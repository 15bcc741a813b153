"""Messages between supervisor and worker: orders go down, facts come up.

One msgpack map a message: `[VERSION, kind, fields]`. Both sides treat what they read as untrusted: size-capped,
no extension types, every field checked. Knows nothing of sockets.
"""

import msgpack

from pycodex.protocol.confinement import Confinement, Enforced
from pycodex.protocol.record import BadRecord, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSION = 1
MAX_FRAME_BYTES = 8 << 20
MAX_ITEMS = 65536

STDOUT = "stdout"
STDERR = "stderr"

TIMEOUT = "timeout"

STDIN_NONE = "none"
STDIN_BYTES = "bytes"
STDIN_OPEN = "open"


class BadFrame(ValueError):
    """Bytes that are not a message of this protocol."""


# Orders


class Pty(Record):
    rows: "int" = 24
    cols: "int" = 80


class RunCommand(Record):
    """Run one command. With `pty` both streams are one and stdin is the terminal."""

    job_id: "str"
    argv: "tuple[str, ...]"
    cwd: "str"
    exact_cwd: "bool" = False
    """Whether it must be that very directory: a link that has come to stand on the way is not followed."""
    env: "dict[str, str]"
    confinement: "Confinement"
    stdin: "str" = STDIN_NONE
    stdin_bytes: "bytes" = b""
    merge_streams: "bool" = False
    pty: "Pty | None" = None
    timeout_ms: "int | None" = None
    drain_ms: "int" = 2000
    """How long output may go on after the command's exit while a descendant holds the pipe."""
    output_cap_bytes: "int" = 1 << 20
    credit_bytes: "int" = 1 << 19
    """Bytes that may be sent before more `Credit` comes; the newest of the rest wait, half the cap at most."""
    head_bytes: "int | None" = None
    """If given, nothing is wanted of either stream but so many bytes from its beginning; the rest is dropped."""
    lossless_bytes: "int" = 0
    """So much of the output is never dropped for want of credit: the command waits until there is some."""


class RunFileJob(Record):
    """Run a named file job inside the confined child; its answer comes as stdout bytes (msgpack)."""

    job_id: "str"
    name: "str"
    arguments: "bytes"
    cwd: "str"
    confinement: "Confinement"
    timeout_ms: "int | None" = 30_000
    output_cap_bytes: "int" = 4 << 20


class WriteStdin(Record):
    job_id: "str"
    data: "bytes" = b""
    close: "bool" = False


class Resize(Record):
    job_id: "str"
    rows: "int"
    cols: "int"


class Stop(Record):
    """End the job and its whole tree. `reason` comes back in `Exited`."""

    job_id: "str"
    reason: "str" = "cancelled"


class Credit(Record):
    job_id: "str"
    size_bytes: "int"


# Facts


class Ready(Record):
    """First message of a worker, and again before each further call.

    Proves itself and says what its confined child can enforce.
    """

    token: "str"
    pid: "int"
    flavour: "str"
    enforced: "Enforced"
    calls_left: "int" = 0
    """How many more calls it will serve after the next one: it greets again when it is ready for each."""


class Started(Record):
    job_id: "str"
    pid: "int"


class Output(Record):
    """`skipped_bytes` of this stream were dropped just before `data`."""

    job_id: "str"
    stream: "str"
    sequence: "int"
    data: "bytes"
    skipped_bytes: "int" = 0


class Exited(Record):
    """The end of a job that was started. Exactly one of `code` and `signal` is set."""

    job_id: "str"
    code: "int | None" = None
    signal: "int | None" = None
    reason: "str" = ""
    """Why it was ended, if we ended it: TIMEOUT, the reason of a `Stop`, or a limit with its value."""
    wall_ms: "float" = 0.0
    cpu_ms: "float" = 0.0
    peak_rss_bytes: "int" = 0
    processes: "int" = 0
    """How many processes and threads there were in all; 0 where nobody counts them."""
    output_bytes: "int" = 0
    dropped_bytes: "int" = 0
    survivors_killed: "bool" = False
    pipe_held: "bool" = False
    """A descendant still held the output when `drain_ms` ran out."""
    left_running: "tuple[int, ...]" = ()
    """Unconfined only: processes it left behind on purpose."""
    notes: "tuple[str, ...]" = ()
    enforced: "Enforced"


class Refused(Record):
    """A rule could not be enforced here; nothing was run."""

    job_id: "str"
    text: "str"


class Failed(Record):
    """The job could not be started, or its worker failed. `errno` is 0 when no system call is to blame."""

    job_id: "str"
    text: "str"
    errno: "int" = 0


Order = RunCommand | RunFileJob | WriteStdin | Resize | Stop | Credit
Fact = Ready | Started | Output | Exited | Refused | Failed

_ORDERS: dict[str, type[Record]] = {
    cls.__name__: cls for cls in (RunCommand, RunFileJob, WriteStdin, Resize, Stop, Credit)
}
_FACTS: dict[str, type[Record]] = {cls.__name__: cls for cls in (Ready, Started, Output, Exited, Refused, Failed)}


def encode(message: Order | Fact) -> bytes:
    for name, value in message.__dict__.items():
        if isinstance(value, tuple | dict) and len(value) > MAX_ITEMS:
            raise BadFrame(f"{name} of {len(value)} items exceeds {MAX_ITEMS}")
    # File names and environments may hold bytes that are no UTF-8, which Python keeps as lone surrogates.
    data: bytes = msgpack.packb(
        [VERSION, type(message).__name__, message.to_plain()], use_bin_type=True, unicode_errors="surrogateescape"
    )
    if len(data) > MAX_FRAME_BYTES:
        raise BadFrame(f"{type(message).__name__} of {len(data)} bytes exceeds {MAX_FRAME_BYTES}")
    return data


def decode_order(data: bytes) -> Order:
    order: Order = _decode(data, _ORDERS)
    return order


def decode_fact(data: bytes) -> Fact:
    fact: Fact = _decode(data, _FACTS)
    return fact


def _decode(data: bytes, kinds: dict[str, type[Record]]) -> "Any":
    if len(data) > MAX_FRAME_BYTES:
        raise BadFrame(f"{len(data)} bytes exceed {MAX_FRAME_BYTES}")
    try:
        message = msgpack.unpackb(
            data,
            raw=False,
            strict_map_key=True,
            max_array_len=MAX_ITEMS,
            max_map_len=MAX_ITEMS,
            max_ext_len=0,
            unicode_errors="surrogateescape",
        )
    except (ValueError, TypeError, UnicodeDecodeError, RecursionError, msgpack.exceptions.UnpackException) as error:
        raise BadFrame(f"not msgpack: {error}") from None
    if type(message) is not list or len(message) != 3 or message[0] != VERSION:
        raise BadFrame("not a message of this version")
    record = kinds.get(message[1]) if type(message[1]) is str else None
    if record is None:
        raise BadFrame("unknown kind of message")
    try:
        return record.from_plain(message[2])
    except BadRecord as error:
        raise BadFrame(str(error)) from None
