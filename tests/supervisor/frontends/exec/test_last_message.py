"""The file of `-o`."""

import os
from pathlib import Path

import pytest

from pycodex.supervisor.frontends.exec.last_message import LastMessageFile


@pytest.mark.parametrize("message", ["last words", "with an end\n", "ünïcode", "", "lone \ud800"])
def test_message_is_written_as_it_is(message: str, tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("something longer that was there before")
    LastMessageFile(str(path)).write(message, tell=pytest.fail)
    assert path.read_bytes() == message.encode("utf-8", "replace")


def test_no_message_leaves_an_empty_file_and_a_warning(tmp_path: Path) -> None:
    path, told = tmp_path / "out.txt", list[str]()
    LastMessageFile(str(path)).write(None, tell=told.append)
    assert path.read_bytes() == b""
    assert told == [f"Warning: no last agent message; wrote empty content to {path}"]


@pytest.mark.parametrize("message", ["text", None])
def test_failure_is_told_and_no_more(message: str | None, tmp_path: Path) -> None:
    told = list[str]()
    LastMessageFile(str(tmp_path / 'no "dir"' / "x")).write(message, tell=told.append)
    shown = os.path.join(str(tmp_path), 'no \\"dir\\"', "x")
    assert told == [f'Failed to write last message file "{shown}": No such file or directory (os error 2)']


def put_link(path: Path, target: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def test_link_that_comes_later_is_not_followed(tmp_path: Path) -> None:
    path, elsewhere, told = tmp_path / "out.txt", tmp_path / "precious", list[str]()
    elsewhere.write_text("as it was")
    file = LastMessageFile(str(path))
    put_link(path, elsewhere)
    file.write("overwritten", tell=told.append)
    assert elsewhere.read_text() == "as it was"
    assert len(told) == 1
    assert told[0].startswith(f'Failed to write last message file "{path}": ')


def test_directory_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "elsewhere" / "new").mkdir(parents=True)
    file = LastMessageFile(str(tmp_path / "ws" / "new" / "out.txt"))
    put_link(tmp_path / "ws" / "new", tmp_path / "elsewhere" / "new")
    told: list[str] = []
    file.write("text", tell=told.append)
    assert os.listdir(tmp_path / "elsewhere" / "new") == []
    assert len(told) == 1


def test_directory_may_come_later(tmp_path: Path) -> None:
    file = LastMessageFile(str(tmp_path / "a" / "b" / "out.txt"))
    (tmp_path / "a" / "b").mkdir(parents=True)
    file.write("text", tell=pytest.fail)
    assert (tmp_path / "a" / "b" / "out.txt").read_text() == "text"


def test_link_of_the_callers_is_followed(tmp_path: Path) -> None:
    put_link(tmp_path / "out.txt", tmp_path / "real.txt")
    LastMessageFile(str(tmp_path / "out.txt")).write("text", tell=pytest.fail)
    assert (tmp_path / "real.txt").read_text() == "text"


def test_pipe_that_comes_later_holds_nobody_up(tmp_path: Path) -> None:
    file, told = LastMessageFile(str(tmp_path / "out.txt")), list[str]()
    os.mkfifo(tmp_path / "out.txt")
    file.write("text", tell=told.append)
    assert len(told) == 1


def test_pipe_of_the_callers_is_written_to() -> None:
    reading, writing = os.pipe()
    LastMessageFile(f"/dev/fd/{writing}").write("text", tell=pytest.fail)
    assert os.read(reading, 10) == b"text"
    os.close(reading)
    os.close(writing)
