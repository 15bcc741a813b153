"""Where a project begins."""

from pathlib import Path

import pytest

from pycodex.protocol.confinement import PLACEHOLDER_MODE
from pycodex.supervisor.workspace.roots import directories_down, project_root


def test_nearest_marker_wins(tmp_path: Path) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "mark").touch()
    (tmp_path / "a/b/mark").mkdir()
    assert project_root(str(tmp_path / "a/b/c"), ["mark"]) == str(tmp_path / "a/b")
    assert project_root(str(tmp_path / "a"), ["other", "mark"]) == str(tmp_path)
    assert project_root(str(tmp_path / "a"), []) is None
    assert project_root(str(tmp_path / "a"), ["nowhere-at-all"]) is None


@pytest.mark.parametrize(
    ("mode", "content", "counts"),
    [(PLACEHOLDER_MODE, False, False), (PLACEHOLDER_MODE, True, True), (0o555, False, True), (0o755, False, True)],
)
def test_only_empty_directories_of_the_placeholders_mode_are_ignored(
    tmp_path: Path, mode: int, content: bool, counts: bool
) -> None:
    git = tmp_path / ".git"
    git.mkdir()
    if content:
        (git / "HEAD").touch()
    git.chmod(mode)
    found = project_root(str(tmp_path))
    git.chmod(0o755)
    assert (found == str(tmp_path)) == counts


def test_directories_on_the_way() -> None:
    assert directories_down("/a", "/a/b/c") == ["/a", "/a/b", "/a/b/c"]
    assert directories_down("/a", "/a") == ["/a"]
    assert directories_down("/", "/a") == ["/", "/a"]
