"""A repository's configuration, read as text."""

import subprocess
from pathlib import Path

import pytest

from pycodex.supervisor.workspace.git_remotes import remotes_in, without_credentials

TEXTS = [
    '[remote "origin"]\n\turl = git@h:o/r.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n',
    '[remote "origin"] url=https://h/a ; note\n\turl = https://h/b\n',
    '[REMOTE "origin"]\n  URL = "https://h/with#hash" # note\n',
    '[remote "o\\"d\\\\d"]\n\turl = "a\\tb"\n',
    '[remote "origin"]\n\turl = https://h/\\\nlong\n',
    '# note\n; note\n[core]\n\tbare\n[remote "origin"]\n\turl = x y  \n',
    "[remote]\n\turl = nobody\n",
    "[remote.old]\n\turl = https://h/old\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_remotes_are_those_that_git_sees(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    argv = ["git", "config", "--file", str(path), "-z", "--get-regexp", r"^remote\..*\.url$"]
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    seen: dict[str, str] = {}
    for setting in done.stdout.split("\0")[:-1]:
        key, _, value = setting.partition("\n")
        seen.setdefault(key.removeprefix("remote.").removesuffix(".url"), value)
    assert remotes_in(text) == seen


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:secret@h/x", "https://h/x"),
        ("https://token@h:8080/x@y", "https://h:8080/x@y"),
        ("http://h/x", "http://h/x"),
        ("git@h:o/r.git", "git@h:o/r.git"),
        ("ssh://git@h/x", "ssh://git@h/x"),
        ("/path/a@b", "/path/a@b"),
    ],
)
def test_credentials_are_not_shown(url: str, shown: str) -> None:
    assert without_credentials(url) == shown
    assert remotes_in(f'[remote "origin"]\n\turl = {url}\n') == {"origin": shown}


@pytest.mark.parametrize(
    "text", ["[", "[remote", '[remote "', '[remote "x', "=", "[a]=\\", '[remote "x"]\nurl = "\\', "\0"]
)
def test_broken_text_does_no_harm(text: str) -> None:
    remotes_in(text)
