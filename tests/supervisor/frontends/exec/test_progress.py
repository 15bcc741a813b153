"""A sign of life that never gets between what is written."""

import fcntl
import os
import struct
import termios
from collections.abc import Iterator

import pytest
import trio
import trio.testing

from pycodex.supervisor.frontends.exec.output import Output
from pycodex.supervisor.frontends.exec.progress import Progress, column_after, shown_elapsed, wants_progress


class Screen:
    """A terminal of one line's height: what a person sees of the last line, given all that was written."""

    def __init__(self, columns: int) -> None:
        self.master, self.terminal = os.openpty()
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 5, columns, 0, 0))
        self.raw = ""

    def read(self) -> str:
        os.set_blocking(self.master, False)
        fresh = b""
        try:
            while chunk := os.read(self.master, 65536):
                fresh += chunk
        except BlockingIOError:
            pass
        self.raw += fresh.decode()
        return fresh.decode()

    def lines(self) -> list[str]:
        """All lines, with cursor movements and erasing carried out."""
        self.read()
        lines, column = [""], 0
        rest = self.raw
        while rest:
            if rest.startswith("\x1b["):
                end = next(at for at, character in enumerate(rest) if at > 1 and character.isalpha())
                code, number = rest[end], rest[2:end]
                rest = rest[end + 1 :]
                if code == "K":
                    lines[-1] = lines[-1][:column]
                elif code == "D":
                    column -= int(number)
                else:
                    assert code == "m"
                continue
            character, rest = rest[0], rest[1:]
            if character == "\n":
                lines.append("")
                column = 0
            elif character == "\r":
                column = 0
            else:
                lines[-1] = lines[-1][:column].ljust(column) + character + lines[-1][column + 1 :]
                column += 1
        return lines

    def close(self) -> None:
        os.close(self.master)
        os.close(self.terminal)


@pytest.fixture
def screen() -> Iterator[Screen]:
    made = Screen(40)
    yield made
    made.close()


async def test_it_comes_after_a_moment_and_counts(screen: Screen, autojump_clock: trio.testing.MockClock) -> None:
    output = Output(screen.terminal)
    progress = Progress(output, faint=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(progress.run)
        progress.write("exec\ntrue in /ws")
        await output.flush()
        await trio.sleep(0.35)
        assert screen.lines() == ["exec", "true in /ws"]
        await trio.sleep(3)
        assert screen.lines()[-1].startswith("true in /ws ")
        assert screen.lines()[-1].endswith(" 3s")
        progress.write(" succeeded in 3s:\nok\n")
        await output.flush()
        assert screen.lines() == ["exec", "true in /ws succeeded in 3s:", "ok", ""]
        await trio.sleep(1)
        assert screen.lines()[-1].endswith(" 4s")
        progress.stop()
        await output.flush()
    assert screen.lines() == ["exec", "true in /ws succeeded in 3s:", "ok", ""]


async def test_steady_output_is_left_alone(screen: Screen, autojump_clock: trio.testing.MockClock) -> None:
    output = Output(screen.terminal)
    progress = Progress(output, faint=False)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(progress.run)
        for number in range(20):
            progress.write(f"{number}\n")
            await output.flush()
            await trio.sleep(0.3)
        progress.stop()
        await output.flush()
    screen.read()
    assert "\x1b" not in screen.raw


@pytest.mark.parametrize("text", ["x" * 36, "moved \x1b[5C", "\b", "re\rturn"])
async def test_it_stays_away_where_it_could_do_harm(
    text: str, screen: Screen, autojump_clock: trio.testing.MockClock
) -> None:
    output = Output(screen.terminal)
    progress = Progress(output, faint=False)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(progress.run)
        progress.write(text)
        await trio.sleep(5)
        progress.stop()
        await output.flush()
    screen.read()
    assert screen.raw == text


async def test_what_is_no_terminal_is_never_drawn_on(autojump_clock: trio.testing.MockClock) -> None:
    reader, writer = os.pipe()
    output = Output(writer)
    progress = Progress(output, faint=False)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(progress.run)
        progress.write("text")
        await trio.sleep(5)
        progress.stop()
        await output.flush()
    assert os.read(reader, 100) == b"text"
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize(
    ("env", "is_terminal", "wanted"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm"}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({}, True, False),
    ],
)
def test_when_it_is_wanted(env: dict[str, str], is_terminal: bool, wanted: bool) -> None:
    assert wants_progress(env, is_terminal=is_terminal) is wanted


@pytest.mark.parametrize(("seconds", "shown"), [(0.9, "0s"), (59.9, "59s"), (61, "1m 01s"), (3600, "60m 00s")])
def test_elapsed(seconds: float, shown: str) -> None:
    assert shown_elapsed(seconds) == shown


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("abc", 0, 3),
        ("abc", 2, 5),
        ("abc\nde", 7, 2),
        ("abc\n", 7, 0),
        ("\x1b[1mbold\x1b[0m x", 0, 6),
        ("日本e\u0301", 0, 5),
        ("\x1b[2A", 0, None),
        ("a\tb", 0, None),
        ("a", None, None),
        ("a\nb", None, 1),
    ],
)
def test_column(text: str, before: int | None, after: int | None) -> None:
    assert column_after(text, before) == after
