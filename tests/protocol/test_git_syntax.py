"""Settings are found in git's configuration however it is written, and what makes no sense is skipped."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.protocol.git_syntax import settings


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[core]\n\thooksPath = a b \n", ("core", "", "hookspath", "a b")),
        ("[core]hooksPath=a", ("core", "", "hookspath", "a")),
        ('[Remote "Or"]\n URL = "x ; y" ; comment\n', ("remote", "Or", "url", "x ; y")),
        ('[includeIf "gitdir:\\"q\\"/"] path = p\\\n  q', ("includeif", 'gitdir:"q"/', "path", "p  q")),
        ("[a.B]\nk = x\\ty # z", ("a", "b", "k", "x\ty")),
        ("[a]\nflag\n", ("a", "", "flag", "")),
        ("# c\n; d\n[a]\r\nk=v\r\n", ("a", "", "k", "v")),
    ],
)
def test_setting_is_read(text: str, found: tuple[str, str, str, str]) -> None:
    assert list(settings(text)) == [found]


@pytest.mark.parametrize("value", ["plain", "with space", 'q"uote', "back\\slash", "semi;colon", "#hash", "é"])
def test_what_git_writes_is_read_back(tmp_path: Path, value: str) -> None:
    file = tmp_path / "config"
    subprocess.run(["git", "config", "-f", str(file), "remote.a b.url", value], check=True)
    assert list(settings(file.read_text(encoding="utf-8"))) == [("remote", "a b", "url", value)]


@given(st.text(alphabet='[]"\\=#;\n\r \tab.', max_size=40))
def test_anything_can_be_read(text: str) -> None:
    assert all(len(found) == 4 for found in settings(text))
