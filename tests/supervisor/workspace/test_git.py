"""Facts about repositories made by git itself."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from pycodex.protocol.confinement import PLACEHOLDER_MODE
from pycodex.protocol.permissions import Permissions
from pycodex.supervisor.workspace.git import (
    GitFacts,
    git_facts,
    is_inside_repo,
    sandbox_tag,
    turn_metadata,
)

ENV = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "t@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(cwd: Path, *arguments: str) -> str:
    argv = ["git", "-c", "init.defaultBranch=main", *arguments]
    return subprocess.run(argv, cwd=cwd, env=ENV, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    path = tmp_path / "repo"
    (path / "sub").mkdir(parents=True)
    (path / "sub" / "x").write_text("x")
    git(path, "init", "-q")
    git(path, "add", "-A")
    git(path, "commit", "-qm", "m")
    return path


def known(cwd: Path) -> GitFacts:
    facts = git_facts(str(cwd))
    assert facts is not None
    return facts


@pytest.mark.parametrize("below", ["", "sub", "not/there"])
def test_commit_and_branch(repo: Path, below: str) -> None:
    facts = known(repo / below)
    assert facts.root == str(repo)
    assert facts.to_meta() == {"commit_hash": git(repo, "rev-parse", "HEAD"), "branch": "main"}


def test_nothing_committed_yet(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert known(tmp_path).to_meta() == {}


def test_detached(repo: Path) -> None:
    git(repo, "checkout", "-q", "--detach")
    assert known(repo).to_meta() == {"commit_hash": git(repo, "rev-parse", "HEAD")}


def test_packed_references(repo: Path) -> None:
    for number in range(5):
        git(repo, "branch", f"feat/x{number}")
    git(repo, "checkout", "-q", "feat/x3")
    git(repo, "commit", "-q", "--allow-empty", "-m", "n")
    git(repo, "pack-refs", "--all")
    assert not (repo / ".git/refs/heads/feat/x3").exists()
    assert known(repo).to_meta() == {"commit_hash": git(repo, "rev-parse", "HEAD"), "branch": "feat/x3"}


def test_linked_work_tree(repo: Path) -> None:
    git(repo, "remote", "add", "origin", "https://h/x")
    git(repo, "worktree", "add", "-q", "../tree", "-b", "other")
    facts = known(repo.parent / "tree")
    assert facts.root == str(repo.parent / "tree")
    assert facts.to_meta() == {
        "commit_hash": git(repo, "rev-parse", "HEAD"),
        "branch": "other",
        "repository_url": "https://h/x",
    }


def test_remotes(repo: Path) -> None:
    git(repo, "remote", "add", "origin", "git@h:o/r.git")
    git(repo, "remote", "add", "up", "https://user:secret@h/x")
    facts = known(repo)
    assert facts.repository_url == "git@h:o/r.git"
    assert facts.remote_urls == {"origin": "git@h:o/r.git", "up": "https://h/x"}


def test_outside_of_a_repository(tmp_path: Path) -> None:
    assert git_facts(str(tmp_path)) is None
    assert not is_inside_repo(str(tmp_path))


def test_a_git_directory_that_is_none_is_passed_over(repo: Path) -> None:
    (repo / "sub" / ".git").mkdir()
    assert known(repo / "sub").root == str(repo)
    assert is_inside_repo(str(repo / "sub"))


@pytest.mark.parametrize("content", ["", "x", "gitdir: /nowhere", "gitdir: ../../../etc", "\0"])
def test_a_pointer_to_nothing_is_no_repository(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content)
    assert git_facts(str(tmp_path)) is None
    assert is_inside_repo(str(tmp_path))


def test_a_placeholder_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git").chmod(PLACEHOLDER_MODE)
    assert not is_inside_repo(str(tmp_path))
    assert git_facts(str(tmp_path)) is None


@pytest.mark.parametrize(
    "head",
    [
        *(
            "",
            "nonsense",
            "ref: ../../secret",
            "ref: refs/../../../secret",
            "ref: refs/heads/loop",
            "ref: refs/heads/no",
        ),
        "f" * 39,
        "ref: " + "x" * 10_000,
    ],
)
def test_a_hostile_head_gives_no_commit(repo: Path, head: str) -> None:
    (repo.parent / "secret").write_text("a" * 40)
    (repo / ".git/refs/heads/loop").write_text("ref: refs/heads/loop\n")
    (repo / ".git/HEAD").write_text(head)
    facts = git_facts(str(repo))
    assert facts is None or facts.to_meta() == {}


def test_pipes_among_gits_files_do_not_block(repo: Path) -> None:
    for name in ("HEAD", "config", "commondir", "packed-refs"):
        (repo / ".git" / name).unlink(missing_ok=True)
        os.mkfifo(repo / ".git" / name)
    assert git_facts(str(repo)) is None


FACTS = GitFacts(root="/wörk", commit_hash="c" * 40, branch="main", remote_urls={"origin": "u"})


def test_metadata_of_a_turn() -> None:
    text = turn_metadata("t", FACTS, "seccomp")
    assert text.isascii()
    assert list(json.loads(text).items()) == [
        ("turn_id", "t"),
        (
            "workspaces",
            {
                "/wörk": {
                    "associated_remote_urls": {"origin": "u"},
                    "latest_git_commit_hash": "c" * 40,
                }
            },
        ),
        ("sandbox", "seccomp"),
    ]
    assert ": " not in text


def test_metadata_does_not_grow_with_what_a_repository_lists() -> None:
    facts = GitFacts(root="/w", commit_hash="c" * 40, remote_urls={f"r{n}": "https://host/path" for n in range(1000)})
    assert json.loads(turn_metadata("t", facts, "none"))["workspaces"] == {"/w": {"latest_git_commit_hash": "c" * 40}}


@pytest.mark.parametrize("facts", [None, GitFacts(root="/w", remote_urls={})])
def test_metadata_without_facts(facts: GitFacts | None) -> None:
    assert turn_metadata("t", facts, "none") == '{"turn_id":"t","sandbox":"none"}'


@pytest.mark.parametrize(
    ("mode", "tags"),
    [
        ("danger-full-access", {"none"}),
        ("external-sandbox", {"external"}),
        ("read-only", {"seccomp", "seatbelt", "none"}),
    ],
)
def test_sandbox_tag(mode: str, tags: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()
    for platform in ("linux", "darwin", "win32"):
        monkeypatch.setattr("sys.platform", platform)
        seen.add(sandbox_tag(Permissions(mode=mode)))
    assert seen == tags
