"""What clients say of a repository; the last word counts."""

from pathlib import Path

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.rollout.git_notes import INDEX_NAME, note_git, noted_git

NOTHING = {"commit_hash": None, "branch": None, "repository_url": None}


def test_last_word_counts(tmp_path: Path) -> None:
    home = str(tmp_path)
    assert noted_git(home, ("a",)) == {}
    note_git(home, "a", {"branch": "one"})
    note_git(home, "b", {"commit_hash": "x"})
    note_git(home, "a", {"branch": "two"})
    with (tmp_path / INDEX_NAME).open("a") as file:
        file.write('garbage\n{"id": 1, "git": {}}\n{"id": "c", "git": {"branch": 7}}\n')
    assert noted_git(home, ("a", "c", "d")) == {"a": {**NOTHING, "branch": "two"}, "c": NOTHING}


def test_home_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserFacing, match="cannot write"):
        note_git(str(tmp_path / "none"), "a", {})
