"""Files for a client: links, directories, special files and bounds."""

import os
from pathlib import Path

import pytest

from pycodex.supervisor.workspace import files
from pycodex.supervisor.workspace.files import Entry, Unsupported


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "d" / "sub").mkdir(parents=True)
    (tmp_path / "d" / "f").write_text("x")
    (tmp_path / "f").write_text("text")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("f")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "dir_link").symlink_to("d")
    return tmp_path


def test_files_of_proc_are_read_although_they_tell_no_size() -> None:
    assert files.read_file("/proc/version").startswith(b"Linux")


def test_a_pipe_is_neither_read_nor_written(tree: Path) -> None:
    with pytest.raises(Unsupported):
        files.read_file(str(tree / "fifo"))
    with pytest.raises((Unsupported, OSError)):
        files.write_file(str(tree / "fifo"), b"x")


def test_a_pipe_with_a_reader_is_not_written_either(tree: Path) -> None:
    reader = os.open(tree / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises((Unsupported, OSError)):
            files.write_file(str(tree / "fifo"), b"x")
    finally:
        os.close(reader)


def test_too_large_a_file_is_not_read(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_READ_BYTES", 3)
    with pytest.raises(Unsupported, match="limit is 3 bytes"):
        files.read_file(str(tree / "f"))


def test_writing_replaces_all_of_a_file_and_follows_links(tree: Path) -> None:
    files.write_file(str(tree / "link"), b"z")
    assert (tree / "f").read_bytes() == b"z"
    files.write_file(str(tree / "new"), b"n")
    assert (tree / "new").read_bytes() == b"n"


def test_a_directory_is_no_file(tree: Path) -> None:
    with pytest.raises(IsADirectoryError):
        files.read_file(str(tree / "d"))
    with pytest.raises(IsADirectoryError):
        files.write_file(str(tree / "d"), b"")


def test_directories_are_listed_by_name_with_what_links_lead_to(tree: Path) -> None:
    assert files.read_directory(str(tree)) == [
        Entry("d", is_directory=True, is_file=False),
        Entry("dangling", is_directory=False, is_file=False),
        Entry("dir_link", is_directory=True, is_file=False),
        Entry("f", is_directory=False, is_file=True),
        Entry("fifo", is_directory=False, is_file=False),
        Entry("link", is_directory=False, is_file=True),
    ]


def test_a_directory_without_end_is_not_listed(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_ENTRIES", 2)
    with pytest.raises(Unsupported, match="limit is 2 entries"):
        files.read_directory(str(tree))


def test_facts_are_those_of_what_a_link_leads_to(tree: Path) -> None:
    facts = files.facts_of(str(tree / "link"))
    assert (facts.is_file, facts.is_directory) == (True, False)
    assert facts.modified_at_ms == (tree / "f").stat().st_mtime_ns // 1_000_000
    with pytest.raises(FileNotFoundError):
        files.facts_of(str(tree / "dangling"))


def test_directories_are_made_with_or_without_their_parents(tree: Path) -> None:
    files.create_directory(str(tree / "a" / "b"), recursive=True)
    files.create_directory(str(tree / "a" / "b"), recursive=True)
    with pytest.raises(FileExistsError):
        files.create_directory(str(tree / "a"), recursive=False)
    with pytest.raises(FileNotFoundError):
        files.create_directory(str(tree / "x" / "y"), recursive=False)


def test_removing_a_link_leaves_what_it_leads_to(tree: Path) -> None:
    files.remove(str(tree / "dir_link"), recursive=True, force=True)
    assert (tree / "d" / "f").exists()
    assert not (tree / "dir_link").is_symlink()


def test_removing_what_is_not_there(tree: Path) -> None:
    files.remove(str(tree / "none"), recursive=True, force=True)
    with pytest.raises(FileNotFoundError):
        files.remove(str(tree / "none"), recursive=True, force=False)


def test_removing_directories(tree: Path) -> None:
    with pytest.raises(OSError, match="not empty"):
        files.remove(str(tree / "d"), recursive=False, force=True)
    files.remove(str(tree / "d"), recursive=True, force=False)
    assert not (tree / "d").exists()


def test_a_tree_is_copied_with_its_links_and_without_its_pipes(
    tree: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (tree / "f").chmod(0o640)
    to = tmp_path_factory.mktemp("copies") / "copy"
    files.copy(str(tree), str(to), recursive=True)
    assert sorted(os.listdir(to)) == ["d", "dangling", "dir_link", "f", "link"]
    assert os.readlink(to / "dangling") == "nowhere"
    assert (to / "d" / "f").read_text() == "x"
    assert (to / "f").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("source", "destination", "recursive", "complaint"),
    [
        ("d", "e", False, "requires recursive: true"),
        ("d", "d/sub/e", True, "to itself or one of its descendants"),
        ("d", "d", True, "to itself or one of its descendants"),
        ("d", "dir_link/e", True, "to itself or one of its descendants"),
        ("fifo", "e", False, "only supports regular files, directories, and symlinks"),
        ("f", "fifo", False, "."),
    ],
)
def test_copies_that_are_not_made(tree: Path, source: str, destination: str, recursive: bool, complaint: str) -> None:
    with pytest.raises((Unsupported, OSError), match=complaint):
        files.copy(str(tree / source), str(tree / destination), recursive=recursive)


def test_a_file_copied_to_itself_stays(tree: Path) -> None:
    files.copy(str(tree / "f"), str(tree / "f"), recursive=False)
    assert (tree / "f").read_text() == "text"


def test_a_shorter_file_replaces_a_longer_one(tree: Path) -> None:
    (tree / "long").write_text("much longer than that")
    files.copy(str(tree / "f"), str(tree / "long"), recursive=False)
    assert (tree / "long").read_text() == "text"
