"""Changes get to the disk all together, or not at all."""

import os
import shutil
from pathlib import Path

import pytest

from pycodex.protocol.patch.commit import Change, NotCommitted, commit
from pycodex.protocol.patch.tree import Tree
from support.patches import snapshot


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "folder"
    path.mkdir()
    return path


def changes_of(folder: Path, wanted: dict[str, bytes | None]) -> list[Change]:
    tree = Tree(os.fsencode(folder))
    for path, data in wanted.items():
        tree.put(tree.end_of(path) if data is not None else tree.place(path), data)
    names = {tree.end_of(path) if data is not None else tree.place(path): path for path, data in wanted.items()}
    return [
        Change(place, found, data, path=names[place], failure=f"Failed: {names[place]}")
        for place, found, data in tree.changes()
    ]


# A file cannot take the place of a folder that was made for another one.
CONFLICT: dict[str, bytes | None] = {"clash": b"file", "clash/below": b"needs a folder"}


def refused(folder: Path, wanted: dict[str, bytes | None]) -> NotCommitted:
    with pytest.raises(NotCommitted) as caught:
        commit(changes_of(folder, wanted))
    return caught.value


def test_files_are_made_changed_and_removed_and_nothing_else_is_left(folder: Path) -> None:
    (folder / "changed").write_text("old")
    (folder / "removed").write_text("old")
    commit(changes_of(folder, {"changed": b"new", "removed": None, "a/b/made": b"made"}))
    assert {path: content for path, (_, content) in snapshot(folder).items()} == {
        "changed": b"new",
        "a": b"",
        "a/b": b"",
        "a/b/made": b"made",
    }


def test_mode_is_kept_and_told(folder: Path) -> None:
    (folder / "tool").write_text("old")
    (folder / "tool").chmod(0o751)
    previous = os.umask(0o027)
    try:
        modes = commit(changes_of(folder, {"tool": b"new", "made": b"x"}))
    finally:
        os.umask(previous)
    assert (folder / "tool").stat().st_mode == modes[os.fsencode(folder / "tool")] == 0o100751
    assert (folder / "made").stat().st_mode == modes[os.fsencode(folder / "made")] == 0o100640


def test_file_with_other_names_keeps_them(folder: Path) -> None:
    (folder / "one").write_text("old, and longer")
    (folder / "two").hardlink_to(folder / "one")
    commit(changes_of(folder, {"one": b"new"}))
    assert (folder / "two").read_text() == "new"
    assert (folder / "one").samefile(folder / "two")


def test_file_with_attributes_keeps_them(folder: Path) -> None:
    path = folder / "file"
    path.write_text("old")
    try:
        os.setxattr(path, "user.colour", b"red")
    except OSError:
        pytest.skip("no attributes on this file system")
    commit(changes_of(folder, {"file": b"new"}))
    assert (path.read_text(), os.getxattr(path, "user.colour")) == ("new", b"red")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_owner_is_kept(folder: Path) -> None:
    path = folder / "file"
    path.write_text("old")
    os.chown(path, 12345, 12345)
    commit(changes_of(folder, {"file": b"new"}))
    assert (path.read_text(), path.stat().st_uid, path.stat().st_gid) == ("new", 12345, 12345)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_file_that_may_not_be_written_is_not_replaced(folder: Path) -> None:
    (folder / "file").write_text("old")
    (folder / "file").chmod(0o444)
    assert "Permission denied" in refused(folder, {"file": b"new"}).reason
    assert (folder / "file").read_text() == "old"


def test_program_that_runs_can_be_replaced(folder: Path) -> None:
    """It is busy: nobody may write to it."""
    program = folder / "program"
    shutil.copy("/bin/sleep", program)
    pid = os.posix_spawn(program, ["sleep", "60"], {})
    try:
        commit(changes_of(folder, {"program": b"new"}))
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    assert program.read_bytes() == b"new"


def test_folder_takes_the_place_of_a_file(folder: Path) -> None:
    (folder / "name").write_text("file")
    commit(changes_of(folder, {"name": None, "name/below": b"x"}))
    assert (folder / "name" / "below").read_text() == "x"


def test_link_itself_is_removed_or_replaced(folder: Path) -> None:
    (folder / "target").write_text("x")
    for name in ("gone", "replaced"):
        (folder / name).symlink_to("target")
    tree = Tree(os.fsencode(folder))
    tree.put(tree.place("replaced"), b"now a file")
    found = [Change(*change, path="replaced", failure="") for change in tree.changes()]
    commit([*found, *changes_of(folder, {"gone": None})])
    assert {name: content for name, (_, content) in snapshot(folder).items()} == {
        "target": b"x",
        "replaced": b"now a file",
    }


def test_failure_takes_everything_back(folder: Path) -> None:
    (folder / "changed").write_text("old")
    (folder / "changed").chmod(0o640)
    (folder / "removed").write_text("old")
    (folder / "one").write_text("shared")
    (folder / "two").hardlink_to(folder / "one")
    (folder / "link").symlink_to("changed")
    before, inode = snapshot(folder), (folder / "changed").stat().st_ino
    wanted = {"changed": b"new", "removed": None, "link": None, "one": b"new", "made/below": b"x", **CONFLICT}
    error = refused(folder, wanted)
    assert str(error) == "Failed: clash"
    assert error.reason == "Is a directory (os error 21)"
    assert error.unrestored == []
    assert snapshot(folder) == before
    assert (folder / "changed").stat().st_ino == inode


def test_failure_takes_a_replaced_link_back(folder: Path) -> None:
    (folder / "link").symlink_to("nowhere")
    before = snapshot(folder)
    tree = Tree(os.fsencode(folder))
    tree.put(tree.place("link"), b"now a file")
    found = [Change(*change, path="link", failure="") for change in tree.changes()]
    with pytest.raises(NotCommitted):
        commit([*found, *changes_of(folder, CONFLICT)])
    assert snapshot(folder) == before


def test_folder_that_vanished_meanwhile(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "file").write_text("old")
    (folder / "first").write_text("old")
    changes = changes_of(folder, {"first": b"new", "made/x": b"x", "sub/file": b"new"})
    shutil.rmtree(folder / "sub")
    before = snapshot(folder)
    with pytest.raises(NotCommitted) as caught:
        commit(changes)
    assert (str(caught.value), caught.value.reason) == (
        "Failed: sub/file",
        "No such file or directory (os error 2)",
    )
    assert snapshot(folder) == before


def test_folder_in_which_nothing_can_be_made(folder: Path) -> None:
    """Not even by root: it lies in a file system of the kernel's own."""
    error = refused(folder, {"first/made": b"x", "/proc/made": b"x"})
    assert str(error) == "Failed: /proc/made"
    assert snapshot(folder) == {}
    assert "create parent directories for /proc/no/x" in str(refused(folder, {"/proc/no/x": b"x"}))
