"""Patches on real files: what they do, what is said of it, and that a failed one leaves no trace."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pycodex.protocol.patch.apply import Outcome, Unverified, apply_patch
from support.patches import patch_of, snapshot

A_PATCH = patch_of("*** Add File: new", "+x")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "folder"
    path.mkdir()
    return path


def applied(folder: Path, *lines: str, verify: bool = True, write: bool = True) -> Outcome:
    return apply_patch(patch_of(*lines), os.fsencode(folder), verify=verify, write=write)


def unverified(folder: Path, *lines: str) -> str:
    before = snapshot(folder)
    with pytest.raises(Unverified) as caught:
        applied(folder, *lines)
    assert snapshot(folder) == before
    return str(caught.value)


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def make(folder: Path, **contents: str) -> None:
    for name, content in contents.items():
        (folder / name).write_text(content)


EVERYTHING = (
    *("*** Delete File: gone", "*** Update File: moved", "*** Move to: far/away", "@@", "-m", "+M"),
    *("*** Update File: changed", "@@", " a", "-b", "+B", "*** Add File: new", "+n"),
)


def test_success_is_told_by_kind(folder: Path) -> None:
    make(folder, gone="g\n", moved="m\n", changed="a\nb\n")
    outcome = applied(folder, *EVERYTHING)
    said = "Success. Updated the following files:\nA new\nM far/away\nM changed\nD gone\n"
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (0, said, "")
    assert files(folder) == {"far/away": "M\n", "changed": "a\nB\n", "new": "n\n"}


def test_changes_and_states_are_told(folder: Path) -> None:
    make(folder, gone="g\n", moved="m\n", changed="a\nb\n")
    (folder / "changed").chmod(0o755)
    outcome = applied(folder, *EVERYTHING)
    at = {name: str(folder / name) for name in ("gone", "moved", "changed", "new", "far/away")}
    assert outcome.changes == {
        at["gone"]: {"type": "delete", "content": "g\n"},
        at["moved"]: {"type": "update", "unified_diff": "@@ -1 +1 @@\n-m\n+M\n", "move_path": at["far/away"]},
        at["changed"]: {"type": "update", "unified_diff": "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "move_path": None},
        at["new"]: {"type": "add", "content": "n\n"},
    }
    plain = (folder / "new").stat().st_mode
    assert outcome.before == {
        at["gone"]: (plain, b"g\n"),
        at["moved"]: (plain, b"m\n"),
        at["far/away"]: None,
        at["changed"]: (0o100755, b"a\nb\n"),
        at["new"]: None,
    }
    assert outcome.after == {
        at["gone"]: None,
        at["moved"]: None,
        at["far/away"]: (plain, b"M\n"),
        at["changed"]: (0o100755, b"a\nB\n"),
        at["new"]: (plain, b"n\n"),
    }


def test_trial_tells_the_same_and_writes_nothing(folder: Path) -> None:
    make(folder, gone="g\n", moved="m\n", changed="a\nb\n")
    before = snapshot(folder)
    trial = applied(folder, *EVERYTHING, write=False)
    assert snapshot(folder) == before
    real = applied(folder, *EVERYTHING)
    assert (trial.stdout, trial.changes, trial.before) == (real.stdout, real.changes, real.before)
    assert {path: state and state[1] for path, state in trial.after.items()} == {
        path: state and state[1] for path, state in real.after.items()
    }


def test_verification_sees_only_the_disk(folder: Path) -> None:
    make(folder, a="x\n")
    both = ("*** Update File: a", "@@", "-x", "+y", "*** Update File: ./a", "@@", "-y", "+z")
    assert unverified(folder, *both) == f"Failed to find expected lines in {folder}/./a:\ny"
    outcome = applied(folder, *both, verify=False)
    assert outcome.stdout == "Success. Updated the following files:\nM a\nM ./a\n"
    assert files(folder) == {"a": "z\n"}


def test_each_hunk_sees_what_those_before_it_did(folder: Path) -> None:
    make(folder, a="x\nx\n")
    outcome = applied(
        folder,
        *("*** Update File: a", "@@", "-x", "+y", "*** Update File: a", "*** Move to: b", "@@", "-x", "+z"),
        *("*** Add File: a", "+fresh", "*** Add File: passing", "+x", "*** Delete File: passing"),
        verify=False,
    )
    assert outcome.exit_code == 0
    assert files(folder) == {"a": "fresh\n", "b": "y\nz\n"}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("*** Update File: a", "@@", "-q"), "Failed to find expected lines in {}/a:\nq"),
        (("*** Update File: a", "@@ zz", "-x"), "Failed to find context 'zz' in {}/a"),
        (
            ("*** Update File: none/../b", "@@", "-x"),
            "Failed to read file to update {}/none/../b: No such file or directory (os error 2)",
        ),
        (("*** Update File: dir", "@@", "-x"), "Failed to read file to update {}/dir: Is a directory (os error 21)"),
        (("*** Update File: a/b", "@@", "-x"), "Failed to read file to update {}/a/b: Not a directory (os error 20)"),
        (
            ("*** Update File: raw", "@@", "-x"),
            "Failed to read file to update {}/raw: stream did not contain valid UTF-8",
        ),
        (("*** Update File: fifo", "@@", "-x"), "Failed to read file to update {}/fifo: it is not a regular file"),
        (("*** Delete File: none",), "Failed to read {}/none: No such file or directory (os error 2)"),
        (("*** Delete File: dir",), "Failed to read {}/dir: Is a directory (os error 21)"),
        (("*** Delete File: raw",), "Failed to read {}/raw: stream did not contain valid UTF-8"),
        (("*** Delete File: a\0",), "Failed to read {}/a\0: file name contained an unexpected NUL byte"),
        (("*** Add File: n", "+x", "*** Delete File: none"), "Failed to read {}/none: No such file"),
        (("*** Frob",), "invalid hunk at line 2, '*** Frob' is not a valid hunk header."),
    ],
)
def test_what_does_not_fit_the_disk(folder: Path, lines: tuple[str, ...], message: str) -> None:
    make(folder, a="x\n")
    (folder / "dir").mkdir()
    (folder / "raw").write_bytes(b"\xff\n")
    os.mkfifo(folder / "fifo")
    assert unverified(folder, *lines).startswith(message.format(folder))


@pytest.mark.parametrize(
    ("lines", "stderr"),
    [
        (("*** Update File: a", "@@", "-q"), "Failed to find expected lines in a:\nq\nNo file was changed.\n"),
        (
            ("*** Update File: none", "@@", "-x"),
            "Failed to read file to update none: No such file or directory (os error 2)\nNo file was changed.\n",
        ),
        (
            ("*** Delete File: none",),
            "Failed to delete file none\nNo file was changed: No such file or directory (os error 2).\n",
        ),
        (("*** Delete File: dir",), "Failed to delete file dir\nNo file was changed: Is a directory (os error 21).\n"),
        (("*** Delete File: fifo",), "Failed to delete file fifo\nNo file was changed: it is not a regular file.\n"),
        (("*** Add File: dir", "+x"), "Failed to write file dir\nNo file was changed: Is a directory (os error 21).\n"),
        (("*** Add File: n/", "+x"), "Failed to write file n/\nNo file was changed: Is a directory (os error 21).\n"),
        (("*** Add File: fifo", "+x"), "Failed to write file fifo\nNo file was changed: it is not a regular file.\n"),
        (
            ("*** Add File: a/b", "+x"),
            "Failed to create parent directories for a/b\nNo file was changed: Not a directory (os error 20).\n",
        ),
        (
            ("*** Update File: a", "*** Move to: dir", "@@", "-x", "+y"),
            "Failed to write file dir\nNo file was changed: Is a directory (os error 21).\n",
        ),
        (
            ("*** Add File: c", "+x", "*** Add File: c/d", "+x"),
            "Failed to write file c\nNo file was changed: Is a directory (os error 21).\n",
        ),
    ],
)
def test_failure_is_told_and_leaves_no_trace(folder: Path, lines: tuple[str, ...], stderr: str) -> None:
    make(folder, a="x\n")
    (folder / "dir").mkdir()
    os.mkfifo(folder / "fifo")
    before = snapshot(folder)
    outcome = applied(folder, "*** Add File: first", "+1", *lines, verify=False)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (1, "", stderr)
    assert outcome.before == outcome.after
    assert snapshot(folder) == before


@pytest.mark.parametrize(
    ("lines", "stderr"),
    [
        ((), "No files were modified.\n"),
        (("*** Update File: a",), "Invalid patch hunk on line 2: Update file hunk for path 'a' is empty\n"),
    ],
)
def test_patch_that_is_none_is_told_in_one_line(folder: Path, lines: tuple[str, ...], stderr: str) -> None:
    outcome = applied(folder, *lines, verify=False)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (1, "", stderr)


def test_link_is_followed_and_stays(folder: Path) -> None:
    make(folder, target="t\n")
    for name, target in (("link", "target"), ("dangling", "made")):
        (folder / name).symlink_to(target)
    outcome = applied(folder, "*** Update File: link", "@@", "-t", "+T", "*** Add File: dangling", "+x")
    assert (folder / "link").is_symlink()
    assert (folder / "dangling").is_symlink()
    assert ((folder / "target").read_text(), (folder / "made").read_text()) == ("T\n", "x\n")
    # A diff of the folder is about the files, not about links to them.
    assert set(outcome.after) == {str(folder / "target"), str(folder / "made")}


def test_link_itself_is_deleted_or_moved(folder: Path) -> None:
    make(folder, target="t\n")
    for name in ("one", "two"):
        (folder / name).symlink_to("target")
    lines = ("*** Delete File: one", "*** Update File: two", "*** Move to: three", "@@", "-t", "+T")
    outcome = applied(folder, *lines)
    assert files(folder) == {"target": "t\n", "three": "T\n"}
    link = outcome.before[str(folder / "one")]
    assert link is not None
    assert link[1] == b"target"


@pytest.mark.parametrize("name", ["a", "./a", "link"])
def test_move_onto_itself_is_an_update(folder: Path, name: str) -> None:
    make(folder, a="x\n")
    (folder / "link").symlink_to("a")
    outcome = applied(folder, "*** Update File: a", f"*** Move to: {name}", "@@", "-x", "+y")
    assert files(folder) == {"a": "y\n", "link": "y\n"}
    assert outcome.changes[str(folder / "a")]["move_path"] is None


def test_move_and_add_overwrite_and_keep_the_mode(folder: Path) -> None:
    make(folder, a="x\n", b="b\n", c="c\n")
    for name in ("b", "c"):
        (folder / name).chmod(0o700)
    applied(folder, "*** Update File: a", "*** Move to: b", "@@", "-x", "+y", "*** Add File: c", "+C")
    assert files(folder) == {"b": "y\n", "c": "C\n"}
    assert [(folder / name).stat().st_mode & 0o777 for name in ("b", "c")] == [0o700, 0o700]


def test_executable_deletes_what_is_no_text(folder: Path) -> None:
    (folder / "raw").write_bytes(b"\xff")
    assert applied(folder, "*** Delete File: raw", verify=False).exit_code == 0
    assert files(folder) == {}


def test_directory_whose_name_is_no_text(tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(odd)
    outcome = apply_patch(A_PATCH, odd, verify=True, write=True)
    assert os.listdir(odd) == [b"new"]
    assert list(outcome.changes) == [f"{tmp_path}/\ufffd/new"]


NAMES = st.sampled_from(["a", "b", "sub/c", "sub/d", "linked", "link", "new/e", "new/deep/f"])
HUNKS = st.one_of(
    NAMES.map(lambda name: (f"*** Add File: {name}", "+added")),
    NAMES.map(lambda name: (f"*** Delete File: {name}",)),
    NAMES.map(lambda name: (f"*** Update File: {name}", "@@", "-one", "+changed", "+and more")),
    st.tuples(NAMES, NAMES).map(
        lambda names: (f"*** Update File: {names[0]}", f"*** Move to: {names[1]}", "@@", "-two", "+moved")
    ),
)
FAILING = st.sampled_from(
    [
        ("*** Delete File: none",),
        ("*** Update File: a", "@@", "-no such line"),
        ("*** Add File: sub", "+x"),
        ("*** Add File: clash", "+x", "*** Add File: clash/below", "+x"),
    ]
)


@settings(max_examples=150)
@given(st.lists(HUNKS, max_size=6), FAILING, st.lists(HUNKS, max_size=2))
def test_any_patch_that_fails_leaves_the_tree_as_it_was(
    earlier: list[tuple[str, ...]], failing: tuple[str, ...], later: list[tuple[str, ...]]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / "sub").mkdir()
        for path in ("a", "b", "sub/c", "sub/d"):
            (folder / path).write_text("one\ntwo\n")
        (folder / "linked").hardlink_to(folder / "b")
        (folder / "link").symlink_to("sub/c")
        (folder / "a").chmod(0o741)
        before = snapshot(folder)
        hunks = [line for hunk in (*earlier, failing, *later) for line in hunk]
        outcome = applied(folder, *hunks, verify=False)
        assert (outcome.exit_code, outcome.stdout) == (1, "")
        assert "No file was changed" in outcome.stderr
        assert snapshot(folder) == before


def test_several_hunks_about_one_file_are_told_by_what_becomes_of_it(folder: Path) -> None:
    make(folder, a="1\n2\n3\n4\n5\n6\n7\n8\n")
    first = ("*** Update File: a", "@@", "-1", "+one")
    second = ("*** Update File: a", "@@", "-8", "+eight")
    outcome = applied(folder, *first, *second, write=False)
    (change,) = outcome.changes.values()
    diff = change["unified_diff"] or ""
    assert ("-1\n+one\n" in diff, "-8\n+eight\n" in diff) == (True, True)


def test_place_that_nobody_was_asked_about_is_not_written(folder: Path) -> None:
    make(folder, a="1\n", b="1\n")
    (folder / "link").symlink_to("b")
    lines = ("*** Update File: link", "@@", "-1", "+2")
    only = frozenset({os.fsencode(folder.resolve() / "a"), os.fsencode(folder.resolve() / "link")})
    outcome = apply_patch(patch_of(*lines), os.fsencode(folder), verify=True, write=True, only=only)
    assert outcome.exit_code == 1
    assert "which nobody was asked about" in outcome.stderr
    assert files(folder)["b"] == "1\n"
