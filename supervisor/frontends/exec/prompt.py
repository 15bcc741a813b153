"""The task's text: the argument, or stdin.

Owns where the text comes from, how its bytes are decoded, and what is said when there is none. The text is kept as it
is, final newline included. Reading comes in two forms, one for before trio runs and one for inside it.
"""

import os
from collections.abc import Callable
from select import select

import trio

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.frontends.exec.request import ExecRequest

STDIN = 0
MAX_BYTES = 64 << 20
_CHUNK_BYTES = 1 << 16

# What Unicode calls white space. `str.isspace` adds four separators of ASCII, which a prompt may consist of.
_WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
# Longer marks first: that of UTF-32LE begins like that of UTF-16LE.
_UTF_32 = ((b"\xff\xfe\0\0", "UTF-32LE"), (b"\0\0\xfe\xff", "UTF-32BE"))
_UTF_16 = ((b"\xff\xfe", "UTF-16LE"), (b"\xfe\xff", "UTF-16BE"))
_UTF_8_MARK = b"\xef\xbb\xbf"


def read_prompt(request: ExecRequest, stdin: int = STDIN, *, tell: Callable[[str], None]) -> str:
    """Blocks until stdin ends, if it is read at all. `tell` takes a line for stderr."""
    if not _comes_from_stdin(request.prompt, stdin, tell):
        return request.prompt or ""
    gathered = _Gathered()
    while gathered.add(_chunk(stdin)):
        pass
    return decoded(gathered.data)


async def awaited_prompt(request: ExecRequest, stdin: int = STDIN, *, tell: Callable[[str], None]) -> str:
    """The same, but other tasks go on and the wait can be cancelled."""
    if not _comes_from_stdin(request.prompt, stdin, tell):
        await trio.lowlevel.checkpoint()
        return request.prompt or ""
    gathered = _Gathered()
    while True:
        try:
            await trio.lowlevel.wait_readable(stdin)
        except OSError:
            # A file, /dev/null or nothing at all: there is nothing to wait for, and reading tells the rest.
            await trio.lowlevel.checkpoint()
        if not gathered.add(_chunk(stdin)):
            return decoded(gathered.data)


def _comes_from_stdin(prompt: str | None, stdin: int, tell: Callable[[str], None]) -> bool:
    if prompt is not None and prompt != "-":
        return False
    if prompt is None:
        if os.isatty(stdin):
            raise _bare("No prompt provided. Either specify one as an argument or pipe the prompt into stdin.")
        tell("Reading prompt from stdin...")
    return True


class _Gathered:
    def __init__(self) -> None:
        self.data = bytearray()

    def add(self, chunk: bytes) -> bool:
        """False when that was the end."""
        self.data += chunk
        if len(self.data) > MAX_BYTES:
            raise _unreadable(f"input is longer than {MAX_BYTES >> 20} MiB. Put it into a file and name the file.")
        return bool(chunk)


def _chunk(stdin: int) -> bytes:
    while True:
        try:
            return os.read(stdin, _CHUNK_BYTES)
        except BlockingIOError:
            select([stdin], [], [])
        except OSError as error:
            raise _unreadable(f"{error.strerror} (os error {error.errno})") from None


def decoded(data: bytes | bytearray) -> str:
    text = _text(bytes(data))
    if not text.strip(_WHITE):
        raise _bare("No prompt provided via stdin.")
    return text


def _text(data: bytes) -> str:
    for mark, name in _UTF_32:
        if data.startswith(mark):
            raise _unreadable(f"input appears to be {name}. Convert it to UTF-8 and retry.")
    for mark, name in _UTF_16:
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(name)
            except UnicodeDecodeError:
                text = f"input looked like {name} but could not be decoded. Convert it to UTF-8 and retry."
                raise _unreadable(text) from None
    try:
        return data.removeprefix(_UTF_8_MARK).decode()
    except UnicodeDecodeError as error:
        text = f"input is not valid UTF-8 (invalid byte at offset {error.start}). Convert it to UTF-8 and retry"
        raise _unreadable(f"{text} (e.g., `iconv -f <ENC> -t UTF-8 prompt.txt`).") from None


def _unreadable(text: str) -> UserFacing:
    return _bare(f"Failed to read prompt from stdin: {text}")


def _bare(text: str) -> UserFacing:
    return UserFacing(text, prefix="")
