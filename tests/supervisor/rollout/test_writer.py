"""Each line reaches the file whole and in order, whatever happens."""

import os
import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.ids import new_thread_id
from pycodex.protocol.rollout import EVENT_MSG, RESPONSE_ITEM, SessionMeta, decode, line_now
from pycodex.supervisor.rollout.reader import read_lines, replay
from pycodex.supervisor.rollout.writer import RolloutUnwritable, RolloutWriter, new_rollout_path
from support.rollouts import STAMP, THREAD_ID, message, meta, said_by_user, write

META = SessionMeta(id=THREAD_ID, timestamp=STAMP, cwd="/w", originator="o", pycodex="1")
FULL_DEVICE = Path("/dev/full")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / "2026" / "03" / "01" / "rollout.jsonl"


def say(writer: RolloutWriter, text: str) -> None:
    writer.append(RESPONSE_ITEM, message("user", text))


def said(path: Path) -> list[str]:
    return [line.payload["content"][0]["text"] for line in read_lines(str(path)) if line.kind == RESPONSE_ITEM]


def run(program: str, *arguments: object) -> None:
    """A program of its own that may do to itself what would hurt this one."""
    argv = [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_nothing_is_on_disk_before_it_is_wanted(path: Path) -> None:
    writer = RolloutWriter.new(str(path), META)
    say(writer, "one")
    assert writer.path == str(path)
    assert not path.parent.exists()
    writer.materialise()
    assert [line.kind for line in read_lines(str(path))] == ["session_meta", RESPONSE_ITEM]
    say(writer, "two")
    assert said(path) == ["one", "two"]
    writer.materialise()
    writer.close()
    assert said(path) == ["one", "two"]
    assert replay(str(path)).meta == META


def test_lines_are_stamped_when_they_are_given(path: Path) -> None:
    writer = RolloutWriter.new(str(path), META)
    say(writer, "one")
    writer.materialise()
    writer.close()
    assert all(
        re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.timestamp) for line in read_lines(str(path))
    )


def test_modes_follow_the_umask(path: Path) -> None:
    run(
        """
        import os, sys
        os.umask(0o027)
        from pycodex.protocol.rollout import SessionMeta
        from pycodex.supervisor.rollout.writer import RolloutWriter
        writer = RolloutWriter.new(sys.argv[1], SessionMeta(id="i", timestamp="t", cwd="/", originator="o"))
        writer.materialise()
        """,
        path,
    )
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.parent.stat().st_mode & 0o777 == 0o750


def test_ephemeral_thread_leaves_nothing() -> None:
    writer = RolloutWriter.ephemeral()
    assert writer.path is None
    say(writer, "one")
    writer.materialise()
    say(writer, "two")
    writer.flush()
    writer.close()


def test_fork_is_on_disk_at_once(path: Path) -> None:
    writer = RolloutWriter.forked(str(path), [line_now("session_meta", META.to_payload()), line_now("x", {"n": 1})])
    assert [line.kind for line in read_lines(str(path))] == ["session_meta", "x"]
    say(writer, "one")
    writer.close()
    assert said(path) == ["one"]


def test_resumed_file_goes_on_at_its_end(path: Path) -> None:
    write(path, [meta(), *said_by_user("one")])
    before = path.read_bytes()
    writer = RolloutWriter.resumed(str(path))
    assert path.read_bytes() == before
    say(writer, "two")
    writer.close()
    assert path.read_bytes().startswith(before + b'{"timestamp"')
    assert said(path) == ["one", "two"]


def test_unfinished_line_is_ended_before_the_next(path: Path) -> None:
    write(path, [meta()])
    with path.open("a") as file:
        file.write('{"timestamp":"2026')
    writer = RolloutWriter.resumed(str(path))
    say(writer, "one")
    say(writer, "two")
    writer.close()
    lines = path.read_bytes().splitlines()
    assert lines[1] == b'{"timestamp":"2026'
    assert len(lines) == 4
    assert said(path) == ["one", "two"]


def test_resuming_what_is_not_there_is_refused_and_makes_nothing(path: Path) -> None:
    with pytest.raises(RolloutUnwritable):
        RolloutWriter.resumed(str(path))
    assert not path.exists()


def test_lines_that_could_not_be_written_come_first_next_time(path: Path) -> None:
    obstacle = path.parent.parent
    obstacle.parent.mkdir(parents=True)
    obstacle.write_text("in the way")
    writer = RolloutWriter.new(str(path), META)
    say(writer, "one")
    with pytest.raises(RolloutUnwritable) as refusal:
        writer.materialise()
    assert isinstance(refusal.value, UserFacing)
    assert str(path) in str(refusal.value)
    assert refusal.value.path == str(path)
    with pytest.raises(RolloutUnwritable):
        say(writer, "two")
    obstacle.unlink()
    say(writer, "three")
    writer.close()
    assert next(line.kind for line in read_lines(str(path))) == "session_meta"
    assert said(path) == ["one", "two", "three"]


@pytest.mark.skipif(not FULL_DEVICE.exists(), reason=f"no {FULL_DEVICE} here")
def test_lines_that_could_not_be_written_are_tried_a_last_time_at_the_end(path: Path) -> None:
    writer = RolloutWriter.new(str(path), META)
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    path.parent.write_text("in the way")
    with pytest.raises(RolloutUnwritable):
        writer.materialise()
    writer.close()
    path.parent.unlink()
    writer.close()
    assert replay(str(path)).meta.id == META.id
    assert path.read_bytes().endswith(b"\n")


def test_full_disk_is_named() -> None:
    writer = RolloutWriter.resumed(str(FULL_DEVICE))
    with pytest.raises(
        RolloutUnwritable, match=f"cannot write the session file {FULL_DEVICE}: No space left on device"
    ):
        say(writer, "one")
    writer.close()


def test_disk_may_become_full_at_any_byte_of_a_line(path: Path) -> None:
    """The limit of a file's size cuts a write short, as a full disk does."""
    write(path, [meta()])
    run(
        """
        import os, resource, sys
        from pathlib import Path
        from pycodex.protocol.rollout import decode
        from pycodex.supervisor.rollout.writer import RolloutUnwritable, RolloutWriter

        path = Path(sys.argv[1])
        head = path.read_bytes()
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        for room in range(90):
            path.write_bytes(head)
            writer = RolloutWriter.resumed(str(path))
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(head) + room, hard))
            refused = 0
            for number in range(2):
                try:
                    writer.append("x", {"n": number})
                except RolloutUnwritable as error:
                    assert error.reason == "File too large", error.reason
                    refused += 1
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
            writer.append("x", {"n": 2})
            writer.close()
            lines = [decode(line) for line in path.read_bytes().splitlines()[1:]]
            numbers = [line.payload["n"] for line in lines if line is not None]
            assert numbers == [0, 1, 2], (room, path.read_bytes()[len(head):])
            assert refused > 0, room
        """,
        path,
    )


def test_writers_do_not_mix_their_lines(path: Path) -> None:
    write(path, [meta()])
    program = """
        import sys
        from pycodex.supervisor.rollout.writer import RolloutWriter

        path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
        writer = RolloutWriter.resumed(path)
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(count):
            writer.append("x", {"by": name, "n": number, "text": name * (number * 7919 % 60_000)})
        """
    count = 300
    argv = [sys.executable, "-c", textwrap.dedent(program), str(path)]
    writers = [
        subprocess.Popen([*argv, name, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in "abc"
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    lines = [decode(line) for line in path.read_bytes().splitlines()[1:]]
    written = [line.payload for line in lines if line is not None]
    assert len(written) == len(lines) == 3 * count
    for name in "abc":
        assert [each["n"] for each in written if each["by"] == name] == list(range(count))
    assert all(each["text"] == each["by"] * len(each["text"]) for each in written)


def test_line_of_half_a_character_can_be_written(path: Path) -> None:
    writer = RolloutWriter.new(str(path), META)
    writer.append(EVENT_MSG, {"type": "agent_message", "message": "\udcff"})
    writer.materialise()
    writer.close()
    assert [line.payload.get("message") for line in read_lines(str(path))] == [None, "?"]


def test_path_is_dated_by_the_local_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    thread_id = new_thread_id()
    monkeypatch.setenv("TZ", "UTC-14")
    time.tzset()
    try:
        path = new_rollout_path("/home", thread_id, 1772359200.5)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert path == f"/home/sessions/2026/03/02/rollout-2026-03-02T00-00-00-{thread_id}.jsonl"


def test_file_that_was_moved_while_open_goes_on_where_it_is(path: Path, tmp_path: Path) -> None:
    writer = RolloutWriter.new(str(path), META)
    writer.materialise()
    moved = tmp_path / "archived.jsonl"
    os.rename(path, moved)
    say(writer, "one")
    writer.close()
    assert said(moved) == ["one"]
    assert not path.exists()
