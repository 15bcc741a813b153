"""The scratch directory is complete, apart from the user's own things, and gone afterwards."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.frontends.demo.scene import scratch


@pytest.fixture
def cache() -> Iterator[Path]:
    """Outside of /tmp, where pytest keeps its own directories."""
    with tempfile.TemporaryDirectory(prefix="pycodex-test-", dir="/var/tmp") as path:
        yield Path(path)


def environment(cache: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(cache)}


def test_the_block_ends_with_everything_gone(cache: Path) -> None:
    with scratch(environment(cache)) as scene:
        assert scene.root.parent == cache
        assert (scene.workspace / ".git" / "HEAD").exists()
        assert scene.hook.parent.is_dir()
    assert not scene.root.exists()


def test_only_harmless_variables_are_kept(cache: Path) -> None:
    given = {
        "OPENAI_API_KEY": "k",
        "TMPDIR": "/x",
        "LANG": "C.UTF-8",
        "HOME": "/home/u",
        "CODEX_HOME": "/home/u/.codex",
    }
    with scratch(environment(cache)) as scene:
        env = scene.environment({**environment(cache), **given})
        assert env.keys() == {"PATH", "LANG", "HOME", "CODEX_HOME"}
        assert env["HOME"] == str(scene.home)
        assert env["CODEX_HOME"] == str(scene.codex_home)


@pytest.mark.skipif(shutil.which("git") is None, reason="no git here")
def test_git_of_the_user_is_set_aside(cache: Path) -> None:
    template = cache / "template"
    (template / "hooks").mkdir(parents=True)
    (template / "hooks" / "pre-commit").write_text("#!/bin/sh\nexit 1\n")
    (template / "hooks" / "pre-commit").chmod(0o755)
    with scratch({**environment(cache), "GIT_TEMPLATE_DIR": str(template)}) as scene:
        assert not scene.hook.exists()
        log = subprocess.run(
            ["git", "log", "--oneline"], cwd=scene.workspace, capture_output=True, text=True, check=True
        )
        assert log.stdout.endswith("Make slugs of titles\n")


def test_without_git_something_like_a_repository_is_there(cache: Path) -> None:
    with scratch({"PATH": str(cache), "XDG_CACHE_HOME": str(cache)}) as scene:
        assert (scene.workspace / ".git" / "HEAD").exists()


def test_a_cache_in_slash_tmp_is_not_used() -> None:
    """Commands may write there, so nothing that happens in it would prove anything."""
    with scratch({"PATH": os.environ["PATH"], "XDG_CACHE_HOME": "/tmp"}) as scene:
        assert not str(scene.root).startswith("/tmp/")


def test_no_place_at_all_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UserFacing, match="found no place"), scratch({"XDG_CACHE_HOME": "/tmp/x"}):
        pass
