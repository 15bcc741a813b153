"""The reference goes on with our session files, and we with its."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.events.goal import GoalCleared, GoalUpdated, ThreadGoal
from pycodex.protocol.ids import new_thread_id
from pycodex.protocol.items import written
from pycodex.protocol.model_info import TOKENS, ModelInfo, TruncationPolicy
from pycodex.protocol.rollout import COMPACTED, EVENT_MSG, RESPONSE_ITEM, SessionMeta
from pycodex.supervisor.context.history import History
from pycodex.supervisor.frontends.app_server.turn_views import told_turns
from pycodex.supervisor.rollout.listing import find_by_id, newest
from pycodex.supervisor.rollout.reader import fork_lines, replay
from pycodex.supervisor.rollout.stored_turns import turns_of_file
from pycodex.supervisor.rollout.writer import RolloutWriter, new_rollout_path
from support.engine import line_kinds, lines_of
from support.reference import Reference, reference, reference_binary
from support.reviews import RENDERED, REPORT
from support.rollouts import STAMP, Item, call, message, output, rolled_back, turn

POLICY = TruncationPolicy(TOKENS, 10_000)
MODEL = ModelInfo(slug="gpt-5.4", display_name="", context_window=272_000, truncation=POLICY)
REASONING: Item = {"type": "reasoning", "summary": [], "content": None, "encrypted_content": "b64"}


@pytest.fixture
def binary() -> str:
    found = reference_binary()
    if found is None:
        pytest.skip("no reference binary: set PYCODEX_CODEX_BIN or install @openai/codex with npm")
    return found


def prompt(path: str) -> list[Item]:
    """What we would send for that file."""
    history = History()
    history.record(replay(path).items, POLICY)
    return [written(item) for item in history.for_prompt(MODEL)]


def our_session(
    there: Reference, lines: Iterable[dict[str, Any]], figures: dict[str, Any] | None = None
) -> RolloutWriter:
    """A file of ours in its home; `figures` go with the answers of calls."""
    thread_id = new_thread_id()
    path = new_rollout_path(str(there.home), thread_id, 1_772_359_200)
    meta = SessionMeta(
        id=thread_id,
        timestamp=STAMP,
        cwd=str(there.workspace),
        originator="pycodex",
        pycodex="0.0.1",
        source="exec",
        model_provider="mock",
        base_instructions="Be good.",
    )
    writer = RolloutWriter.new(path, meta)
    for line in lines:
        is_answer = line["payload"].get("type") == "function_call_output"
        writer.append(line["type"], line["payload"], figures if is_answer else None)
    writer.materialise()
    return writer


def thread_of(writer: RolloutWriter) -> str:
    assert writer.path is not None
    return replay(writer.path).meta.id


def test_reference_goes_on_with_our_file(binary: str, shared_dir: Path) -> None:
    items = [REASONING, call("a"), output("a", "out"), call("lost"), call("b", "custom_tool_call")]
    middle = [{"type": RESPONSE_ITEM, "payload": item} for item in items]
    with reference(binary, shared_dir, [[{"say": "four"}]]) as there:
        lines = [*turn("1", "one", "ä1"), *turn("2", "gone", "a2"), rolled_back(1), *turn("3", "three", "a3", *middle)]
        writer = our_session(there, lines)
        writer.close()
        assert writer.path is not None
        expected = prompt(writer.path)
        events = there.exec("resume", thread_of(writer), "go on")
        assert events[0] == {"type": "thread.started", "thread_id": thread_of(writer)}
        (sent,) = there.requests()
        assert sent[: len(expected)] == expected
        assert sent[-1] == message("user", "go on")
        assert there.sessions() == [Path(writer.path)]
        # And we with what it has added.
        assert prompt(writer.path) == [*sent, message("assistant", "four")]


def test_reference_passes_over_what_only_we_write(binary: str, shared_dir: Path) -> None:
    """What a call has taken stands beside the payload of its answer."""
    figures = {"wall_ms": 1.5, "cpu_ms": 0.5, "peak_rss_bytes": 4096, "output_bytes": 3, "sandbox": "full"}
    middle = [{"type": RESPONSE_ITEM, "payload": item} for item in (call("a"), output("a", "out"))]
    with reference(binary, shared_dir, [[{"say": "two"}]]) as there:
        writer = our_session(there, turn("1", "one", "a1", *middle), figures=figures)
        writer.close()
        assert writer.path is not None
        assert Path(writer.path).read_text(encoding="utf-8").count('"pycodex":{"wall_ms":1.5,') == 1
        expected = prompt(writer.path)
        there.exec("resume", thread_of(writer), "go on")
        (sent,) = there.requests()
        assert sent[: len(expected)] == expected
        assert output("a", "out") in sent
        assert prompt(writer.path) == [*sent, message("assistant", "two")]


def test_reference_passes_over_goals(binary: str, shared_dir: Path) -> None:
    """It knows no such events, and no such fields."""
    goal = ThreadGoal(thread_id="t", objective="win", status="active", created_at=1, updated_at=2)
    told = [GoalUpdated(thread_id="t", goal=goal), GoalCleared(thread_id="t"), GoalUpdated(thread_id="t", goal=goal)]
    lines = [{"type": EVENT_MSG, "payload": event.to_stored()} for event in told]
    with reference(binary, shared_dir, [[{"say": "three"}]]) as there:
        # What the client calls a message is nothing to it, either.
        spoken = [dict(line, payload={"client_id": "mine", **line["payload"]}) for line in turn("2", "two", "a2")]
        writer = our_session(there, [*turn("1", "one", "a1", *lines), lines[0], *spoken, lines[0]])
        writer.close()
        assert writer.path is not None
        expected = prompt(writer.path)
        there.exec("resume", thread_of(writer), "go on")
        (sent,) = there.requests()
        assert sent[: len(expected)] == expected
        assert sent[-1] == message("user", "go on")
        assert prompt(writer.path) == [*sent, message("assistant", "three")]


def test_reference_goes_on_from_our_summary(binary: str, shared_dir: Path) -> None:
    kept = [message("user", "one"), message("user", "all about plums")]
    line = {"type": COMPACTED, "payload": {"message": "all about plums", "replacement_history": kept}}
    with reference(binary, shared_dir, [[{"say": "two"}]]) as there:
        writer = our_session(there, [*turn("1", "one", "a1"), line])
        writer.close()
        assert writer.path is not None
        there.exec("resume", thread_of(writer), "go on")
        (sent,) = there.requests()
        assert sent[:2] == kept
        assert message("assistant", "a1") not in sent
        assert prompt(writer.path) == [*sent, message("assistant", "two")]


def test_reference_reads_what_we_wrote_behind_half_a_line(binary: str, shared_dir: Path) -> None:
    with reference(binary, shared_dir, [[{"say": "ok"}]]) as there:
        writer = our_session(there, turn("1", "one", "a1"))
        writer.close()
        assert writer.path is not None
        with Path(writer.path).open("a") as file:
            file.write('{"timestamp":"2026-03-01T10:00:00.000Z","type":"event_m')
        writer = RolloutWriter.resumed(writer.path)
        for line in turn("2", "two", "a2"):
            writer.append(line["type"], line["payload"])
        writer.close()
        there.exec("resume", thread_of(writer), "go on")
        (sent,) = there.requests()
        said = [item["content"][0]["text"] for item in sent if item["type"] == "message"]
        assert said[:4] == ["one", "a1", "two", "a2"]


def test_we_read_what_the_reference_wrote(binary: str, shared_dir: Path) -> None:
    script = [
        [{"reason": "hm"}, {"call": "exec_command", "args": {"cmd": "echo é"}}],
        [{"say": "done"}],
        [{"say": "again"}],
    ]
    with reference(binary, shared_dir, script) as there:
        (started, *_) = there.exec("-s", "danger-full-access", "do it")
        (path,) = there.sessions()
        session = replay(str(path))
        assert session.meta.id == started["thread_id"]
        assert session.meta.source == "exec"
        assert (session.user_turns, session.has_open_call, session.previous_model) == (1, False, "gpt-5.4")
        assert session.token_info is not None
        assert session.token_info["total_token_usage"]["total_tokens"] == 240
        assert session.reference_context is not None
        assert session.reference_context["cwd"] == str(there.workspace)
        expected = prompt(str(path))
        there.exec("-s", "danger-full-access", "resume", "--last", "more")
        assert there.requests()[-1] == [*expected, message("user", "more")]
        assert find_by_id(str(there.home), session.meta.id) == str(path)
        assert newest(str(there.home), provider="mock", cwd=str(there.workspace)) == str(path)


def test_both_programs_take_turns_in_one_session(binary: str, shared_dir: Path) -> None:
    ours = Path(sys.executable).with_name("pycodex")
    if not ours.exists():
        pytest.skip("pycodex is not installed here")
    script = [
        [{"reason": "hm"}, {"say": "Looking."}, {"call": "exec_command", "args": {"cmd": "echo é; exit 3"}}],
        [{"say": "one"}],
        [{"call": "exec_command", "args": {"cmd": "echo two"}}],
        [{"say": "two"}],
        [{"say": "three"}],
    ]
    with reference(binary, shared_dir, script) as there:
        (started, *_) = there.exec("--full-auto", "first", binary=str(ours))
        thread_id = started["thread_id"]
        (again, *_) = there.exec("--full-auto", "resume", thread_id, "second")
        (last, *_) = there.exec("--full-auto", "resume", "--last", "third", binary=str(ours))
        assert again["thread_id"] == last["thread_id"] == thread_id
        (path,) = there.sessions()
        _, second, third, fourth, fifth = there.requests()
        # Each sends what the other has sent and heard, and then what is new.
        assert third[: len(second)] == second
        assert third[-1] == message("user", "second")
        assert fifth[: len(fourth)] == fourth
        assert fifth[-1] == message("user", "third")
        assert prompt(str(path)) == [*fifth, message("assistant", "three")]


def test_reference_goes_on_with_a_fork_of_its_own_file(binary: str, shared_dir: Path) -> None:
    with reference(binary, shared_dir, [[{"say": "plum"}], [{"say": "ok"}]]) as there:
        there.exec("remember plum")
        (path,) = there.sessions()
        expected = prompt(str(path))
        origin = replay(str(path)).meta
        thread_id = new_thread_id()
        lines = fork_lines(str(path), origin.replace(id=thread_id, forked_from_id=origin.id))
        RolloutWriter.forked(new_rollout_path(str(there.home), thread_id, 1_772_359_200), lines).close()
        (started, *_) = there.exec("resume", thread_id, "what was it")
        assert started["thread_id"] == thread_id
        assert there.requests()[-1] == [*expected, message("user", "what was it")]


def test_both_programs_know_reviews_of_each_other(binary: str, shared_dir: Path) -> None:
    ours = Path(sys.executable).with_name("pycodex")
    if not ours.exists():
        pytest.skip("pycodex is not installed here")
    script = [[{"say": REPORT}], [{"say": "ok"}], [{"say": REPORT}], [{"say": "fine"}]]
    with reference(binary, shared_dir, script) as there:
        (started, *_) = there.exec("review", "look at the plums", binary=str(ours))
        there.exec("resume", started["thread_id"], "and now")
        (theirs, *_) = there.exec("review", "look at the pears")
        there.exec("resume", theirs["thread_id"], "and now", binary=str(ours))
        requests = there.requests()
        # Whoever goes on with a review sees its report, as the person's action and as what was said.
        for sent in (requests[1], requests[3]):
            result, said, *_, last = [item for item in sent if item["type"] == "message"]
            assert "<action>review</action>" in result["content"][0]["text"]
            assert RENDERED in result["content"][0]["text"]
            assert said == message("assistant", RENDERED)
            assert last == message("user", "and now")
        shapes = {}
        for path in there.sessions():
            lines = lines_of(path)
            shapes[lines[0]["payload"]["id"]] = line_kinds(lines)
        # Only the context of the turn that follows differs in its parts.
        assert shapes[started["thread_id"]][:10] == shapes[theirs["thread_id"]][:10]
        (path,) = [path for path in there.sessions() if theirs["thread_id"] in path.name]
        review, turn_after = told_turns(turns_of_file(str(path)))
        assert [item["type"] for item in review["items"]] == [
            *("enteredReviewMode", "userMessage", "exitedReviewMode", "agentMessage"),
        ]
        assert review["items"][2]["review"] == RENDERED
        assert [item["type"] for item in turn_after["items"]] == ["userMessage", "agentMessage"]
