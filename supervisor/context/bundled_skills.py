"""Unpacks the skills that come with us to where people and other programs look for them.

Owns what we put into CODEX_HOME/skills/.system, and nothing else in it: Codex keeps its own skills and marker there. It
deletes the whole folder when its version changes; then ours is unpacked again at the next start. We know our folders by
name and whether they are up to date by a marker file of our own. A home that cannot be written costs nothing but the
copy: the skills are then used from where we are installed.
"""

import os
import zlib
from collections.abc import Iterator

from pycodex.supervisor.context.skills import FILE_NAME, MAX_SKILL_BYTES, SYSTEM_DIR
from pycodex.supervisor.prompts.load import BUNDLED_SKILLS_DIR
from pycodex.supervisor.workspace.regular_file import read_whole

MARKER = ".pycodex-system-skills.marker"


def unpacked(codex_home: str) -> str:
    """The directory to look for system skills in, after making sure that ours are there."""
    target = os.path.join(codex_home, "skills", SYSTEM_DIR)
    fingerprint = _fingerprint()
    if _is_current(target, fingerprint):
        return target
    try:
        for name, data in _bundled():
            os.makedirs(os.path.join(target, name), exist_ok=True)
            _replace(os.path.join(target, name, FILE_NAME), data)
        _replace(os.path.join(target, MARKER), fingerprint)
    except OSError:
        return BUNDLED_SKILLS_DIR
    return target


def removed(codex_home: str) -> None:
    """Take ours away again (`[skills.bundled] enabled = false`). Stays quiet where there is nothing, or no right to."""
    target = os.path.join(codex_home, "skills", SYSTEM_DIR)
    if not os.path.lexists(os.path.join(target, MARKER)):
        return
    for remove, path in (
        *((os.unlink, os.path.join(target, name, FILE_NAME)) for name in _names()),
        *((os.rmdir, os.path.join(target, name)) for name in _names()),
        (os.unlink, os.path.join(target, MARKER)),
    ):
        try:
            remove(path)
        except OSError:
            continue


def _names() -> list[str]:
    return sorted(name for name in os.listdir(BUNDLED_SKILLS_DIR) if not name.startswith("."))


def _bundled() -> Iterator[tuple[str, bytes]]:
    for name in _names():
        yield name, read_whole(os.path.join(BUNDLED_SKILLS_DIR, name, FILE_NAME), MAX_SKILL_BYTES)


def _fingerprint() -> bytes:
    """Changes whenever a name or a text does; nobody needs to be deceived by it."""
    total = 0
    for name, data in _bundled():
        total = zlib.crc32(data, zlib.crc32(name.encode(), total))
    return f"{total:08x}\n".encode()


def _is_current(target: str, fingerprint: bytes) -> bool:
    try:
        marker = read_whole(os.path.join(target, MARKER), len(fingerprint))
    except OSError:
        return False
    return marker == fingerprint and all(os.path.isfile(os.path.join(target, name, FILE_NAME)) for name in _names())


def _replace(path: str, data: bytes) -> None:
    """Whole or not at all, also when several of us start at once."""
    temporary = f"{path}.{os.getpid()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)
    os.replace(temporary, path)
