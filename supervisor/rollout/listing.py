"""Finding sessions: by id, by name, the last one, or a page of all.

Owns the order, the filters and the cursors. Works on the files alone, with a bound on how many are looked at; there is
no index that could be wrong.
"""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.ids import is_uuid
from pycodex.protocol.rollout import TURN_CONTEXT, SessionMeta
from pycodex.supervisor.rollout.files import (
    RolloutFile,
    archived_path_of,
    in_order,
    newest_first,
    path_of,
)
from pycodex.supervisor.rollout.head import read_head
from pycodex.supervisor.rollout.names import ids_of, names_of
from pycodex.supervisor.rollout.reader import RolloutUnreadable, read_lines_backwards

MAX_FILES_READ = 10_000
CREATED_AT = "created_at"
UPDATED_AT = "updated_at"
# Of the year 9999: file systems may tell any time.
LAST_SECOND = 253_402_300_799.0
_STAMP = "%Y-%m-%dT%H-%M-%S"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSummary:
    """Times are in seconds; that of its creation is read from the file's name as if it were UTC."""

    thread_id: str
    path: str
    meta: SessionMeta
    preview: str
    created_at: int
    updated_at: int
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """None lets everything pass. A session that names no provider is one of `default_provider`."""

    default_provider: str
    providers: frozenset[str] | None = None
    accepts_source: Callable[[str | dict[str, Any]], bool] | None = None
    cwds: frozenset[str] | None = None
    search: str | None = None
    archived: bool = False

    def accept(self, meta: SessionMeta, preview: str) -> bool:
        if self.providers is not None and (meta.model_provider or self.default_provider) not in self.providers:
            return False
        if self.accepts_source is not None and not self.accepts_source(meta.source):
            return False
        if self.cwds is not None and meta.cwd not in self.cwds:
            return False
        return self.search is None or self.search.casefold() in preview.casefold()


@dataclass(frozen=True, slots=True)
class Page:
    threads: list[ThreadSummary]
    next_cursor: str | None
    backwards_cursor: str | None = None
    """Where a list in the other direction goes on in front of this page."""


@dataclass(frozen=True, slots=True, order=True)
class _Place:
    """Where a thread stands in a list; the time is written as in the names of files."""

    stamp: str
    thread_id: str

    def cursor(self) -> str:
        date, _, clock = self.stamp.partition("T")
        return f"{date}T{clock.replace('-', ':')}Z|{self.thread_id}"


def is_interactive(source: str | dict[str, Any]) -> bool:
    """Whether a person started the thread in a front-end of their own."""
    return source in ("cli", "vscode") or (isinstance(source, dict) and "custom" in source)


def find_by_id(codex_home: str, thread_id: str, *, archived: bool = False) -> str | None:
    return archived_path_of(codex_home, thread_id) if archived else path_of(codex_home, thread_id)


def find_by_name(codex_home: str, name: str) -> str | None:
    """The newest thread of that name that still has a file."""
    paths = (path_of(codex_home, thread_id) for thread_id in ids_of(codex_home, name))
    return next((path for path in paths if path is not None), None)


def find(codex_home: str, id_or_name: str) -> str | None:
    return find_by_id(codex_home, id_or_name) if is_uuid(id_or_name) else find_by_name(codex_home, id_or_name)


def newest(codex_home: str, *, provider: str, cwd: str | None) -> str | None:
    """The session of that provider that was last written to; with `cwd`, of those that worked there."""
    filters = Filters(default_provider=provider, providers=frozenset((provider,)))
    dated = sorted(((_updated_at(file), file) for file in newest_first(codex_home)), reverse=True)
    for updated_at, file in dated[:MAX_FILES_READ]:
        thread = _summary(file, updated_at, filters)
        if thread is not None and (cwd is None or _worked_in(thread, os.path.realpath(cwd))):
            return thread.path
    return None


def list_threads(
    codex_home: str,
    filters: Filters,
    *,
    cursor: str | None = None,
    limit: int = 25,
    sort: str = CREATED_AT,
    oldest_first: bool = False,
) -> Page:
    """A page of threads, the newest first unless told otherwise. Raises UserFacing if the cursor is none."""
    start = None if cursor is None else _place_of(cursor)
    threads: list[ThreadSummary] = []
    places: list[_Place] = []
    placed = _placed(codex_home, sort, archived=filters.archived, oldest_first=oldest_first)
    later = (each for each in placed if start is None or _is_behind(each[0], start, oldest_first=oldest_first))
    next_cursor: str | None = None
    for number, (place, updated_at, file) in enumerate(later):
        thread = _summary(file, updated_at, filters)
        if thread is not None and len(threads) < limit:
            threads.append(thread)
            places.append(place)
        elif thread is not None or number >= MAX_FILES_READ:
            # There is more; if nothing was found so far, the next page begins behind what was looked at.
            next_cursor = (places[-1] if places else place).cursor()
            break
    return Page(_named(codex_home, threads), next_cursor, places[0].cursor() if places else None)


def _is_behind(place: _Place, start: _Place, *, oldest_first: bool) -> bool:
    return place > start if oldest_first else place < start


def _placed(
    codex_home: str, sort: str, *, archived: bool, oldest_first: bool
) -> "Iterator[tuple[_Place, float, RolloutFile]]":
    files = in_order(codex_home, archived=archived, oldest_first=oldest_first)
    if sort == CREATED_AT:
        return ((_Place(file.stamp, file.thread_id), _updated_at(file), file) for file in files)
    dated = ((_updated_at(file), file) for file in files)
    stamped = (
        (_Place(time.strftime(_STAMP, time.gmtime(updated_at)), file.thread_id), updated_at, file)
        for updated_at, file in dated
    )
    return iter(sorted(stamped, reverse=not oldest_first))


def _place_of(cursor: str) -> _Place:
    from datetime import UTC, datetime

    stamp, _, thread_id = cursor.partition("|")
    try:
        if len(stamp) == len("2026-01-31T00-00-00") and stamp.count("-") == 4:
            moment = datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)
        else:
            moment = datetime.fromisoformat(stamp)
        if not is_uuid(thread_id) or moment.tzinfo is None:
            raise ValueError
        return _Place(moment.astimezone(UTC).strftime(_STAMP), thread_id)
    except (ValueError, OverflowError):
        raise UserFacing(f"invalid cursor: {cursor}") from None


def _summary(file: RolloutFile, updated_at: float, filters: Filters) -> ThreadSummary | None:
    """None if it is not to be listed."""
    import calendar

    head = read_head(file.path)
    if head is None or not filters.accept(head.meta, head.preview):
        return None
    year, month, day, hour, minute, second = map(int, file.stamp.replace("T", "-").split("-"))
    return ThreadSummary(
        thread_id=head.meta.id,
        path=file.path,
        meta=head.meta,
        preview=head.preview,
        created_at=calendar.timegm((year, month, day, hour, minute, second)),
        updated_at=int(updated_at),
    )


def _named(codex_home: str, threads: list[ThreadSummary]) -> list[ThreadSummary]:
    names = names_of(codex_home, {thread.thread_id for thread in threads})
    return [replace(thread, name=names.get(thread.thread_id)) for thread in threads]


def _updated_at(file: RolloutFile) -> float:
    try:
        return min(max(0.0, os.stat(file.path).st_mtime), LAST_SECOND)
    except OSError:
        return 0.0


def _worked_in(thread: ThreadSummary, cwd: str) -> bool:
    """Whether it began there, or was there in its last turn."""
    if os.path.realpath(thread.meta.cwd) == cwd:
        return True
    try:
        lines = read_lines_backwards(thread.path)
        last = next((line.payload.get("cwd") for line in lines if line.kind == TURN_CONTEXT), None)
    except RolloutUnreadable:
        return False
    return type(last) is str and os.path.realpath(last) == cwd
