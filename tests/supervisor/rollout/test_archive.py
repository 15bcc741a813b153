"""Putting sessions aside."""

import os
from pathlib import Path

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.rollout.archive import archive, unarchive
from support.rollouts import THREAD_ID, meta, place

NAME = f"rollout-2026-03-01T10-00-00-{THREAD_ID}.jsonl"


def test_session_goes_aside_and_comes_back(tmp_path: Path) -> None:
    home = str(tmp_path)
    path = place(tmp_path, THREAD_ID, [meta()])
    os.utime(path, (0, 0))
    content = Path(path).read_bytes()
    assert archive(home, THREAD_ID) == str(tmp_path / "archived_sessions" / NAME)
    assert not Path(path).exists()
    assert os.stat(tmp_path / "archived_sessions" / NAME).st_mtime == 0
    assert unarchive(home, THREAD_ID) == path
    assert Path(path).read_bytes() == content
    assert os.stat(path).st_mtime > 0, "it counts as used just now"


def test_session_comes_back_to_the_place_of_its_date(tmp_path: Path) -> None:
    odd = tmp_path / "sessions" / "odd" / NAME
    odd.parent.mkdir(parents=True)
    odd.write_text("x")
    archive(str(tmp_path), THREAD_ID)
    assert unarchive(str(tmp_path), THREAD_ID) == str(tmp_path / "sessions" / "2026" / "03" / "01" / NAME)


def test_unknown_sessions_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserFacing, match=f"^no rollout found for thread id {THREAD_ID}$"):
        archive(str(tmp_path), THREAD_ID)
    with pytest.raises(UserFacing, match=f"^no archived rollout found for thread id {THREAD_ID}$"):
        unarchive(str(tmp_path), THREAD_ID)


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    path = place(tmp_path, THREAD_ID, [meta()])
    other = tmp_path / "archived_sessions" / NAME
    other.parent.mkdir()
    other.write_text("older")
    with pytest.raises(UserFacing, match="exists already"):
        archive(str(tmp_path), THREAD_ID)
    assert other.read_text() == "older"
    assert Path(path).exists()


def test_failing_move_is_named(tmp_path: Path) -> None:
    place(tmp_path, THREAD_ID, [meta()])
    (tmp_path / "archived_sessions").write_text("in the way")
    with pytest.raises(UserFacing, match=r"cannot move .*: File exists"):
        archive(str(tmp_path), THREAD_ID)
