"""Finding sessions."""

import os
from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.rollout.listing import (
    CREATED_AT,
    UPDATED_AT,
    Filters,
    find,
    find_by_id,
    is_interactive,
    list_threads,
    newest,
)
from pycodex.supervisor.rollout.names import set_name
from support.rollouts import THREAD_ID, Line, meta, place, said_by_user, turn_context, write

ALL = Filters(default_provider="mock")


def thread_id(number: int) -> str:
    return THREAD_ID[:-2] + f"{number:02}"


def session(home: Path, number: int, *more: Line, mtime: int | None = None, **head: Any) -> str:
    """A session of day `number`."""
    lines = [meta(thread_id(number), **head), *said_by_user(f"message {number}"), *more]
    path = place(home, thread_id(number), lines, f"2026-03-{number:02}T10-00-00")
    os.utime(path, (0, 1_700_000_000 + (number if mtime is None else mtime)))
    return path


def listed(home: Path, filters: Filters = ALL, **options: Any) -> list[int]:
    return [int(thread.thread_id[-2:]) for thread in list_threads(str(home), filters, **options).threads]


def test_thread_is_summarised(tmp_path: Path) -> None:
    path = session(tmp_path, 1, source="exec")
    set_name(str(tmp_path), thread_id(1), "Plums")
    (thread,) = list_threads(str(tmp_path), ALL).threads
    assert (thread.thread_id, thread.path, thread.preview, thread.name) == (thread_id(1), path, "message 1", "Plums")
    assert (thread.created_at, thread.updated_at) == (1_772_359_200, 1_700_000_001)
    assert thread.meta.source == "exec"


def test_newest_are_listed_first_by_either_time(tmp_path: Path) -> None:
    session(tmp_path, 1, mtime=30)
    session(tmp_path, 2, mtime=10)
    session(tmp_path, 3, mtime=20)
    assert listed(tmp_path) == [3, 2, 1]
    assert listed(tmp_path, sort=UPDATED_AT) == [1, 3, 2]


def test_oldest_are_listed_first_if_asked_for(tmp_path: Path) -> None:
    session(tmp_path, 1, mtime=30)
    session(tmp_path, 2, mtime=10)
    session(tmp_path, 3, mtime=20)
    assert listed(tmp_path, oldest_first=True) == [1, 2, 3]
    assert listed(tmp_path, sort=UPDATED_AT, oldest_first=True) == [2, 3, 1]


@pytest.mark.parametrize("sort", [CREATED_AT, UPDATED_AT])
@pytest.mark.parametrize("oldest_first", [False, True])
def test_page_can_be_left_in_both_directions(tmp_path: Path, sort: str, oldest_first: bool) -> None:
    for number in range(1, 6):
        session(tmp_path, number, mtime=number)
    first, second, third, fourth, _ = range(1, 6) if oldest_first else range(5, 0, -1)
    start = list_threads(str(tmp_path), ALL, limit=2, sort=sort, oldest_first=oldest_first)
    page = list_threads(str(tmp_path), ALL, cursor=start.next_cursor, limit=2, sort=sort, oldest_first=oldest_first)
    assert [int(thread.thread_id[-2:]) for thread in page.threads] == [third, fourth]
    cursor = page.backwards_cursor
    assert listed(tmp_path, cursor=cursor, sort=sort, oldest_first=not oldest_first) == [second, first]


@pytest.mark.parametrize("sort", [CREATED_AT, UPDATED_AT])
def test_pages_follow_each_other_without_gap_or_repetition(tmp_path: Path, sort: str) -> None:
    for number in range(1, 6):
        session(tmp_path, number, mtime=number // 2)
    seen: list[int] = []
    cursor = None
    for expected in (2, 2, 1):
        page = list_threads(str(tmp_path), ALL, cursor=cursor, limit=2, sort=sort)
        assert len(page.threads) == expected
        seen += [int(thread.thread_id[-2:]) for thread in page.threads]
        cursor = page.next_cursor
    assert cursor is None
    assert seen == [5, 4, 3, 2, 1]


def test_no_cursor_is_given_where_nothing_follows(tmp_path: Path) -> None:
    session(tmp_path, 1)
    session(tmp_path, 2)
    place(tmp_path, thread_id(0), ["not a session"], "2026-01-01T00-00-00")
    assert list_threads(str(tmp_path), ALL, limit=2).next_cursor is None


def test_cursor_has_the_form_of_the_reference(tmp_path: Path) -> None:
    session(tmp_path, 1)
    session(tmp_path, 2)
    cursor = list_threads(str(tmp_path), ALL, limit=1).next_cursor
    assert cursor == f"2026-03-02T10:00:00Z|{thread_id(2)}"
    for same in (cursor, f"2026-03-02T10-00-00|{thread_id(2)}", f"2026-03-02T11:00:00+01:00|{thread_id(2)}"):
        assert listed(tmp_path, cursor=same) == [1]


@pytest.mark.parametrize(
    "cursor", ["zzz", "", "|", f"|{THREAD_ID}", "2026-03-02T10:00:00Z|x", f"2026-03-02T10:00:00|{THREAD_ID}"]
)
def test_what_is_no_cursor_is_refused(tmp_path: Path, cursor: str) -> None:
    with pytest.raises(UserFacing) as refusal:
        list_threads(str(tmp_path), ALL, cursor=cursor)
    assert str(refusal.value) == f"invalid cursor: {cursor}"


@pytest.mark.parametrize(
    ("filters", "numbers"),
    [
        ({"providers": frozenset(["mock"])}, [4, 3, 1]),
        ({"providers": frozenset(["other"])}, [2]),
        ({"providers": frozenset(["none"])}, []),
        ({"accepts_source": is_interactive}, [4, 2, 1]),
        ({"accepts_source": lambda source: source == "exec"}, [3]),
        ({"cwds": frozenset(["/w"])}, [4, 3, 2]),
        ({"cwds": frozenset(["/elsewhere"])}, [1]),
        ({"cwds": frozenset(["/w", "/elsewhere"])}, [4, 3, 2, 1]),
        ({"search": "MESSAGE 2"}, [2]),
        ({"archived": True}, [9]),
    ],
)
def test_filters(tmp_path: Path, filters: dict[str, Any], numbers: list[int]) -> None:
    session(tmp_path, 1, cwd="/elsewhere")
    session(tmp_path, 2, model_provider="other")
    session(tmp_path, 3, source="exec", model_provider=None)
    session(tmp_path, 4, source={"custom": "atlas"})
    archived = tmp_path / "archived_sessions" / f"rollout-2026-03-09T10-00-00-{thread_id(9)}.jsonl"
    write(archived, [meta(thread_id(9)), *said_by_user("put aside")])
    assert listed(tmp_path, Filters(default_provider="mock", **filters)) == numbers


@pytest.mark.parametrize("source", ["exec", "mcp", "unknown", {"subagent": "review"}])
def test_what_a_program_started_is_not_interactive(source: Any) -> None:
    assert not is_interactive(source)


def test_bound_on_files_is_not_the_end_of_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session(tmp_path, 1, cwd="/elsewhere")
    for number in range(2, 6):
        session(tmp_path, number)
    monkeypatch.setattr("pycodex.supervisor.rollout.listing.MAX_FILES_READ", 2)
    filters = Filters(default_provider="mock", cwds=frozenset(["/elsewhere"]))
    page = list_threads(str(tmp_path), filters)
    assert page.threads == []
    assert page.next_cursor is not None
    assert listed(tmp_path, filters, cursor=page.next_cursor) == [1]


def test_session_is_found_by_id_or_name(tmp_path: Path) -> None:
    home = str(tmp_path)
    paths = {number: session(tmp_path, number) for number in (1, 2)}
    set_name(home, thread_id(1), "Plums")
    set_name(home, thread_id(3), "Plums")
    assert find(home, thread_id(2)) == paths[2]
    assert find(home, "Plums") == paths[1], "the newer one of that name has no file"
    assert find(home, "Pears") is None
    assert find(home, thread_id(3)) is None
    assert find_by_id(home, thread_id(1), archived=True) is None


def test_last_session_is_the_one_written_to_last(tmp_path: Path) -> None:
    paths = {number: session(tmp_path, number, mtime=-number) for number in (1, 2, 3)}
    assert newest(str(tmp_path), provider="mock", cwd=None) == paths[1]
    assert newest(str(tmp_path), provider="other", cwd=None) is None
    os.utime(paths[3], ns=(0, 1_699_999_999_500_000_000))
    assert newest(str(tmp_path), provider="mock", cwd=None) == paths[3], "half a second later"


def test_last_session_here_began_here_or_was_here_last(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (tmp_path / "link").symlink_to(here)
    began = session(tmp_path, 1, turn_context(cwd=str(there)), cwd=str(here))
    moved = session(tmp_path, 2, turn_context(cwd=str(there)), turn_context(cwd=str(here)), cwd=str(there))
    left = session(tmp_path, 3, turn_context(cwd=str(here)), turn_context(cwd=str(there)), cwd=str(there))
    home = str(tmp_path)
    assert newest(home, provider="mock", cwd=str(tmp_path / "link")) == moved
    os.utime(began, (0, 1_800_000_000))
    assert newest(home, provider="mock", cwd=str(here)) == began
    os.utime(left, (0, 1_900_000_000))
    assert newest(home, provider="mock", cwd=str(here)) == began
    assert newest(home, provider="mock", cwd=str(tmp_path)) is None


def test_file_of_any_time_is_listed(tmp_path: Path) -> None:
    path = session(tmp_path, 1)
    os.utime(path, (0, -5))
    assert listed(tmp_path, sort=UPDATED_AT) == [1]
