"""`command/exec`: a command of the client, outside of any thread."""

from typing import Annotated, Literal

from pycodex.protocol.app.settings import SandboxPolicy
from pycodex.protocol.app.wire import I32, I64, U16, Named, Params, PathText, Sparse, Usize, Wire


class CommandExecTerminalSize(Wire):
    rows: U16
    cols: U16


class CommandExecParams(Params):
    command: list[str]
    process_id: str | None = None
    tty: Sparse[bool] = False
    stream_stdin: Sparse[bool] = False
    stream_stdout_stderr: Sparse[bool] = False
    output_bytes_cap: Usize | None = None
    disable_output_cap: Sparse[bool] = False
    disable_timeout: Sparse[bool] = False
    timeout_ms: I64 | None = None
    cwd: PathText | None = None
    env: dict[str, str | None] | None = None
    size: CommandExecTerminalSize | None = None
    sandbox_policy: SandboxPolicy | None = None


class CommandExecResponse(Wire):
    exit_code: I32
    stdout: str
    stderr: str


class CommandExecWriteParams(Params):
    process_id: str
    delta_base64: str | None = None
    close_stdin: Sparse[bool] = False


class CommandExecWriteResponse(Wire):
    pass


class CommandExecResizeParams(Params):
    process_id: str
    size: CommandExecTerminalSize


class CommandExecResizeResponse(Wire):
    pass


class CommandExecTerminateParams(Params):
    process_id: str


class CommandExecTerminateResponse(Wire):
    pass


CommandExecOutputStream = Annotated[Literal["stdout", "stderr"], Named("CommandExecOutputStream")]


class CommandExecOutputDeltaNotification(Wire):
    process_id: str
    stream: CommandExecOutputStream
    delta_base64: str
    cap_reached: bool
