"""Everything about files that a confined command must not change, as values that can be compared.

Owns what counts as a change: names, kind, mode, owner, size, times, links, attributes, content. Access times are left
out, since reading is allowed.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

CONTENT_LIMIT = 1 << 20

Fingerprint = dict[str, tuple[object, ...]]


def fingerprint(*roots: Path, skip: Iterable[Path] = ()) -> Fingerprint:
    """One entry for each root and everything below it; `skip` names trees (and their roots) to leave out."""
    skipped = {str(path) for path in skip}
    return {path: _entry(path) for root in roots for path in _walk(str(root), skipped)}


def _walk(path: str, skipped: set[str]) -> Iterator[str]:
    if path in skipped:
        return
    yield path
    if os.path.isdir(path) and not os.path.islink(path):
        for name in sorted(os.listdir(path)):
            yield from _walk(os.path.join(path, name), skipped)


def _entry(path: str) -> tuple[object, ...]:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return ("missing",)
    metadata = (
        oct(status.st_mode),
        status.st_ino,
        status.st_nlink,
        status.st_uid,
        status.st_gid,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )
    return (*metadata, _content(path, status.st_mode), _attributes(path))


def _content(path: str, mode: int) -> str:
    if stat.S_ISLNK(mode):
        return os.readlink(path)
    if not stat.S_ISREG(mode):
        return ""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read(CONTENT_LIMIT)).hexdigest()


def _attributes(path: str) -> tuple[str, ...]:
    try:
        return tuple(sorted(os.listxattr(path, follow_symlinks=False)))
    except OSError:
        return ()
