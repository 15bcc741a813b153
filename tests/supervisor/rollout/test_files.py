"""Where session files lie."""

from pathlib import Path

import pytest

from pycodex.protocol.ids import new_thread_id
from pycodex.supervisor.rollout.files import (
    archived_path_of,
    dated_folder,
    in_order,
    newest_first,
    path_of,
    rollout_file,
)
from support.rollouts import THREAD_ID, place, write


@pytest.mark.parametrize(
    "name",
    [
        "rollout-2026-03-01T10-00-00.jsonl",
        f"rollout-2026-03-01T10-00-00-{THREAD_ID}.json",
        f"rollout-2026-13-01T10-00-00-{THREAD_ID}.jsonl",
        f"rollout-0000-03-01T10-00-00-{THREAD_ID}.jsonl",
        f"rollout-2026-03-01T10:00:00-{THREAD_ID}.jsonl",
        f"{THREAD_ID}.jsonl",
        f"rollout-\N{FULLWIDTH DIGIT TWO}026-03-01T10-00-00-{THREAD_ID}.jsonl",
    ],
)
def test_other_files_are_not_sessions(name: str) -> None:
    assert rollout_file(f"/s/{name}") is None
    assert dated_folder("/home", f"/s/{name}") is None


def test_name_tells_time_id_and_place() -> None:
    path = f"/anywhere/rollout-2026-03-01T10-00-00-{THREAD_ID}.jsonl"
    assert rollout_file(path) == ("2026-03-01T10-00-00", THREAD_ID, path)
    assert dated_folder("/home", path) == "/home/sessions/2026/03/01"


def test_newest_come_first(tmp_path: Path) -> None:
    ids = [THREAD_ID[:-2] + f"{number:02}" for number in range(4)]
    stamps = ["2025-12-31T23-59-59", "2026-03-01T10-00-00", "2026-03-01T10-00-00", "2026-10-01T09-00-00"]
    paths = [place(tmp_path, thread_id, [], stamp) for thread_id, stamp in zip(ids, stamps, strict=True)]
    (tmp_path / "sessions" / "2026" / "notes").mkdir()
    (tmp_path / "sessions" / "2026" / "03" / "01" / "other.txt").touch()
    (tmp_path / "sessions" / "2027").touch()
    assert [file.path for file in newest_first(str(tmp_path))] == paths[::-1]


def test_missing_folders_hold_nothing(tmp_path: Path) -> None:
    assert list(newest_first(str(tmp_path))) == []
    assert list(in_order(str(tmp_path), archived=True)) == []
    assert path_of(str(tmp_path), THREAD_ID) is None
    assert archived_path_of(str(tmp_path), THREAD_ID) is None


@pytest.mark.parametrize("folder", ["", "2020/01/01", "a/b/c/d"])
def test_session_is_found_anywhere_below(tmp_path: Path, folder: str) -> None:
    path = write(tmp_path / "sessions" / folder / f"rollout-2026-03-01T10-00-00-{THREAD_ID}.jsonl", [])
    place(tmp_path, new_thread_id(), [])
    assert path_of(str(tmp_path), THREAD_ID) == path
    assert path_of(str(tmp_path), THREAD_ID.upper()) == path


@pytest.mark.parametrize("thread_id", ["ffffffff-ffff-7fff-bfff-ffffffffffff", "00000000-0000-0000-0000-000000000000"])
def test_id_of_an_impossible_time_is_found_too(tmp_path: Path, thread_id: str) -> None:
    path = place(tmp_path, thread_id, [])
    assert path_of(str(tmp_path), thread_id) == path


@pytest.mark.parametrize("thread_id", ["", "x", ".jsonl", "../../etc", THREAD_ID[:-1]])
def test_only_ids_are_searched(tmp_path: Path, thread_id: str) -> None:
    place(tmp_path, THREAD_ID, [])
    assert path_of(str(tmp_path), thread_id) is None
    assert archived_path_of(str(tmp_path), thread_id) is None


def test_archived_sessions_lie_apart(tmp_path: Path) -> None:
    path = write(tmp_path / "archived_sessions" / f"rollout-2026-03-01T10-00-00-{THREAD_ID}.jsonl", [])
    assert archived_path_of(str(tmp_path), THREAD_ID) == path
    assert path_of(str(tmp_path), THREAD_ID) is None
    assert [file.path for file in in_order(str(tmp_path), archived=True)] == [path]
