"""Where session files lie, and what their names tell.

Owns the two folders and the form of a file's name. Takes the home directory, gives paths in the order of time; opens
no file.
"""

import os
import re
import time
from typing import NamedTuple

from pycodex.protocol.ids import is_uuid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SESSIONS = "sessions"
ARCHIVED = "archived_sessions"
DAY_SECONDS = 86_400

_NAME = re.compile(r"rollout-(([1-9]\d{3})-(0[1-9]|1[0-2])-(\d\d)T\d\d-\d\d-\d\d)-([0-9a-fA-F-]{36})\.jsonl", re.ASCII)


class RolloutFile(NamedTuple):
    """A file by its name. `stamp` is the time in the name, of which nobody knows the zone."""

    stamp: str
    thread_id: str
    path: str


def rollout_file(path: str) -> RolloutFile | None:
    """None if it is not the name of a session file."""
    named = _NAME.fullmatch(os.path.basename(path))
    return RolloutFile(named[1], named[5], path) if named else None


def dated_folder(codex_home: str, path: str) -> str | None:
    """Where the file of that name belongs."""
    named = _NAME.fullmatch(os.path.basename(path))
    return os.path.join(codex_home, SESSIONS, named[2], named[3], named[4]) if named else None


def newest_first(codex_home: str) -> "Iterator[RolloutFile]":
    """The sessions in their dated folders, by their names."""
    return in_order(codex_home)


def in_order(codex_home: str, *, archived: bool = False, oldest_first: bool = False) -> "Iterator[RolloutFile]":
    """Those that are put aside, or the others, by their names. No folder is looked into before its turn has come."""
    if archived:
        yield from _files_of(os.path.join(codex_home, ARCHIVED), oldest_first=oldest_first)
        return
    for year in _numbered(os.path.join(codex_home, SESSIONS), lowest_first=oldest_first):
        for month in _numbered(year, lowest_first=oldest_first):
            for day in _numbered(month, lowest_first=oldest_first):
                yield from _files_of(day, oldest_first=oldest_first)


def path_of(codex_home: str, thread_id: str) -> str | None:
    """The session with that id, wherever below the folder of sessions it lies."""
    if not is_uuid(thread_id):
        return None
    sessions = os.path.join(codex_home, SESSIONS)
    likely = (_path_in(folder, thread_id) for folder in _likely_folders(sessions, thread_id))
    anywhere = (_path_in(folder, thread_id) for folder, _, _ in os.walk(sessions))
    return next((path for paths in (likely, anywhere) for path in paths if path is not None), None)


def archived_path_of(codex_home: str, thread_id: str) -> str | None:
    return _path_in(os.path.join(codex_home, ARCHIVED), thread_id) if is_uuid(thread_id) else None


def _path_in(folder: str, thread_id: str) -> str | None:
    ending = f"{thread_id}.jsonl".lower()
    found = [name for name in _names(folder) if name.lower().endswith(ending)]
    return os.path.join(folder, max(found)) if found else None


def _likely_folders(sessions: str, thread_id: str) -> "Iterator[str]":
    """An id begins with its time, to the millisecond; the folders are named by somebody's local date."""
    created_at = int(thread_id.replace("-", "")[:12], 16) / 1000
    for seconds in (created_at, created_at - DAY_SECONDS, created_at + DAY_SECONDS):
        try:
            yield os.path.join(sessions, time.strftime("%Y/%m/%d", time.localtime(seconds)))
        except (OverflowError, ValueError, OSError):
            return


def _numbered(folder: str, *, lowest_first: bool) -> list[str]:
    """The folders in it that are named by a number."""
    names = [name for name in _names(folder) if name.isascii() and name.isdigit()]
    return [os.path.join(folder, name) for name in sorted(names, key=int, reverse=not lowest_first)]


def _files_of(folder: str, *, oldest_first: bool) -> list[RolloutFile]:
    files = (rollout_file(os.path.join(folder, name)) for name in _names(folder))
    return sorted((file for file in files if file is not None), reverse=not oldest_first)


def _names(folder: str) -> list[str]:
    """None if it cannot be looked into: whoever searches goes on elsewhere."""
    try:
        return os.listdir(folder)
    except OSError:
        return []
