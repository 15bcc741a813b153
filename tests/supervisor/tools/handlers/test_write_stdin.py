"""Running commands are typed into and looked at, and known until their end was told."""

import re
from pathlib import Path

import pytest

from pycodex.protocol.permissions import Permissions
from pycodex.supervisor.tools.handlers.write_stdin import WriteStdin, bounded_wait_ms
from support.tool_calls import FULL_ACCESS, WORKSPACE_WRITE, Bench, Benches, make_turn

EITHER = pytest.mark.parametrize("permissions", [WORKSPACE_WRITE, FULL_ACCESS], ids=["confined", "unconfined"])


async def started(bench: Bench, cmd: str, **arguments: object) -> int:
    answer = await bench.run(cmd, yield_time_ms=250, **arguments)
    found = re.search(r"session ID (\d+)", answer)
    assert found is not None, answer
    return int(found[1])


async def typed(bench: Bench, session_id: int, chars: str, yield_time_ms: int = 30_000) -> tuple[str, str]:
    """State and output of the answer."""
    answer = await bench.call("write_stdin", session_id=session_id, chars=chars, yield_time_ms=yield_time_ms)
    found = re.search(r"seconds\n(Process .*)\nOriginal token count: \d+\nOutput:\n((?:.|\n)*)", answer)
    assert found is not None, answer
    return found[1], found[2]


@EITHER
async def test_what_is_typed_is_echoed_and_answered(benches: Benches, permissions: Permissions) -> None:
    async with benches(permissions) as bench:
        session_id = await started(bench, "read a; echo one:$a; read b; echo two:$b", tty=True)
        assert await typed(bench, session_id, "A\n", 1000) == (
            f"Process running with session ID {session_id}",
            "A\r\none:A\r\n",
        )
        assert await typed(bench, session_id, "B\n") == ("Process exited with code 0", "B\r\ntwo:B\r\n")
        gone = await bench.call("write_stdin", session_id=session_id, chars="C\n")
        told = bench.told("terminal_interaction")
    assert gone == f"write_stdin failed: Unknown process id {session_id}"
    assert told == [
        {"type": "terminal_interaction", "call_id": "call-1", "process_id": str(session_id), "stdin": chars}
        for chars in ("A\n", "B\n")
    ]


@pytest.mark.parametrize(
    ("permissions", "code"), [(WORKSPACE_WRITE, 130), (FULL_ACCESS, 1)], ids=["confined", "unconfined"]
)
async def test_control_c_interrupts(benches: Benches, permissions: Permissions, code: int) -> None:
    async with benches(permissions) as bench:
        session_id = await started(bench, "echo ready; exec sleep 1000", tty=True)
        await bench.until_told("exec_command_output_delta")
        state, output = await typed(bench, session_id, "\x03")
    assert state == f"Process exited with code {code}"
    assert output.endswith("^C")


async def test_control_d_ends_the_input(benches: Benches) -> None:
    async with benches() as bench:
        session_id = await started(bench, "cat; echo end", tty=True)
        assert await typed(bench, session_id, "\x04") == ("Process exited with code 0", "end\r\n")


async def test_nothing_can_be_typed_without_a_terminal(benches: Benches) -> None:
    async with benches() as bench:
        session_id = await started(bench, "sleep 1000")
        answer = await bench.call("write_stdin", session_id=session_id, chars="x")
        assert bench.told("terminal_interaction") == []
    assert answer == (
        "write_stdin failed: stdin is closed for this session; rerun exec_command with tty=true to keep stdin open"
    )


@pytest.mark.parametrize("chars", ["", "too late\n"])
async def test_end_between_calls_is_told_by_the_next(benches: Benches, workspace: Path, chars: str) -> None:
    async with benches() as bench:
        session_id = await started(bench, "until test -e go; do sleep 0.01; done; echo over; exit 5", tty=True)
        (workspace / "go").touch()
        await bench.until_told("exec_command_end")
        assert await typed(bench, session_id, chars) == ("Process exited with code 5", "over\r\n")
        answer = await bench.answer("write_stdin", {"session_id": session_id})
        assert answer.output == f"write_stdin failed: Unknown process id {session_id}"


async def test_poll_waits_for_the_end_and_tells_what_was_used(benches: Benches, workspace: Path) -> None:
    async with benches() as bench:
        session_id = await started(bench, "echo one; until test -e go; do sleep 0.01; done; echo two")
        (workspace / "go").touch()
        answer = await bench.answer("write_stdin", {"session_id": session_id, "yield_time_ms": 0})
    assert isinstance(answer.output, str)
    assert answer.output.endswith("Process exited with code 0\nOriginal token count: 1\nOutput:\ntwo\n")
    assert answer.usage is not None
    assert answer.usage.output_bytes == len("one\ntwo\n")


async def test_terminal_that_is_not_read_does_not_hold_the_call(benches: Benches) -> None:
    async with benches() as bench:
        session_id = await started(bench, "stty raw -echo; echo ready; exec sleep 1000", tty=True)
        answer = await bench.call("write_stdin", session_id=session_id, chars="x" * (32 << 20), yield_time_ms=250)
    assert answer == "write_stdin failed: failed to write to stdin"


@pytest.mark.parametrize(
    ("asked_ms", "polls", "most_ms", "wait_ms"),
    [
        (0, False, 300_000, 250),
        (1000, False, 300_000, 1000),
        (10**15, False, 300_000, 30_000),
        (0, True, 300_000, 5000),
        (60_000, True, 300_000, 60_000),
        (10**15, True, 300_000, 300_000),
        (10**15, True, 10, 5000),
    ],
)
def test_waiting_time_is_bounded(asked_ms: int, polls: bool, most_ms: int, wait_ms: int) -> None:
    assert bounded_wait_ms(asked_ms, polls=polls, most_ms=most_ms) == wait_ms


def test_schema() -> None:
    schema = WriteStdin().spec(make_turn())
    assert list(schema["parameters"]["properties"]) == ["chars", "max_output_tokens", "session_id", "yield_time_ms"]
    assert schema["parameters"]["required"] == ["session_id"]
