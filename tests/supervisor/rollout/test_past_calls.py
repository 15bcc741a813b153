"""Calls of past sessions: all of them, each once, with the terms of its turn."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from pycodex.supervisor.rollout import past_calls
from pycodex.supervisor.rollout.past_calls import PastCall, PastCalls
from support import rollouts
from support.rollouts import Line

FORK_ID = "01950000-0000-7000-8000-0000000000bb"
OTHER_FORK_ID = "01950000-0000-7000-8000-0000000000cc"


def called(call_id: str, *, stamp: str = rollouts.STAMP) -> Line:
    return {**rollouts.item(rollouts.call(call_id)), "timestamp": stamp}


def ids(calls: list[PastCall]) -> list[str]:
    return [call.item["call_id"] for call in calls]


def read(path: str | Path, since: float = 0) -> list[PastCall]:
    return list(PastCalls(since=since).of(str(path)))


def test_call_comes_with_the_settings_of_its_turn(tmp_path: Path) -> None:
    lines = [
        rollouts.meta(),
        *(rollouts.turn_context("one", cwd="/one"), called("a")),
        *(rollouts.turn_context("two", cwd="/two"), called("b"), called("c")),
    ]
    found = read(rollouts.write(tmp_path / "f", lines))
    assert [(call.item["call_id"], call.terms["cwd"]) for call in found] == [
        ("a", "/one"),
        ("b", "/two"),
        ("c", "/two"),
    ]


def test_other_lines_and_broken_ones_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past_calls, "MAX_CALL_LINE_BYTES", 1000)
    huge: dict[str, Any] = {**rollouts.call("huge"), "arguments": "x" * 2000}
    local = {"type": "local_shell_call", "call_id": "l", "status": "completed", "action": {"type": "exec"}}
    lines: list[Line | str] = [
        rollouts.meta(),
        called("before any settings"),
        rollouts.turn_context("t"),
        '{"timestamp":"x","type":"response_item","payload":{"type":"function_call","na',
        "\0\0\0",
        rollouts.item(huge),
        rollouts.item(rollouts.output("a", "ok")),
        rollouts.compacted("s", [rollouts.call("kept")]),
        rollouts.event("exec_command_begin", of="function_call"),
        rollouts.item(local),
        called("a"),
    ]
    assert ids(read(rollouts.write(tmp_path / "f", lines))) == ["l", "a"]


def test_file_that_is_gone_has_no_calls(tmp_path: Path) -> None:
    assert read(tmp_path / "gone") == []


def test_what_forks_repeat_counts_once(tmp_path: Path) -> None:
    origin = [rollouts.meta(), rollouts.turn_context("t"), called("a"), called("a"), called("b")]
    files = [
        [rollouts.meta(FORK_ID, forked_from_id=rollouts.THREAD_ID), *origin, called("c")],
        [rollouts.meta(OTHER_FORK_ID, forked_from_id=rollouts.THREAD_ID), *origin, called("d")],
        origin,
    ]
    past = PastCalls(since=0)
    paths = [rollouts.write(tmp_path / str(number), lines) for number, lines in enumerate(files)]
    assert [ids(list(past.of(path))) for path in paths] == [["a", "a", "b", "c"], ["d"], []]


def test_same_ids_in_sessions_that_have_nothing_in_common_count_each(tmp_path: Path) -> None:
    past = PastCalls(since=0)
    for thread_id in (FORK_ID, OTHER_FORK_ID):
        lines = [rollouts.meta(thread_id), rollouts.turn_context("t"), called("a")]
        assert ids(list(past.of(rollouts.write(tmp_path / thread_id, lines)))) == ["a"]


def test_calls_before_the_period_are_left_out(tmp_path: Path) -> None:
    stamps = ("2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z", "2026-01-03T00:00:00.000Z")
    lines = [rollouts.meta(), rollouts.turn_context("t"), *(called(stamp, stamp=stamp) for stamp in stamps)]
    path = rollouts.write(tmp_path / "f", lines)
    assert ids(read(path, since=1767312000)) == list(stamps[1:])


def test_only_sessions_that_were_written_to_in_the_period_are_read(tmp_path: Path) -> None:
    old, new = (
        rollouts.place(tmp_path, thread_id, [rollouts.meta(thread_id)]) for thread_id in (FORK_ID, OTHER_FORK_ID)
    )
    os.utime(old, (1000, 1000))
    assert [file.path for file in PastCalls(since=time.time() - 3600).files(str(tmp_path))] == [new]
