"""The diff of a turn is what git would tell, against the files as the turn found them."""

import os
import random
import stat
import subprocess
from pathlib import Path

import pytest

from pycodex.supervisor.workspace.turn_diff import FileState, States, TurnChanges
from support.interpreter import MINIMAL_ENV

PLAIN, PROGRAM, LINK = stat.S_IFREG | 0o644, stat.S_IFREG | 0o755, stat.S_IFLNK | 0o777
NO_BLOB = "0" * 40
WORDS = ("", "a", "b", "common", "x = 1", "\ttab", "é", " ", "end\r")


def git(*arguments: str, cwd: Path, given: bytes = b"") -> bytes:
    env = {**MINIMAL_ENV, "HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(["git", *arguments], cwd=cwd, env=env, input=given, capture_output=True, check=True).stdout


def blob(content: bytes) -> str:
    return git("hash-object", "--stdin", cwd=Path("/"), given=content).decode().strip()


def text(content: str | bytes, mode: int = PLAIN) -> FileState:
    return FileState(mode, content.encode() if isinstance(content, str) else content)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    git("init", "-q", cwd=tmp_path)
    return tmp_path


class Turn:
    """Patches in one directory, by names below it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.changes = TurnChanges()

    def _states(self, states: dict[str, FileState | None]) -> States:
        return {str(self._root / name): state for name, state in states.items()}

    def patch(
        self,
        before: dict[str, FileState | None],
        after: dict[str, FileState | None],
        moves: dict[str, str] | None = None,
    ) -> "Turn":
        full_moves = {str(self._root / old): str(self._root / new) for old, new in (moves or {}).items()}
        self.changes.patched(self._states(before), self._states(after), full_moves)
        return self

    def see(self, now: dict[str, FileState | None]) -> "Turn":
        self.changes.seen(self._states(now))
        return self

    @property
    def diff(self) -> str:
        return self.changes.diff()


def edit(turn: Turn, name: str, old: str, new: str) -> Turn:
    return turn.patch({name: text(old)}, {name: text(new)})


# Layout


def test_new_file(repo: Path) -> None:
    new = b"one\ntwo\n"
    diff = Turn(repo).patch({"dir/new": None}, {"dir/new": text(new)}).diff
    assert diff == (
        "diff --git a/dir/new b/dir/new\n"
        "new file mode 100644\n"
        f"index {NO_BLOB}..{blob(new)}\n"
        "--- /dev/null\n"
        "+++ b/dir/new\n"
        "@@ -0,0 +1,2 @@\n"
        "+one\n"
        "+two\n"
    )


def test_deleted_file(repo: Path) -> None:
    old = b"one\n"
    diff = Turn(repo).patch({"x": text(old, PROGRAM)}, {"x": None}).diff
    assert diff == (
        "diff --git a/x b/x\n"
        "deleted file mode 100755\n"
        f"index {blob(old)}..{NO_BLOB}\n"
        "--- a/x\n"
        "+++ /dev/null\n"
        "@@ -1 +0,0 @@\n"
        "-one\n"
    )


def test_changed_file_has_three_lines_of_context(repo: Path) -> None:
    old = "".join(f"{number}\n" for number in range(1, 20))
    new = old.replace("10\n", "ten\n")
    diff = edit(Turn(repo), "x", old, new).diff
    assert diff == (
        "diff --git a/x b/x\n"
        f"index {blob(old.encode())}..{blob(new.encode())}\n"
        "--- a/x\n"
        "+++ b/x\n"
        "@@ -7,7 +7,7 @@\n"
        " 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n"
    )


def test_missing_final_newline_is_marked(repo: Path) -> None:
    assert edit(Turn(repo), "x", "a\nb", "a\nc").diff.endswith(
        "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
    )
    assert edit(Turn(repo), "x", "a", "a\n").diff.endswith("-a\n\\ No newline at end of file\n+a\n")


def test_empty_files_have_no_hunks(repo: Path) -> None:
    empty = blob(b"")
    added = Turn(repo).patch({"x": None}, {"x": text("")}).diff
    assert added == f"diff --git a/x b/x\nnew file mode 100644\nindex {NO_BLOB}..{empty}\n"
    gone = Turn(repo).patch({"x": text("")}, {"x": None}).diff
    assert gone == f"diff --git a/x b/x\ndeleted file mode 100644\nindex {empty}..{NO_BLOB}\n"


@pytest.mark.parametrize(("old", "new"), [(b"\xff\n", b"text\n"), (b"text\n", b"\xff\n"), (b"\xfe", b"\xff")])
def test_what_is_no_text_is_only_said_to_differ(repo: Path, old: bytes, new: bytes) -> None:
    diff = Turn(repo).patch({"x": text(old)}, {"x": text(new)}).diff
    assert diff == f"diff --git a/x b/x\nindex {blob(old)}..{blob(new)}\nBinary files differ\n"


def test_new_file_that_is_no_text(repo: Path) -> None:
    new = b"\xff"
    diff = Turn(repo).patch({"x": None}, {"x": text(new)}).diff
    assert diff == f"diff --git a/x b/x\nnew file mode 100644\nindex {NO_BLOB}..{blob(new)}\nBinary files differ\n"


def test_mode_is_told_with_the_content(repo: Path) -> None:
    old, new = b"a\n", b"b\n"
    diff = Turn(repo).patch({"x": text(old)}, {"x": text(new, PROGRAM)}).diff
    assert diff.splitlines()[:4] == [
        "diff --git a/x b/x",
        "old mode 100644",
        "new mode 100755",
        f"index {blob(old)}..{blob(new)}",
    ]


def test_link_is_told_by_where_it_points(repo: Path) -> None:
    diff = Turn(repo).patch({"l": None}, {"l": text("target", LINK)}).diff
    assert "new file mode 120000\n" in diff
    assert diff.endswith("@@ -0,0 +1 @@\n+target\n\\ No newline at end of file\n")
    # A patch through a link leaves the link as it was.
    assert Turn(repo).patch({"l": text("t", LINK)}, {"l": text("t", LINK)}).diff == ""


# What is told at all


def test_nothing_patched_is_nothing_told(repo: Path) -> None:
    assert Turn(repo).diff == ""
    assert Turn(repo).changes.paths == ()
    assert Turn(repo).see({"x": text("a")}).diff == ""


def test_file_that_is_back_at_its_beginning_vanishes(repo: Path) -> None:
    turn = edit(edit(Turn(repo), "x", "a\n", "b\n"), "y", "1\n", "2\n")
    assert "a/x" in turn.diff
    edit(turn, "x", "b\n", "a\n")
    assert "a/x" not in turn.diff
    assert "a/y" in turn.diff
    edit(turn, "y", "2\n", "1\n")
    assert turn.diff == ""


def test_file_that_came_and_went_vanishes(repo: Path) -> None:
    turn = Turn(repo).patch({"x": None}, {"x": text("a\n")})
    assert turn.patch({"x": text("a\n")}, {"x": None}).diff == ""


def test_new_mode_or_name_alone_is_not_told(repo: Path) -> None:
    assert Turn(repo).patch({"x": text("a\n")}, {"x": text("a\n", PROGRAM)}).diff == ""
    assert Turn(repo).patch({"x": text("a\n")}, {"x": None, "y": text("a\n")}, {"x": "y"}).diff == ""


def test_first_state_counts_and_the_last_one(repo: Path) -> None:
    turn = edit(edit(edit(Turn(repo), "x", "a\n", "b\n"), "x", "b\n", "c\n"), "x", "c\n", "d\n")
    assert turn.diff.endswith("@@ -1 +1 @@\n-a\n+d\n")


def test_changes_by_others_are_told_for_patched_files_only(repo: Path) -> None:
    turn = edit(Turn(repo), "x", "a\n", "b\n")
    turn.see({"x": text("shell\n"), "other": text("z\n")})
    assert turn.diff.endswith("@@ -1 +1 @@\n-a\n+shell\n")
    assert "other" not in turn.diff
    turn.see({"x": None})
    assert "deleted file mode 100644\n" in turn.diff
    # What is not known any more stays as it was.
    assert turn.diff == turn.see({}).diff


def test_files_come_in_the_order_of_their_names(repo: Path) -> None:
    turn = Turn(repo)
    for name in ("b", "a/z", "c", "a.txt", "B"):
        edit(turn, name, "1\n", "2\n")
    turn.patch({"zz": text("1\n")}, {"zz": None, "aa": text("2\n")}, {"zz": "aa"})
    heads = [line.split(" b/")[1] for line in turn.diff.splitlines() if line.startswith("diff --git")]
    assert heads == ["B", "a.txt", "a/z", "aa", "b", "c"]


# Renames


def test_renamed_file_has_both_names(repo: Path) -> None:
    turn = Turn(repo).patch({"old": text("a\n")}, {"old": None, "new": text("b\n")}, {"old": "new"})
    assert turn.diff.splitlines()[0] == "diff --git a/old b/new"
    assert turn.diff.splitlines()[2:4] == ["--- a/old", "+++ b/new"]
    assert "rename" not in turn.diff
    assert turn.changes.paths == (str(repo / "new"),)


def test_chained_renames_are_one(repo: Path) -> None:
    turn = Turn(repo).patch({"a": text("1\n")}, {"a": None, "b": text("2\n")}, {"a": "b"})
    turn.patch({"b": text("2\n")}, {"b": None, "c": text("3\n")}, {"b": "c"})
    assert turn.diff.count("diff --git") == 1
    assert turn.diff.startswith("diff --git a/a b/c\n")
    assert turn.diff.endswith("-1\n+3\n")


def test_renamed_back_with_the_old_content_vanishes(repo: Path) -> None:
    turn = Turn(repo).patch({"a": text("1\n")}, {"a": None, "b": text("2\n")}, {"a": "b"})
    turn.patch({"b": text("2\n")}, {"b": None, "a": text("1\n")}, {"b": "a"})
    assert turn.diff == ""


def test_renamed_and_then_deleted(repo: Path) -> None:
    turn = Turn(repo).patch({"a": text("1\n")}, {"a": None, "b": text("1\n")}, {"a": "b"})
    turn.patch({"b": text("1\n")}, {"b": None})
    assert turn.diff.splitlines()[:2] == ["diff --git a/a b/b", "deleted file mode 100644"]
    assert "--- a/a\n+++ /dev/null\n" in turn.diff


def test_new_file_under_the_old_name_is_another_one(repo: Path) -> None:
    turn = Turn(repo).patch({"a": text("1\n")}, {"a": None, "b": text("2\n")}, {"a": "b"})
    turn.patch({"a": None}, {"a": text("new\n")})
    assert [line for line in turn.diff.splitlines() if line.startswith("diff")] == [
        "diff --git a/a b/a",
        "diff --git a/a b/b",
    ]
    assert "new file mode 100644" in turn.diff


def test_file_that_was_overwritten_by_a_rename_is_not_told_twice(repo: Path) -> None:
    states: dict[str, FileState | None] = {"o": text("o\n"), "d": text("d\n")}
    turn = Turn(repo).patch(states, {"o": None, "d": text("O\n")}, {"o": "d"})
    assert turn.diff.count("diff --git") == 1
    assert turn.diff.startswith("diff --git a/o b/d\n")


def test_files_that_change_places_are_not_mixed_up(repo: Path) -> None:
    states: dict[str, FileState | None] = {"a": text("a\n"), "b": text("b\n")}
    turn = Turn(repo).patch(states, {"a": text("B\n"), "b": text("A\n")}, {"a": "b", "b": "a"})
    told = turn.diff.split("diff --git ")[1:]
    assert [part.splitlines()[0] for part in told] == ["a/b b/a", "a/a b/b"]
    assert told[0].endswith("-b\n+B\n")
    assert told[1].endswith("-a\n+A\n")


# Names


def test_names_start_at_the_repository(repo: Path) -> None:
    inner = repo / "inner"
    inner.mkdir()
    git("init", "-q", cwd=inner)
    turn = edit(edit(Turn(repo), "sub/x", "1\n", "2\n"), "inner/y", "1\n", "2\n")
    heads = [line for line in turn.diff.splitlines() if line.startswith("diff")]
    assert heads == ["diff --git a/sub/x b/sub/x", "diff --git a/y b/y"]


def test_outside_a_repository_names_are_absolute(tmp_path: Path) -> None:
    diff = edit(Turn(tmp_path), "x", "1\n", "2\n").diff
    assert diff.startswith(f"diff --git a/{tmp_path}/x b/{tmp_path}/x\n")
    assert f"--- a/{tmp_path}/x\n+++ b/{tmp_path}/x\n" in diff


def test_name_that_is_no_text_can_still_be_written_down(repo: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    assert edit(Turn(repo), name, "1\n", "2\n").diff.encode().startswith(b"diff --git a/caf? b/caf?\n")


# Against git itself


def edited(lines: list[str], chance: random.Random) -> list[str]:
    lines = list(lines)
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(lines) + 1)
        lines[at : at + chance.randrange(3)] = chance.choices(WORDS, k=chance.randrange(3))
    return lines


def random_file(chance: random.Random) -> bytes:
    lines = chance.choices(WORDS, k=chance.randrange(40))
    return "\n".join(lines).encode() + b"\n" * chance.randrange(2)


def random_edit(content: bytes, chance: random.Random) -> bytes:
    *lines, last = content.decode().split("\n")
    new = [*edited(lines, chance), chance.choice(("", last, "other end"))]
    return "\n".join(new).encode()


def tree(root: Path) -> dict[str, tuple[bytes, bool]]:
    return {
        path.name: (path.read_bytes(), bool(path.stat().st_mode & 0o111)) for path in root.iterdir() if path.is_file()
    }


@pytest.mark.parametrize("seed", range(20))
def test_git_makes_the_new_tree_from_the_old_one(repo: Path, seed: int) -> None:
    chance = random.Random(seed)
    before: dict[str, FileState | None] = {}
    after: dict[str, FileState | None] = {}
    for name in "abcdef":
        old = None if chance.random() < 0.2 else random_file(chance)
        new = None if old and chance.random() < 0.2 else random_edit(old or b"", chance)
        before[name] = None if old is None else text(old)
        # A mode alone is not told.
        mode = PROGRAM if new != old and chance.random() < 0.3 else PLAIN
        after[name] = None if new is None else text(new, mode)
        if old is not None:
            (repo / name).write_bytes(old)
    diff = Turn(repo).patch(before, after).diff
    if diff:
        git("apply", "--whitespace=nowarn", "-", cwd=repo, given=diff.encode())
    assert tree(repo) == {
        name: (state.content, state.mode == PROGRAM) for name, state in after.items() if state is not None
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"a\nb\nc\n", b"a\nB\nc\n"),
        (b"a\n", b"a\nb"),
        (b"".join(b"%d\n" % number for number in range(40)), b"".join(b"%d\n" % number for number in range(3, 39))),
        (b"x\n", b""),
        (b"", b"x\n"),
    ],
)
def test_changed_file_reads_as_git_tells_it(repo: Path, old: bytes, new: bytes) -> None:
    """But that git says the mode behind the blobs, and the name of what surrounds a hunk."""
    (repo / "x").write_bytes(old)
    git("add", "x", cwd=repo)
    (repo / "x").write_bytes(new)
    expected = git("diff", "--full-index", cwd=repo).decode().replace(" 100644\n", "\n", 1)
    assert Turn(repo).patch({"x": text(old)}, {"x": text(new)}).diff == "".join(
        line.rpartition("@@")[0] + "@@\n" if line.startswith("@@") else line
        for line in expected.splitlines(keepends=True)
    )
