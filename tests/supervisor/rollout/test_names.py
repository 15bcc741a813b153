"""Names of threads."""

import json
import re
from pathlib import Path

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.rollout.names import INDEX_NAME, ids_of, names_of, set_name


def test_name_is_trimmed_and_written_as_the_reference_does(tmp_path: Path) -> None:
    assert set_name(str(tmp_path), "1", "  Früit \n") == "Früit"
    (line,) = (tmp_path / INDEX_NAME).read_text().splitlines()
    assert re.fullmatch(
        r'\{"id":"1","thread_name":"Früit","updated_at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z"\}', line
    )


@pytest.mark.parametrize("name", ["", "  \t"])
def test_empty_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserFacing, match="thread name must not be empty"):
        set_name(str(tmp_path), "1", name)
    assert not (tmp_path / INDEX_NAME).exists()


def test_last_name_counts(tmp_path: Path) -> None:
    home = str(tmp_path)
    for thread_id, name in [("1", "a"), ("2", "b"), ("1", "c"), ("3", "d")]:
        set_name(home, thread_id, name)
    assert names_of(home, {"1", "2", "4"}) == {"1": "c", "2": "b"}


def test_thread_that_has_the_name_comes_before_one_that_had_it(tmp_path: Path) -> None:
    home = str(tmp_path)
    for thread_id, name in [("1", "x"), ("2", "x"), ("3", "x"), ("3", "y"), ("1", "x")]:
        set_name(home, thread_id, name)
    assert ids_of(home, "x") == ["1", "2", "3"]
    assert ids_of(home, "y") == ["3"]
    assert ids_of(home, "X") == []


def test_damaged_index_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    home = str(tmp_path)
    good = json.dumps({"id": "1", "thread_name": "a", "more": 1})
    odd = ["{bad", "[]", "1", '{"id":1,"thread_name":"a"}', '{"id":"2"}', "\udcff"]
    text = "\n".join([good, *odd, '{"id":"1","thr'])
    (tmp_path / INDEX_NAME).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert names_of(home, {"1", "2"}) == {"1": "a"}
    set_name(home, "2", "b")
    assert names_of(home, {"1", "2"}) == {"1": "a", "2": "b"}


def test_no_index_means_no_names(tmp_path: Path) -> None:
    assert names_of(str(tmp_path), {"1"}) == {}
    assert ids_of(str(tmp_path), "x") == []


def test_index_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / INDEX_NAME).mkdir()
    with pytest.raises(UserFacing, match=f"cannot write {tmp_path / INDEX_NAME}: Is a directory"):
        set_name(str(tmp_path), "1", "a")
