"""Facts about the repository around a directory: commit, branch, remotes.

Owns how they are found and the forms in which session files and requests carry them. Reads git's files itself: starting
git three times would cost more than the rest of a session's start, and a repository's configuration can make git run
programs, while the workspace is not trusted. Whether anything is uncommitted only git can tell, so nobody is told.
"""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pycodex.protocol.permissions import DANGER_FULL_ACCESS, EXTERNAL_SANDBOX, Permissions
from pycodex.supervisor.workspace.git_remotes import remotes_in
from pycodex.supervisor.workspace.regular_file import read_whole
from pycodex.supervisor.workspace.roots import DEFAULT_MARKERS, project_root

_MOST_POINTER_BYTES = 4096
_MOST_CONFIG_BYTES = 1 << 20
_MOST_PACKED_BYTES = 32 << 20
_MOST_LINKS = 5
_MOST_HEADER_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class GitFacts:
    root: str
    """The top of the work tree."""
    commit_hash: str | None = None
    branch: str | None = None
    """None while HEAD is detached or nothing is committed."""
    remote_urls: Mapping[str, str]

    @property
    def repository_url(self) -> str | None:
        return self.remote_urls.get("origin")

    def to_meta(self) -> dict[str, str]:
        """The value of `session_meta.git`."""
        fields = {"commit_hash": self.commit_hash, "branch": self.branch, "repository_url": self.repository_url}
        return {name: value for name, value in fields.items() if value is not None}


def is_inside_repo(cwd: str) -> bool:
    """Whether any directory from here upwards holds something named `.git`."""
    return project_root(os.path.abspath(cwd)) is not None


def git_facts(cwd: str) -> GitFacts | None:
    """What git's own files say; None outside of a repository."""
    directory = os.path.abspath(cwd)
    while True:
        root = project_root(directory, DEFAULT_MARKERS)
        if root is None:
            return None
        git_dir = _git_dir(root)
        if git_dir is not None:
            return _facts(root, git_dir)
        # A `.git` that is none: git goes on looking above it.
        directory = os.path.dirname(root)
        if directory == root:
            return None


def turn_metadata(turn_id: str, facts: GitFacts | None, sandbox: str) -> str:
    """The value of the header that tells the provider about the turn. Servers refuse long ones, so remotes may go."""
    header = _encoded(turn_id, _known(facts), sandbox)
    if facts is not None and len(header) > _MOST_HEADER_BYTES:
        header = _encoded(turn_id, _known(replace(facts, remote_urls={})), sandbox)
    return header


def _known(facts: GitFacts | None) -> dict[str, Any]:
    if facts is None:
        return {}
    fields = {
        "associated_remote_urls": dict(facts.remote_urls) or None,
        "latest_git_commit_hash": facts.commit_hash,
    }
    known = {name: value for name, value in fields.items() if value is not None}
    return {"workspaces": {facts.root: known}} if known else {}


def _encoded(turn_id: str, known: dict[str, Any], sandbox: str) -> str:
    # Escaped, because a header holds no other characters, and a path may.
    return json.dumps({"turn_id": turn_id, **known, "sandbox": sandbox}, separators=(",", ":"))


def sandbox_tag(permissions: Permissions) -> str:
    """How the header names the sandbox of a turn."""
    if permissions.mode == DANGER_FULL_ACCESS:
        return "none"
    if permissions.mode == EXTERNAL_SANDBOX:
        return "external"
    return {"linux": "seccomp", "darwin": "seatbelt"}.get(sys.platform, "none")


def _facts(root: str, git_dir: str) -> GitFacts:
    common = _common_dir(git_dir)
    head = _line(os.path.join(git_dir, "HEAD"))
    commit = _resolve(head, git_dir, common)
    branch = head.removeprefix("ref: refs/heads/") if commit and head.startswith("ref: refs/heads/") else None
    return GitFacts(root=root, commit_hash=commit, branch=branch, remote_urls=_remotes(common))


def _git_dir(root: str) -> str | None:
    """The directory that `.git` is or points to, if git would accept it."""
    path = os.path.join(root, ".git")
    if not os.path.isdir(path):
        pointer = _line(path)
        if not pointer.startswith("gitdir: "):
            return None
        path = os.path.join(root, pointer.removeprefix("gitdir: "))
    common = _common_dir(path)
    is_whole = _line(os.path.join(path, "HEAD")) and all(
        os.path.isdir(os.path.join(common, name)) for name in ("objects", "refs")
    )
    return path if is_whole else None


def _common_dir(git_dir: str) -> str:
    """Where a linked work tree keeps what it shares."""
    pointer = _line(os.path.join(git_dir, "commondir"))
    return os.path.join(git_dir, pointer) if pointer else git_dir


def _remotes(common: str) -> dict[str, str]:
    try:
        data = read_whole(os.path.join(common, "config"), _MOST_CONFIG_BYTES)
    except (OSError, ValueError):
        return {}
    return remotes_in(data.decode(errors="replace"))


def _resolve(value: str, git_dir: str, common: str) -> str | None:
    """Follow a reference to the commit."""
    for _ in range(_MOST_LINKS):
        if not value.startswith("ref: "):
            return value if _is_hash(value) else None
        name = value.removeprefix("ref: ")
        if not name.startswith("refs/") or ".." in name:
            return None
        value = _line(os.path.join(git_dir, name)) or _line(os.path.join(common, name)) or _packed(common, name)
    return None


def _packed(common: str, name: str) -> str:
    try:
        data = read_whole(os.path.join(common, "packed-refs"), _MOST_PACKED_BYTES)
    except (OSError, ValueError):
        return ""
    end = data.find(b" " + os.fsencode(name) + b"\n")
    return data[data.rfind(b"\n", 0, end) + 1 : end].decode("ascii", errors="replace") if end > 0 else ""


def _is_hash(text: str) -> bool:
    return len(text) in (40, 64) and all(character in "0123456789abcdef" for character in text)


def _line(path: str) -> str:
    """The only line of a small file of git's; empty if there is none that we could use."""
    try:
        return os.fsdecode(read_whole(path, _MOST_POINTER_BYTES)).strip()
    except (OSError, ValueError):
        return ""
