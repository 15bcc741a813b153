"""Feedback is kept as it was given, within limits, or it is said why not."""

from pathlib import Path

import pytest

from pycodex.supervisor.workspace.feedback import MOST_FILES, Feedback, NotKept, keep

SAID = Feedback(thread_id="t", classification="good", reason=None)


def test_each_is_a_file_of_its_own(tmp_path: Path) -> None:
    assert keep(SAID, str(tmp_path)) != keep(SAID, str(tmp_path))
    assert len(list((tmp_path / "feedback").iterdir())) == 2


def test_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "feedback").write_text("")
    with pytest.raises(NotKept, match="feedback: "):
        keep(SAID, str(tmp_path))


def test_there_is_an_end_to_it(tmp_path: Path) -> None:
    folder = tmp_path / "feedback"
    folder.mkdir()
    for number in range(MOST_FILES):
        (folder / str(number)).touch()
    with pytest.raises(NotKept, match="remove some"):
        keep(SAID, str(tmp_path))
