"""Writing down what a person has allowed for good.

Owns the file and the form of a line in it. The file belongs to the person, and other programs write it, too: it is
locked while it is looked at, and what is in it stays as it is. A line is there as a whole or not at all.
"""

import fcntl
import json
import os
import time
from collections.abc import Sequence

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.policy.rule_files import MOST_FILE_BYTES

FILE = "default.rules"
_TRIES, _PAUSE_S = 40, 0.05
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class NotWritten(UserFacing):
    """There is no new rule; the text says why."""


def add_allowed_prefix(words: Sequence[str], *, codex_home: str) -> None:
    """Unless it is there already. Raises NotWritten."""
    if not words:
        raise NotWritten("prefix rule requires at least one token")
    try:
        line = line_of(words).encode()
    except UnicodeEncodeError:
        raise NotWritten("prefix rule is not valid Unicode") from None
    folder = os.path.join(codex_home, "rules")
    try:
        os.makedirs(folder, exist_ok=True)
        with open(os.open(os.path.join(folder, FILE), _FLAGS, 0o666), "r+b", buffering=0) as file:
            _lock(file.fileno())
            _append_missing(file.fileno(), line)
    except OSError as error:
        raise NotWritten(f"{os.path.join(folder, FILE)}: {error.strerror}") from None


def line_of(words: Sequence[str]) -> str:
    pattern = json.dumps(list(words), ensure_ascii=False)
    return f'prefix_rule(pattern={pattern}, decision="allow")\n'


def _lock(descriptor: int) -> None:
    """Until the file is closed. Whoever can read it can hold its lock for ever, so nobody is waited for long."""
    for _ in range(_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE_S)
        else:
            return
    raise NotWritten(f"{FILE} is locked by another program")


def _append_missing(descriptor: int, line: bytes) -> None:
    size = os.fstat(descriptor).st_size
    written = os.pread(descriptor, min(size, MOST_FILE_BYTES), 0)
    if line.rstrip(b"\n") in written.split(b"\n"):
        return
    added = line if not written or written.endswith(b"\n") else b"\n" + line
    if size + len(added) > MOST_FILE_BYTES:
        raise NotWritten(f"{FILE} would become larger than {MOST_FILE_BYTES} bytes")
    if os.write(descriptor, added) != len(added):
        # No room for all of it: half a line would spoil every other rule.
        os.ftruncate(descriptor, size)
        raise NotWritten(f"{FILE}: no space left")
