"""Session files, whole and damaged, of several versions."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from pycodex.protocol.rollout import RESPONSE_ITEM, SessionMeta
from pycodex.supervisor.rollout.reader import (
    RolloutUnreadable,
    fork_lines,
    read_lines,
    read_lines_backwards,
    replay,
)
from pycodex.supervisor.rollout.writer import RolloutWriter
from support.rollouts import (
    STAMP,
    THREAD_ID,
    Line,
    call,
    compacted,
    complete,
    event,
    item,
    line,
    message,
    meta,
    output,
    rolled_back,
    said_by_agent,
    said_by_user,
    started,
    text_of,
    texts,
    turn,
    turn_context,
    write,
)

OTHER_ID = THREAD_ID[:-2] + "bb"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rollout.jsonl"


def test_session_is_replayed(path: Path) -> None:
    usage = {"total_token_usage": {"total_tokens": 120}}
    head = meta(base_instructions={"text": "Be good."}, git={"branch": "main"}, forked_from_id=OTHER_ID)
    lines = [
        head,
        *turn("1", "one", "a1"),
        event("token_count", info=usage, rate_limits=None),
        *turn("2", "two", "a2", item(call("c")), item(output("c", "x"))),
    ]
    session = replay(write(path, lines))
    assert session.meta == SessionMeta(
        id=THREAD_ID,
        forked_from_id=OTHER_ID,
        timestamp=STAMP,
        cwd="/w",
        originator="pycodex",
        source="cli",
        model_provider="mock",
        base_instructions="Be good.",
        git={"branch": "main"},
    )
    assert session.items == [
        message("user", "one"),
        message("assistant", "a1"),
        message("user", "two"),
        call("c"),
        output("c", "x"),
        message("assistant", "a2"),
    ]
    assert session.reference_context == turn_context("2")["payload"]
    assert session.previous_model == "gpt-5.4"
    assert session.token_info == usage
    assert session.user_turns == 2
    assert not session.has_open_call
    assert session.summaries == frozenset()
    assert [each["type"] for each in session.event_messages()] == [
        "task_started",
        "user_message",
        "agent_message",
        "task_complete",
        "token_count",
        "task_started",
        "user_message",
        "agent_message",
        "task_complete",
    ]


def test_call_without_output_is_noticed(path: Path) -> None:
    assert replay(write(path, [meta(), *said_by_user("one"), item(call("c"))])).has_open_call


def test_events_of_later_lines_are_not_part_of_what_was_replayed(path: Path) -> None:
    session = replay(write(path, [meta(), *said_by_user("one")]))
    with path.open("a") as file:
        file.write(text_of(said_by_user("two")))
    assert [each["message"] for each in session.event_messages()] == ["one"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "empty session file"),
        (" \n\n\t\n", "empty session file"),
        ("\0\0\0\0", "empty session file"),
        ("{not json\n", "failed to parse thread ID from rollout file"),
        (text_of([item(message("user", "x"))]), "failed to parse thread ID from rollout file"),
        (text_of([line("session_meta", {"id": THREAD_ID})]), "failed to parse thread ID from rollout file"),
    ],
)
def test_file_that_is_no_session_is_refused(path: Path, content: str, reason: str) -> None:
    path.write_text(content)
    with pytest.raises(RolloutUnreadable) as refusal:
        replay(str(path))
    assert refusal.value.reason == reason
    assert str(refusal.value) == f"failed to load rollout `{path}`: {reason}"


def test_missing_file_is_refused(path: Path) -> None:
    with pytest.raises(RolloutUnreadable) as refusal:
        replay(str(path))
    assert refusal.value.reason == "No such file or directory (os error 2)"


def test_first_head_that_can_be_read_counts(path: Path) -> None:
    lines: list[Line | str] = ["{torn", line("session_meta", {"id": OTHER_ID}), meta(), meta(OTHER_ID, cwd="/other")]
    assert replay(write(path, lines)).meta.id == THREAD_ID


def test_one_bad_line_loses_only_itself(path: Path) -> None:
    lines: list[Line | str] = [
        meta(),
        "{not json",
        "",
        line("from_the_future", {"a": 1}),
        item({"type": "new_kind", "x": 1}),
        event("new_event"),
        *said_by_user("one"),
        *said_by_agent("a1"),
        {**item({**message("user", "two"), "later": True}), "extra": 1},
    ]
    session = replay(write(path, lines))
    assert session.items == [message("user", "one"), message("assistant", "a1"), message("user", "two")]


def test_line_that_another_program_appended_to_half_a_line_is_found(path: Path) -> None:
    whole = text_of([meta(), *said_by_user("one")])
    torn = text_of(said_by_agent("lost"))[:90]
    path.write_text(whole + torn + text_of(said_by_user("two")))
    assert texts(replay(str(path)).items) == ["user: one", "user: two"]


def version_63(path: Path) -> str:
    """No ids of turns, no beginnings; settings in older words."""
    settings = {"cwd": "/w", "approval_policy": "never", "sandbox_policy": {"mode": "read-only"}, "model": "m"}
    lines = [
        meta(cli_version="0.63.0", instructions=None),
        item(message("user", "<environment_context>\n</environment_context>")),
        line("turn_context", {**settings, "effort": "low", "summary": "auto"}),
        *said_by_user("one"),
        event("agent_reasoning", text="hm"),
        item({"type": "reasoning", "summary": [], "content": None, "encrypted_content": None}),
        *said_by_agent("a1"),
        event("token_count", info=None, rate_limits=None),
    ]
    return write(path, lines)


def version_166(path: Path) -> str:
    """Numbered lines, new kinds of them, and what was said as completed items."""

    def completed(kind: str, text: str) -> Line:
        part = {"type": "text" if kind == "UserMessage" else "Text", "text": text}
        said = {"type": kind, "id": "i", "content": [part]}
        return event("item_completed", thread_id=THREAD_ID, turn_id="t", item=said)

    lines = [
        meta(cli_version="0.166.0", history_mode="x"),
        line("world_state", {"full": True}),
        started("t"),
        item({**message("developer", "base"), "id": "msg_0"}),
        line("turn_context", {"turn_id": "t", "cwd": "/w", "model": "m", "permission_profile": {}}),
        item({**message("user", "one"), "id": "msg_1"}),
        completed("UserMessage", "one"),
        completed("AgentMessage", "a1"),
        item(message("assistant", "a1")),
        line("token_usage_record", {"usage": {}}),
        complete("t"),
    ]
    return write(path, [{"ordinal": number, **each} for number, each in enumerate(lines)])


def test_older_versions_files_are_read(path: Path) -> None:
    session = replay(version_63(path))
    assert texts(session.items)[1:] == ["user: one", "assistant: a1"]
    assert session.user_turns == 1
    assert session.reference_context is not None
    assert session.previous_model == "m"


def test_newer_versions_files_are_read(path: Path) -> None:
    session = replay(version_166(path))
    assert texts(session.items) == ["developer: base", "user: one", "assistant: a1"]
    assert session.reference_context is None, "settings in a form that we cannot compare with ours"
    said = [each for each in session.event_messages() if each["type"] in ("user_message", "agent_message")]
    assert [each["message"] for each in said] == ["one", "a1"]


def test_file_may_be_cut_anywhere_and_goes_on(path: Path, tmp_path: Path) -> None:
    lines = [meta(), *turn("1", "öne", "a1", item(call("c")), item(output("c", "x"))), *said_by_user("two")]
    encoded = [text_of([each]).encode() for each in lines]
    whole = b"".join(encoded)
    # A line counts once all of it but its end is there.
    ends = [len(b"".join(encoded[: number + 1])) - 1 for number in range(len(encoded))]
    items = [each["payload"] if each["type"] == "response_item" else None for each in lines]
    for cut in range(ends[0], len(whole) + 1):
        path.write_bytes(whole[:cut])
        kept = [said for said, end in zip(items, ends, strict=True) if said is not None and end <= cut]
        assert replay(str(path)).items == kept
        writer = RolloutWriter.resumed(str(path))
        writer.append(RESPONSE_ITEM, message("user", "more"))
        writer.close()
        assert replay(str(path)).items == [*kept, message("user", "more")]
        assert path.read_bytes().startswith(whole[:cut])


@pytest.mark.parametrize("cut", [0, 1, 50, 150])
def test_file_cut_within_its_head_is_refused(path: Path, cut: int) -> None:
    path.write_bytes(text_of([meta()]).encode()[:cut])
    with pytest.raises(RolloutUnreadable):
        replay(str(path))


def test_memory_goes_by_the_context_and_not_by_the_file(path: Path, scale: Callable[[int, int], int]) -> None:
    turns = scale(200, 20_000)
    filler = [item(call("c")), item(output("c", "x" * 40_000)), item(message("assistant", "done"))]
    with path.open("w") as file:
        file.write(text_of([meta()]))
        for number in range(turns):
            file.write(text_of([started(str(number)), turn_context(str(number)), *said_by_user("go"), *filler]))
        file.write(text_of([event("token_count", info={"x": 1}, rate_limits=None)]))
        file.write(text_of([started("c"), compacted("summary", [message("user", "summary")]), complete("c")]))
        file.write(text_of(turn("last", "now", "ok")))
    size = path.stat().st_size
    tracemalloc.start()
    session = replay(str(path))
    for _ in session.event_messages():
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert texts(session.items) == ["user: summary", "user: now", "assistant: ok"]
    assert size > 7_000_000
    assert peak < 3_000_000


def test_lines_are_read_in_both_directions(path: Path) -> None:
    write(path, [meta(), *said_by_user("one"), "{bad", *said_by_agent("a1")])
    there = list(read_lines(str(path)))
    assert [each.kind for each in there] == ["session_meta", "response_item", "event_msg", "event_msg", "response_item"]
    assert list(read_lines_backwards(str(path))) == there[::-1]


def test_fork_has_its_own_head_and_then_everything(path: Path, tmp_path: Path) -> None:
    lines: list[Line | str] = [meta(), *turn("1", "one", "a1"), rolled_back(1), "{bad", *said_by_user("two")]
    write(path, lines)
    head = SessionMeta(id=OTHER_ID, forked_from_id=THREAD_ID, timestamp=STAMP, cwd="/new", originator="o")
    forked = list(fork_lines(str(path), head))
    assert forked[0].payload == head.to_payload()
    assert [(each.kind, each.payload) for each in forked[1:]] == [
        (each["type"], each["payload"]) for each in lines if not isinstance(each, str)
    ]
    assert all(each.timestamp > STAMP for each in forked)
    copy = tmp_path / "fork.jsonl"
    copy.write_bytes(b"".join(each.encode() for each in forked))
    session = replay(str(copy))
    assert (session.meta.id, session.meta.cwd) == (OTHER_ID, "/new")
    assert session.items == replay(str(path)).items


@pytest.mark.parametrize(
    "scenario", ["odd-lines", "rolled-back-file", "compacted-file", "synthetic", "items-only", "events-only"]
)
def test_recorded_files_give_what_the_reference_sent(scenario: str, shared_dir: Path, tmp_path: Path) -> None:
    """The reference's next request begins with the history; its watched texts name what must be in it, in order."""
    name = f"session-{scenario}.json"
    spec = json.loads((shared_dir / "interop" / "scenarios" / name).read_text())
    expected = json.loads((shared_dir / "interop" / "expected" / name).read_text())["model"]
    (content,) = (file for path, file in spec["home"].items() if path.startswith("sessions/"))
    path = tmp_path / "rollout.jsonl"
    path.write_text(content.replace("{ws}", str(tmp_path)))
    session = replay(str(path))
    said = [each.partition(": ")[2] for each in texts(session.items)]
    sent = [each.partition(": ")[2] for each in expected["texts"][0] if each.startswith(("user: ", "assistant: "))]
    watched = [text for text in said if any(word in text for word in spec["watch"])]
    assert sent[: len(watched)] == watched
    # The reference adds two messages with the settings, and the new one. (An output too many and one too few in one
    # of the files make no difference.)
    assert len(expected["shapes"][0]) == len(session.items) + 3
