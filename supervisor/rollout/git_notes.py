"""What clients have said about the repository of a thread, in place of what its session file says.

Owns `session_git.jsonl` in the home directory: one line for each time, the last one counts. A session file is only ever
added to, and tells its repository in its first line.
"""

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.rollout.lines import backwards

INDEX_NAME = "session_git.jsonl"
MAX_INDEX_LINE_BYTES = 1 << 20
FIELDS = ("commit_hash", "branch", "repository_url")

Git = dict[str, str | None]


def note_git(codex_home: str, thread_id: str, git: Mapping[str, str | None]) -> None:
    """Write down what is known now, all of it. Raises UserFacing."""
    entry = {"id": thread_id, "git": {name: git.get(name) for name in FIELDS}}
    line = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
    path = os.path.join(codex_home, INDEX_NAME)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise UserFacing(f"cannot write {path}: {error.strerror}") from error


def noted_git(codex_home: str, thread_ids: Iterable[str]) -> dict[str, Git]:
    """Of those threads about which anything was said."""
    wanted = set(thread_ids)
    found: dict[str, Git] = {}
    try:
        file = open(os.path.join(codex_home, INDEX_NAME), "rb")  # noqa: SIM115
    except OSError:
        return found
    with file:
        for line in backwards(file, end=file.seek(0, os.SEEK_END), max_line_bytes=MAX_INDEX_LINE_BYTES):
            entry = _entry(line)
            if entry is not None and entry[0] in wanted:
                found.setdefault(*entry)
                if len(found) == len(wanted):
                    break
    return found


def _entry(line: bytes) -> tuple[str, Git] | None:
    try:
        entry: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if type(entry) is not dict or type(entry.get("id")) is not str or type(entry.get("git")) is not dict:
        return None
    values = {name: entry["git"].get(name) for name in FIELDS}
    return entry["id"], {name: value if type(value) is str else None for name, value in values.items()}
