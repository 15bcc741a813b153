"""Commands of a client, outside of any thread: what `command/exec` and `process/*` have in common.

Owns their limits, how their output is told, and what can be done with one that runs. Which one is meant, and what it is
called in errors, is up to the methods.
"""

import base64
from typing import Protocol

from pycodex.protocol.frames import Pty
from pycodex.supervisor.commands.one_off import NoLongerRunning, NotWritable, OneOff, Tell
from pycodex.supervisor.frontends.app_server.method import INVALID_PARAMS, Caller, Json, RpcError
from pycodex.supervisor.text.base64_text import BadBase64, decoded

DEFAULT_TIMEOUT_MS = 10_000
DEFAULT_CAP_BYTES = 1 << 20
MOST_CAP_BYTES = 1 << 62
"""What is more is the same."""
MAX_DELTA_BYTES = 8192
MAX_COMMANDS = 64
"""Of one connection and kind, at a time."""


class TerminalSize(Protocol):
    @property
    def rows(self) -> int: ...

    @property
    def cols(self) -> int: ...


class Input(Protocol):
    @property
    def delta_base64(self) -> str | None: ...

    @property
    def close_stdin(self) -> bool: ...


def terminal(size: TerminalSize | None) -> Pty:
    return Pty() if size is None else Pty(rows=size.rows, cols=size.cols)


def check_size(size: TerminalSize, what: str) -> None:
    if not size.rows or not size.cols:
        raise RpcError(f"{what} size rows and cols must be greater than 0", code=INVALID_PARAMS)


def teller(caller: Caller, method: str, which: Json) -> Tell:
    """Notifies of output; `which` says whose it is."""

    async def tell(stream: str, data: bytes, is_capped: bool) -> None:
        # In small pieces, so that little waits for a client that reads slowly.
        for start in range(0, len(data), MAX_DELTA_BYTES):
            end = start + MAX_DELTA_BYTES
            delta = {
                **which,
                "stream": stream,
                "deltaBase64": base64.b64encode(data[start:end]).decode("ascii"),
                "capReached": is_capped and end >= len(data),
            }
            caller.notify(method, delta)
            await caller.room()

    return tell


def input_in(params: Input, method: str) -> bytes:
    """What is to be written. Raises RpcError."""
    if params.delta_base64 is None and not params.close_stdin:
        raise RpcError(f"{method} requires deltaBase64 or closeStdin", code=INVALID_PARAMS)
    try:
        return decoded(params.delta_base64 or "")
    except BadBase64 as error:
        raise RpcError(f"invalid deltaBase64: {error}", code=INVALID_PARAMS) from None


def write(command: OneOff, data: bytes, *, close: bool, what: str) -> None:
    """Raises RpcError where nothing can be written."""
    if not (command.wish.has_stdin or command.wish.pty):
        raise RpcError(f"stdin streaming is not enabled for this {what}")
    try:
        command.write(data, close=close)
    except NotWritable as error:
        raise RpcError(str(error)) from None


async def resize(command: OneOff, size: TerminalSize, name: str) -> None:
    """Raises RpcError where there is no terminal, or no more."""
    if command.wish.pty is None:
        raise RpcError("failed to resize PTY: process is not attached to a PTY")
    try:
        await command.resize(size.rows, size.cols)
    except NoLongerRunning:
        raise RpcError(f"{name} is no longer running") from None
