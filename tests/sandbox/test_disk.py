"""Looking follows nothing unnoticed, and reads only regular files, up to a size."""

import os
from pathlib import Path

import pytest

from pycodex.protocol.confinement import PLACEHOLDER_MODE
from pycodex.sandbox.disk import DIRECTORY, MAX_POINTER_BYTES, MISSING, Disk, small_file


def test_links_are_listed_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "dangling").symlink_to("nowhere")
    assert sorted(Disk().links_in(str(tmp_path), most=10)) == ["dangling", "link"]
    assert len(Disk().links_in(str(tmp_path), most=0)) == 0
    assert Disk().links_in(str(tmp_path / "file"), most=10) == []


def test_only_regular_files_are_read_and_not_to_their_end(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(MAX_POINTER_BYTES + 1))
    (tmp_path / "link").symlink_to("large")
    os.mkfifo(tmp_path / "fifo")
    assert len(small_file(str(tmp_path / "large"))) == MAX_POINTER_BYTES
    assert {small_file(str(tmp_path / name)) for name in ("link", "fifo", "nowhere", ".")} == {b""}


def test_placeholder_that_goes_while_it_is_looked_at_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker removes it after the answer, when the next call may be on its way already."""
    path = tmp_path / ".codex"
    path.mkdir()
    path.chmod(PLACEHOLDER_MODE)
    listed = os.listdir

    def too_late(name: str) -> list[str]:
        path.rmdir()
        return listed(name)

    monkeypatch.setattr(os, "listdir", too_late)
    assert Disk().kind(str(path)) == MISSING


def test_directory_with_the_mode_of_a_placeholder_counts_once_something_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / ".codex"
    path.mkdir()
    (path / "config.toml").touch()
    path.chmod(PLACEHOLDER_MODE)
    assert Disk().kind(str(path)) == DIRECTORY
