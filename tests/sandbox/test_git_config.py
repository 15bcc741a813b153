"""What a git configuration borrows from other files is found, however it is written, and only so much of it."""

from pathlib import Path

import pytest

from pycodex.sandbox.disk import Disk
from pycodex.sandbox.git_config import MAX_CONFIGS, MAX_PATHS, borrowed, mentions

INCLUDED = {
    "plain": '[include]\n\tpath = other\n',
    "on one line": '[include] path = other\n',
    "in another case": '[INCLUDE]\nPath=other\n',
    "quoted": '[include]\npath = "other"\n',
    "with a comment": '[include]\npath = other ; that one\n',
    "conditional": '[includeIf "gitdir:~/x]/"]\npath = other\n',
    "old way of sections": '[includeif.onbranch:main]\npath = other\n',
    "continued": '[include]\npath = oth\\\ner\n',
    "escaped": '[include]\npath = "oth\\er"\n',
    "after another section": '[core]\nbare = false\n[include]\npath = other\n',
    "line ends of another system": '[include]\r\npath = other\r\n',
}  # fmt: skip
NOT_INCLUDED = {
    "nothing": "",
    "other section": "[remote]\npath = other\n",
    "other key": "[include]\npaths = other\n",
    "no value": "[include]\npath\n",
    "empty value": "[include]\npath =\n",
    "comment": "[include]\n# path = other\n",
    "at home": "[include]\npath = ~/other\n",
    "zero byte": "[include]\npath = a\0b\n",
    "section without end": "[include\npath = other\n",
    "no section": "path = other\n",
}


@pytest.mark.parametrize("text", INCLUDED.values(), ids=INCLUDED.keys())
def test_included_file_is_found(text: str) -> None:
    assert [(mention.path, mention.is_hooks) for mention in mentions(text)] == [("other", False)]


@pytest.mark.parametrize("text", NOT_INCLUDED.values(), ids=NOT_INCLUDED.keys())
def test_nothing_is_found_where_nothing_is_borrowed(text: str) -> None:
    assert list(mentions(text)) == []


@pytest.mark.parametrize("text", ["[core]\nhooksPath = h\n", "[core]hookspath=h", '[core]\n\tHOOKSPATH = "h" # x'])
def test_directory_of_hooks_is_found(text: str) -> None:
    assert [(mention.path, mention.is_hooks) for mention in mentions(text)] == [("h", True)]


def found(config: Path, root: Path) -> set[str]:
    return {guard.place.path for guard in borrowed(Disk(), [str(config)], str(root))}


def test_includes_are_followed_from_where_they_stand(tmp_path: Path) -> None:
    top = tmp_path.resolve()
    (top / "sub").mkdir()
    (top / "config").write_text("[include]\npath = sub/one\n[include]\npath = missing\n")
    (top / "sub/one").write_text("[include]\npath = two\n[core]\nhooksPath = hooks\n")
    (top / "sub/two").write_text("[include]\npath = ../config\n")
    (top / "hooks").mkdir()
    assert found(top / "config", top) == {f"{top}/sub/one", f"{top}/sub/two", f"{top}/hooks", f"{top}/config"}


def test_scripts_of_husky_are_hooks(tmp_path: Path) -> None:
    top = tmp_path.resolve()
    (top / ".husky/_").mkdir(parents=True)
    (top / "config").write_text("[core]\nhooksPath = .husky/_\n")
    assert found(top / "config", top) == {f"{top}/.husky/_", f"{top}/.husky"}


def test_only_so_many_files_and_paths_are_looked_at(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number}").write_text(f"[include]\npath = {number + 1}\n")
    assert len(found(tmp_path / "0", tmp_path)) == MAX_CONFIGS
    assert len(list(mentions("[include]\n" + "path = x\n" * 1000))) == MAX_PATHS
