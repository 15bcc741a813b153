"""What a checkout holds that its remote does not."""

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pycodex.supervisor.commands.git_diff import diff_to_remote
from pycodex.supervisor.commands.workplace import Workplace
from support.workplaces import open_workplace


@pytest.fixture
async def workplace(tmp_path: Path) -> AsyncIterator[Workplace]:
    async with open_workplace(tmp_path) as opened:
        yield opened


def git(workplace: Workplace, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main")
    argv = ("git", "-C", workplace.config.cwd, *identity, *arguments)
    return subprocess.run(argv, check=True, env=dict(workplace.env), capture_output=True, text=True).stdout.strip()


def commit(workplace: Workplace, text: str) -> str:
    (Path(workplace.config.cwd) / "f").write_text(text)
    git(workplace, "add", "f")
    git(workplace, "commit", "-qm", "more")
    return git(workplace, "rev-parse", "HEAD")


@pytest.fixture
def pushed(workplace: Workplace, tmp_path: Path) -> str:
    """The commit that the remote has."""
    git(workplace, "checkout", "-q", "-b", "main")
    sha = commit(workplace, "one\n")
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "remote")], check=True, env=dict(workplace.env))
    git(workplace, "remote", "add", "origin", str(tmp_path / "remote"))
    git(workplace, "push", "-q", "origin", "main")
    return sha


async def test_commits_changes_and_new_files_are_in_it(workplace: Workplace, pushed: str) -> None:
    commit(workplace, "one\ntwo\n")
    here = Path(workplace.config.cwd)
    (here / "f").write_text("one\ntwo\nthree\n")
    (here / "new ö").write_text("x\n")
    found = await diff_to_remote(workplace, workplace.config.cwd)
    assert found is not None
    assert found.sha == pushed
    assert "+two\n+three\n" in found.diff
    assert "+x\n" in found.diff


async def test_a_new_branch_is_compared_with_what_it_came_from(workplace: Workplace, pushed: str) -> None:
    git(workplace, "checkout", "-q", "-b", "feature")
    commit(workplace, "two\n")
    found = await diff_to_remote(workplace, ".")
    assert found is not None
    assert found.sha == pushed


async def test_nothing_new_is_an_empty_difference(workplace: Workplace, pushed: str) -> None:
    found = await diff_to_remote(workplace, workplace.config.cwd)
    assert found is not None
    assert (found.sha, found.diff) == (pushed, "")


async def test_without_a_remote_there_is_nothing_to_say(workplace: Workplace, tmp_path: Path) -> None:
    assert await diff_to_remote(workplace, str(tmp_path)) is None
    commit(workplace, "one\n")
    assert await diff_to_remote(workplace, workplace.config.cwd) is None
    assert await diff_to_remote(workplace, "/nowhere") is None


async def test_programs_of_the_repository_cannot_write(workplace: Workplace, pushed: str, tmp_path: Path) -> None:
    here = Path(workplace.config.cwd)
    git(workplace, "config", "core.fsmonitor", f"touch {tmp_path}/escaped; false")
    git(workplace, "config", "filter.x.clean", f"touch {tmp_path}/escaped; cat")
    (here / ".gitattributes").write_text("f filter=x\n")
    (here / "f").write_text("changed\n")
    await diff_to_remote(workplace, workplace.config.cwd)
    assert not (tmp_path / "escaped").exists()
