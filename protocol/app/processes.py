"""`process/*`: programs of a client, outside of any thread and of any sandbox. Not in 0.116."""

from typing import Annotated, Literal

from pycodex.protocol.app.wire import I32, I64, U16, AbsolutePathBuf, Named, Params, Sparse, Usize, Wire


class ProcessTerminalSize(Wire):
    rows: U16
    cols: U16


class ProcessSpawnParams(Params):
    """Null for a cap or a timeout means none; left out, the server's own."""

    command: list[str]
    process_handle: str
    cwd: AbsolutePathBuf
    tty: Sparse[bool] = False
    stream_stdin: Sparse[bool] = False
    stream_stdout_stderr: Sparse[bool] = False
    output_bytes_cap: Sparse[Usize | None] = None
    timeout_ms: Sparse[I64 | None] = None
    env: dict[str, str | None] | None = None
    size: ProcessTerminalSize | None = None


class ProcessSpawnResponse(Wire):
    pass


class ProcessWriteStdinParams(Params):
    process_handle: str
    delta_base64: str | None = None
    close_stdin: Sparse[bool] = False


class ProcessWriteStdinResponse(Wire):
    pass


class ProcessResizePtyParams(Params):
    process_handle: str
    size: ProcessTerminalSize


class ProcessResizePtyResponse(Wire):
    pass


class ProcessKillParams(Params):
    process_handle: str


class ProcessKillResponse(Wire):
    pass


ProcessOutputStream = Annotated[Literal["stdout", "stderr"], Named("ProcessOutputStream")]


class ProcessOutputDeltaNotification(Wire):
    process_handle: str
    stream: ProcessOutputStream
    delta_base64: str
    cap_reached: bool


class ProcessExitedNotification(Wire):
    process_handle: str
    exit_code: I32
    stdout: str
    stdout_cap_reached: bool
    stderr: str
    stderr_cap_reached: bool
