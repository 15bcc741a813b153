"""The names that people gave to their threads.

Owns `session_index.jsonl` in the home directory: one line for each time a thread was named, the last one counts. Takes
and gives names and ids; whether a thread still has a file is for others to see.
"""

import json
import os
import time

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.rollout.lines import backwards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

INDEX_NAME = "session_index.jsonl"
# A line holds two ids' worth of text and a name.
MAX_INDEX_LINE_BYTES = 1 << 20


def set_name(codex_home: str, thread_id: str, name: str) -> str:
    """Write the name down; gives it as it was written. Raises UserFacing."""
    name = name.strip()
    if not name:
        raise UserFacing("thread name must not be empty")
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    updated_at = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{nanoseconds:09d}Z"
    entry = {"id": thread_id, "thread_name": name, "updated_at": updated_at}
    line = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
    path = os.path.join(codex_home, INDEX_NAME)
    try:
        with open(path, "ab+", buffering=0) as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                line = line if file.read(1) == b"\n" else b"\n" + line
            file.write(line)
    except OSError as error:
        raise UserFacing(f"cannot write {path}: {error.strerror}") from error
    return name


def names_of(codex_home: str, thread_ids: "set[str]") -> dict[str, str]:
    """The names that these threads have now, as far as they have any."""
    found: dict[str, str] = {}
    for thread_id, name in _newest_first(codex_home):
        if thread_id in thread_ids:
            found.setdefault(thread_id, name)
            if len(found) == len(thread_ids):
                break
    return found


def ids_of(codex_home: str, name: str) -> list[str]:
    """The threads of that name: those that still have it before those that had it once, the newest first."""
    current: dict[str, str] = {}
    holders: list[str] = []
    for thread_id, given in _newest_first(codex_home):
        current.setdefault(thread_id, given)
        if given == name and thread_id not in holders:
            holders.append(thread_id)
    return sorted(holders, key=lambda thread_id: current[thread_id] != name)


def _newest_first(codex_home: str) -> "Iterator[tuple[str, str]]":
    """Ids and names; none if the index is missing or cannot be read, for it is only an index."""
    try:
        file = open(os.path.join(codex_home, INDEX_NAME), "rb")  # noqa: SIM115
    except OSError:
        return
    with file:
        for line in backwards(file, end=file.seek(0, os.SEEK_END), max_line_bytes=MAX_INDEX_LINE_BYTES):
            entry = _entry(line)
            if entry is not None:
                yield entry


def _entry(line: bytes) -> tuple[str, str] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if type(entry) is not dict:
        return None
    thread_id, name = entry.get("id"), entry.get("thread_name")
    return (thread_id, name) if type(thread_id) is str and type(name) is str else None
