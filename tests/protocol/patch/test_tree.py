"""From paths to files: what a patch reads, and what it leaves alone."""

import os
import stat
from pathlib import Path

import pytest

from pycodex.protocol.patch.tree import MOST_BYTES, Tree, Unusable


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(os.fsencode(tmp_path))


def test_all_paths_to_a_file_lead_to_one_place(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("x")
    (tmp_path / "other").symlink_to("folder")
    paths = ("folder/file", "./folder//file", "other/file", "other/../folder/file", f"{tmp_path}/folder/file")
    assert {tree.end_of(path) for path in paths} == {os.fsencode(tmp_path / "folder" / "file")}


def test_links_are_followed_for_content_but_have_a_place_of_their_own(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "first").symlink_to("second")
    (tmp_path / "second").symlink_to(tmp_path / "file")
    (tmp_path / "dangling").symlink_to("nowhere")
    assert tree.end_of("first") == tree.place("file")
    assert tree.place("first") == os.fsencode(tmp_path / "first")
    assert tree.current(tree.end_of("dangling")) is None
    link = tree.original(tree.place("first"))
    assert link is not None
    assert (stat.S_ISLNK(link.mode), link.data) == (True, b"second")


def test_what_was_put_is_seen_and_the_disk_is_not_touched(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    tree.put(tree.place("file"), b"new")
    assert tree.current(tree.end_of("link")) == b"new"
    tree.put(tree.place("link"), None)
    assert tree.end_of("link") == tree.place("link")
    assert tree.current(tree.place("link")) is None
    assert (tmp_path / "link").read_text() == "old"
    changes = [(os.path.basename(place), found and found.data, data) for place, found, data in tree.changes()]
    assert changes == [(b"file", b"old", b"new"), (b"link", b"file", None)]


def test_folder_can_follow_a_file_that_is_gone(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "name").write_text("x")
    with pytest.raises(Unusable, match=r"Not a directory \(os error 20\)"):
        tree.current(tree.place("name/below"))
    tree.put(tree.place("name"), None)
    assert tree.current(tree.place("name/below")) is None


def test_what_is_no_file_is_told_and_not_waited_for(tree: Tree, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "pipe").symlink_to("fifo")
    cases = {
        "fifo": "not a regular file",
        "pipe": "not a regular file",
        "/dev/zero": "not a regular file",
        ".": r"Is a directory \(os error 21\)",
        "": "Is a directory",
        "new/": "Is a directory",
        "..": "Is a directory",
        "/": "Is a directory",
        "loop": r"\(os error 40\)",
        "nul\0byte": "unexpected NUL byte",
        "nul\0byte/x": "unexpected NUL byte",
        "x" * 300: "too long",
        "\ud800": "not valid Unicode",
    }
    for path, text in cases.items():
        with pytest.raises(Unusable, match=text):
            tree.current(tree.end_of(path))


def test_giant_files_are_refused_one_by_one_and_in_all(tree: Tree, tmp_path: Path) -> None:
    with (tmp_path / "giant").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    for name in ("one", "two"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(MOST_BYTES // 2 + 1)
    with pytest.raises(Unusable, match=f"{MOST_BYTES + 1} bytes or more, and one patch may touch {MOST_BYTES}"):
        tree.current(tree.place("giant"))
    assert len(tree.current(tree.place("one")) or b"") == MOST_BYTES // 2 + 1
    with pytest.raises(Unusable, match="in all"):
        tree.current(tree.place("two"))


def test_file_whose_size_is_not_told_is_read_to_its_end(tree: Tree) -> None:
    assert tree.current(tree.place("/proc/self/status")) != b""
    assert b"Threads:" in (tree.current(tree.place("/proc/self/status")) or b"")


def test_path_that_the_kernel_would_not_take_is_not_even_followed(tree: Tree) -> None:
    for path in ("a/" * 1_500_000 + "b", "a/../" * 1000 + "b"):
        with pytest.raises(Unusable, match=r"File name too long \(os error 36\)"):
            tree.end_of(path)
