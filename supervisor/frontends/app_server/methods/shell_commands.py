"""`thread/shellCommand`: a command that the person typed, run where the thread works by their own shell."""

from pycodex.protocol.app.newer_threads import ThreadShellCommandParams
from pycodex.protocol.ops import RunTyped
from pycodex.supervisor.frontends.app_server.method import INVALID_PARAMS, Caller, Json, Method, RpcError
from pycodex.supervisor.frontends.app_server.methods.calls import call_of, loaded
from pycodex.supervisor.frontends.app_server.unconfined import check_unconfined

NAME = "thread/shellCommand"
# What the kernel takes as one argument is less than that.
MAX_COMMAND_CHARS = 1 << 17


async def run(caller: Caller, params: ThreadShellCommandParams) -> Json:
    """Answered at once; what comes of it is told as an item."""
    call = call_of(caller)
    command = params.command.strip()
    if not command:
        raise RpcError("command must not be empty")
    if len(command) > MAX_COMMAND_CHARS:
        raise RpcError(f"command must be at most {MAX_COMMAND_CHARS} characters", code=INVALID_PARAMS)
    if "\0" in command:
        raise RpcError("command must not contain a NUL", code=INVALID_PARAMS)
    live = loaded(call, params.thread_id)
    check_unconfined(NAME, call.server.env)
    call.at_the_end(live.gate.hold().release)
    live.turn_submitted(await live.submit(RunTyped(command=command)))
    return {}


METHODS = (Method(name=NAME, params=ThreadShellCommandParams, run=run),)
