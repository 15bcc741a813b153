"""Roots and trust: a pointer that anybody can write opens nothing."""

from pathlib import Path

import pytest

from pycodex.supervisor.config.trust import Trust, project_root, repository_root


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "repo/.git").mkdir(parents=True)
    (tmp_path / "repo/a/b").mkdir(parents=True)
    return tmp_path.resolve()


def worktree(tree: Path, *, back: str | None = None) -> Path:
    """A linked worktree of `repo`, as git lays it out."""
    admin = tree / "repo/.git/worktrees/wt"
    admin.mkdir(parents=True)
    place = tree / "wt"
    (place / "sub").mkdir(parents=True)
    (place / ".git").write_text(f"gitdir: {admin}\n")
    (admin / "commondir").write_text("../..\n")
    (admin / "gitdir").write_text(f"{back or place / '.git'}\n")
    return place


@pytest.mark.parametrize(
    ("cwd", "markers", "expected"),
    [
        ("repo/a/b", (".git",), "repo"),
        ("repo", (".git",), "repo"),
        ("repo/a/b", (), None),
        ("repo/a/b", ("b", ".git"), "repo/a"),
        ("repo/a/b", ("",), None),
    ],
)
def test_root_is_the_nearest_directory_with_a_marker(
    cwd: str, markers: tuple[str, ...], expected: str | None, tree: Path
) -> None:
    assert project_root(str(tree / cwd), markers) == (None if expected is None else str(tree / expected))


def test_worktree_belongs_to_its_main_checkout(tree: Path) -> None:
    assert repository_root(str(worktree(tree) / "sub")) == str(tree / "repo")


def test_worktree_that_the_repository_does_not_know_stands_for_itself(tree: Path) -> None:
    place = worktree(tree, back="/elsewhere/.git")
    assert repository_root(str(place)) == str(place)


@pytest.mark.parametrize("pointer", ["", "gitdir:", "gitdir: /nowhere", "\x00", "x" * 100_000])
def test_broken_pointer_stands_for_itself(pointer: str, tmp_path: Path) -> None:
    (tmp_path / ".git").write_text(pointer)
    assert repository_root(str(tmp_path)) == str(tmp_path)


@pytest.mark.parametrize(
    ("projects", "level", "of_root", "of_a"),
    [
        ({}, None, None, None),
        ({"repo": "trusted"}, "trusted", "trusted", "trusted"),
        ({"repo/a": "trusted"}, "trusted", None, "trusted"),
        ({"repo": "trusted", "repo/a": "untrusted"}, "untrusted", "trusted", "untrusted"),
        ({"": "trusted"}, None, None, None),
    ],
)
def test_nearest_entry_decides(
    projects: dict[str, str], level: str | None, of_root: str | None, of_a: str | None, tree: Path
) -> None:
    entries = {str(tree / path): {"trust_level": given} for path, given in projects.items()}
    trust = Trust(entries, str(tree / "repo/a"), root=str(tree / "repo"))
    assert (trust.level, trust.of_layer(str(tree / "repo")), trust.of_layer(str(tree / "repo/a"))) == (
        level,
        of_root,
        of_a,
    )
