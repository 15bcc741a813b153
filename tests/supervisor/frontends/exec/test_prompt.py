"""Where the task's text comes from, and what its bytes mean."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trio
import trio.testing

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.frontends.exec import prompt as module
from pycodex.supervisor.frontends.exec.prompt import awaited_prompt, decoded, read_prompt
from pycodex.supervisor.frontends.exec.request import ExecRequest

READING = "Reading prompt from stdin..."
RETRY = "Convert it to UTF-8 and retry"
ICONV = f"{RETRY} (e.g., `iconv -f <ENC> -t UTF-8 prompt.txt`)."


@pytest.fixture
def stdin_of() -> Iterator[Callable[[bytes], int]]:
    """A pipe that holds some bytes and is closed behind them."""
    opened = []

    def make(data: bytes) -> int:
        reader, writer = os.pipe()
        opened.append(reader)
        os.write(writer, data)
        os.close(writer)
        return reader

    yield make
    for fd in opened:
        os.close(fd)


@pytest.mark.parametrize(
    ("prompt", "expected", "told"),
    [
        ("do it", "do it", []),
        ("", "", []),
        (" \n", " \n", []),
        ("a\r\nb", "a\r\nb", []),
        ("-", "from stdin\n", []),
        (None, "from stdin\n", [READING]),
    ],
)
async def test_source(prompt: str | None, expected: str, told: list[str], stdin_of: Callable[[bytes], int]) -> None:
    for read in ("blocking", "awaiting"):
        said: list[str] = []
        request, stdin = ExecRequest(prompt=prompt), stdin_of(b"from stdin\n")
        if read == "blocking":
            text = read_prompt(request, stdin, tell=said.append)
        else:
            text = await awaited_prompt(request, stdin, tell=said.append)
        assert (text, said) == (expected, told)


def test_argument_leaves_stdin_unread(stdin_of: Callable[[bytes], int]) -> None:
    stdin = stdin_of(b"unused")
    read_prompt(ExecRequest(prompt="go"), stdin, tell=pytest.fail)
    assert os.read(stdin, 100) == b"unused"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain\n", "plain\n"),
        (b"\xef\xbb\xbfmarked\n", "marked\n"),
        (b"\xff\xfep\0l\0", "pl"),
        (b"\xfe\xff\0p\0l", "pl"),
        ("\u200b".encode(), "\u200b"),
        (b"\x1c\x1d", "\x1c\x1d"),
        (b"\0", "\0"),
    ],
)
def test_decoding(data: bytes, text: str) -> None:
    assert decoded(data) == text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "No prompt provided via stdin."),
        (b"  \n\t", "No prompt provided via stdin."),
        ("\u00a0\u3000\u2003".encode(), "No prompt provided via stdin."),
        (b"\xef\xbb\xbf", "No prompt provided via stdin."),
        (b"\xfe\xff", "No prompt provided via stdin."),
        (b"\xff\xfe\0\0a\0\0\0", f"Failed to read prompt from stdin: input appears to be UTF-32LE. {RETRY}."),
        (b"\0\0\xfe\xff\0\0\0a", f"Failed to read prompt from stdin: input appears to be UTF-32BE. {RETRY}."),
        (
            b"\xff\xfea\0b",
            f"Failed to read prompt from stdin: input looked like UTF-16LE but could not be decoded. {RETRY}.",
        ),
        (
            b"\xff\xfe\0\xd8",
            f"Failed to read prompt from stdin: input looked like UTF-16LE but could not be decoded. {RETRY}.",
        ),
        (
            b"ab\xff",
            f"Failed to read prompt from stdin: input is not valid UTF-8 (invalid byte at offset 2). {ICONV}",
        ),
        (
            b"\xef\xbb\xbfa\xff",
            f"Failed to read prompt from stdin: input is not valid UTF-8 (invalid byte at offset 1). {ICONV}",
        ),
    ],
)
def test_what_is_no_prompt(data: bytes, text: str) -> None:
    with pytest.raises(UserFacing) as caught:
        decoded(data)
    assert (str(caught.value), caught.value.prefix, caught.value.exit_code) == (text, "", 1)


def test_terminal_is_not_read() -> None:
    master, terminal = os.openpty()
    try:
        with pytest.raises(UserFacing, match=r"^No prompt provided. Either specify one as an argument or pipe the"):
            read_prompt(ExecRequest(), terminal, tell=pytest.fail)
    finally:
        os.close(master)
        os.close(terminal)


def test_dash_reads_a_terminal() -> None:
    master, terminal = os.openpty()
    try:
        os.write(master, b"typed\n\x04")
        assert read_prompt(ExecRequest(prompt="-"), terminal, tell=pytest.fail) == "typed\n"
    finally:
        os.close(master)
        os.close(terminal)


async def test_files_are_read_too(tmp_path: Path) -> None:
    (tmp_path / "task").write_bytes(b"from a file")
    stdin = os.open(tmp_path / "task", os.O_RDONLY)
    assert await awaited_prompt(ExecRequest(prompt="-"), stdin, tell=pytest.fail) == "from a file"
    os.close(stdin)


async def test_unreadable_stdin_is_told() -> None:
    stdin = os.open(os.devnull, os.O_WRONLY)
    with pytest.raises(UserFacing, match=r"from stdin: Bad file descriptor \(os error 9\)$"):
        read_prompt(ExecRequest(prompt="-"), stdin, tell=pytest.fail)
    with pytest.raises(UserFacing, match=r"from stdin: Bad file descriptor \(os error 9\)$"):
        await awaited_prompt(ExecRequest(prompt="-"), stdin, tell=pytest.fail)
    os.close(stdin)


def test_stdin_that_does_not_block_is_waited_for() -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)

    def feed() -> None:
        os.write(writer, b"late")
        os.close(writer)

    thread = threading.Timer(0.01, feed)
    thread.start()
    assert read_prompt(ExecRequest(prompt="-"), reader, tell=pytest.fail) == "late"
    thread.join()
    os.close(reader)


async def test_waiting_for_stdin_can_be_cancelled() -> None:
    reader, writer = os.pipe()
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: awaited_prompt(ExecRequest(prompt="-"), reader, tell=pytest.fail))
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
    assert scope.cancelled_caught
    os.close(reader)
    os.close(writer)


def test_endless_input_is_refused(stdin_of: Callable[[bytes], int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    with pytest.raises(UserFacing, match="input is longer than"):
        read_prompt(ExecRequest(prompt="-"), stdin_of(b"x" * 11), tell=pytest.fail)
