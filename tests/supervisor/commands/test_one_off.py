"""Commands of clients in real workers."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from pycodex.protocol.frames import Pty
from pycodex.protocol.permissions import DANGER_FULL_ACCESS, READ_ONLY, WORKSPACE_WRITE, Permissions
from pycodex.supervisor.commands import one_off
from pycodex.supervisor.commands.one_off import NoLongerRunning, NotStarted, NotWritable, OneOff, TooMuchOutput, Wish
from pycodex.supervisor.commands.workplace import Workplace
from support.workplaces import open_workplace

LOOK = Permissions(mode=READ_ONLY)
FULL = Permissions(mode=DANGER_FULL_ACCESS, network_access=True)


@pytest.fixture
async def workplace(tmp_path: Path) -> AsyncIterator[Workplace]:
    async with open_workplace(tmp_path) as opened:
        yield opened


def wish(workplace: Workplace, *argv: str, permissions: Permissions = LOOK, **more: object) -> Wish:
    fields = {"cwd": workplace.config.cwd, "timeout_ms": 20_000, **more}
    return Wish(argv=argv, permissions=permissions, **fields)  # type: ignore[arg-type]


class Heard:
    """What a command has said so far."""

    def __init__(self) -> None:
        self.pieces: list[tuple[str, bytes, bool]] = []
        self._news = trio.Event()

    async def tell(self, stream: str, data: bytes, is_capped: bool) -> None:
        self.pieces.append((stream, data, is_capped))
        self._news.set()

    def text(self, stream: str = "stdout") -> bytes:
        return b"".join(data for name, data, _ in self.pieces if name == stream)

    async def until(self, text: bytes) -> None:
        while text not in self.text():
            self._news = trio.Event()
            await self._news.wait()


async def test_both_streams_and_the_code_come_at_the_end(workplace: Workplace) -> None:
    command = OneOff(wish(workplace, "sh", "-c", "echo out; echo err >&2; exit 3"))
    outcome = await command.run(workplace)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (3, b"out\n", b"err\n")


async def test_the_sandbox_holds(workplace: Workplace) -> None:
    target = os.path.join(workplace.config.cwd, "made")
    looking = await OneOff(wish(workplace, "touch", target)).run(workplace)
    assert looking.exit_code != 0
    assert "made" not in os.listdir(workplace.config.cwd)
    writing = Permissions(mode=WORKSPACE_WRITE)
    assert (await OneOff(wish(workplace, "touch", target, permissions=writing)).run(workplace)).exit_code == 0
    assert "made" in os.listdir(workplace.config.cwd)


async def test_the_environment_is_changed_and_says_that_there_is_no_network(workplace: Workplace) -> None:
    script = "echo $A ${HOME-gone} $CODEX_SANDBOX_NETWORK_DISABLED"
    command = OneOff(wish(workplace, "sh", "-c", script, env={"A": "1", "HOME": None}))
    assert (await command.run(workplace)).stdout == b"1 gone 1\n"


async def test_a_cap_holds_for_each_stream(workplace: Workplace) -> None:
    command = OneOff(wish(workplace, "sh", "-c", "seq 1 2000; seq 1 2000 >&2", cap_bytes=5))
    outcome = await command.run(workplace)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (0, b"1\n2\n3", b"1\n2\n3")


async def test_all_of_the_output_is_bounded_even_without_a_cap(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_off, "MAX_KEPT_BYTES", 1 << 20)
    with pytest.raises(TooMuchOutput):
        await OneOff(wish(workplace, "cat", "/dev/zero")).run(workplace)


async def test_nothing_is_lost_of_what_is_told_piece_by_piece(workplace: Workplace) -> None:
    heard = Heard()
    outcome = await OneOff(wish(workplace, "head", "-c", "3000000", "/dev/zero"), heard.tell).run(workplace)
    assert (outcome.exit_code, outcome.stdout) == (0, b"")
    assert len(heard.text()) == 3_000_000


async def test_the_last_piece_says_that_the_cap_is_reached(workplace: Workplace) -> None:
    heard = Heard()
    await OneOff(wish(workplace, "seq", "1", "100", cap_bytes=10), heard.tell).run(workplace)
    assert heard.text() == b"1\n2\n3\n4\n5\n"
    assert [is_capped for _, _, is_capped in heard.pieces][-1]


async def test_a_timeout_has_a_code_of_its_own(workplace: Workplace) -> None:
    assert (await OneOff(wish(workplace, "sleep", "60", timeout_ms=50)).run(workplace)).exit_code == 124


@pytest.mark.parametrize(
    ("permissions", "pty", "code"), [(LOOK, None, -1), (FULL, None, -1), (FULL, Pty(), 1), (LOOK, Pty(), 1)]
)
async def test_one_that_is_ended_has_no_code_of_its_own(
    workplace: Workplace, permissions: Permissions, pty: Pty | None, code: int
) -> None:
    heard = Heard()
    command = OneOff(wish(workplace, "sh", "-c", "echo up; sleep 60", permissions=permissions, pty=pty), heard.tell)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_end_once_up, command, heard)
        assert (await command.run(workplace)).exit_code == code


async def _end_once_up(command: OneOff, heard: Heard) -> None:
    await heard.until(b"up")
    await command.terminate()


async def test_one_that_is_ended_before_it_began_ends(workplace: Workplace) -> None:
    command = OneOff(wish(workplace, "sleep", "60", timeout_ms=None))
    await command.terminate()
    assert (await command.run(workplace)).exit_code == -1


@pytest.mark.parametrize(("permissions", "code"), [(LOOK, 137), (FULL, -1)])
async def test_a_signal_of_its_own_is_told_as_a_shell_would(
    workplace: Workplace, permissions: Permissions, code: int
) -> None:
    command = OneOff(wish(workplace, "sh", "-c", "kill -9 $$", permissions=permissions))
    assert (await command.run(workplace)).exit_code == code


async def test_what_is_written_arrives_in_order_and_the_end_too(workplace: Workplace) -> None:
    command = OneOff(wish(workplace, "cat", has_stdin=True))
    for number in range(100):
        command.write(b"%d\n" % number, close=False)
    command.write(b"", close=True)
    outcome = await command.run(workplace)
    assert outcome.stdout == b"".join(b"%d\n" % number for number in range(100))
    with pytest.raises(NotWritable, match="already closed"):
        command.write(b"x", close=False)


async def test_what_nobody_reads_is_bounded(workplace: Workplace) -> None:
    command = OneOff(wish(workplace, "cat", has_stdin=True))
    command.write(bytes(one_off.MAX_UNREAD_BYTES), close=False)
    with pytest.raises(NotWritable, match="stdin is full"):
        command.write(b"x", close=False)


async def test_a_terminal_has_a_size_and_takes_input(workplace: Workplace) -> None:
    heard = Heard()
    script = "stty size; read line; stty size; echo got $line"
    command = OneOff(wish(workplace, "sh", "-c", script, pty=Pty(rows=5, cols=7)), heard.tell)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_resize_and_answer, command, heard)
        assert (await command.run(workplace)).exit_code == 0
    assert b"5 7" in heard.text()
    assert b"9 11" in heard.text()
    assert b"got hi" in heard.text()
    with pytest.raises(NoLongerRunning):
        await command.resize(1, 1)


async def _resize_and_answer(command: OneOff, heard: Heard) -> None:
    await heard.until(b"5 7")
    await command.resize(9, 11)
    command.write(b"hi\n", close=False)


@pytest.mark.parametrize("argv", [("/nowhere/at/all",), ("nul\0byte",)])
async def test_what_cannot_be_started_says_why(workplace: Workplace, argv: tuple[str, ...]) -> None:
    with pytest.raises(NotStarted, match=r"No such file or directory|nul byte"):
        await OneOff(wish(workplace, *argv)).run(workplace)


async def test_a_directory_that_is_not_there_is_told(workplace: Workplace) -> None:
    with pytest.raises(NotStarted, match="No such file or directory"):
        await OneOff(wish(workplace, "true", cwd="/nowhere")).run(workplace)


async def test_whoever_is_cancelled_takes_the_command_along(workplace: Workplace) -> None:
    heard = Heard()
    command = OneOff(
        wish(workplace, "sh", "-c", "echo $$; exec sleep 1000", permissions=FULL, timeout_ms=None), heard.tell
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(command.run, workplace)
        await heard.until(b"\n")
        nursery.cancel_scope.cancel()
    with pytest.raises(ProcessLookupError):
        os.kill(int(heard.text()), 0)
