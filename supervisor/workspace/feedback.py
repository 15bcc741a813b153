"""What people say about the agent, kept as files of their own below CODEX_HOME.

Owns the place, the form and the limits. Logs are named, not copied: they may hold what nobody wants to pass on unread.
"""

import json
import os
import secrets
import time
from dataclasses import asdict, dataclass

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.rollout import timestamp_of

FOLDER = "feedback"
MOST_FILES = 1000
MOST_BYTES = 64 << 10


class NotKept(UserFacing):
    """The text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    thread_id: str
    classification: str
    reason: str | None
    log_files: tuple[str, ...] = ()


def keep(feedback: Feedback, codex_home: str) -> str:
    """Gives the path of the file. Raises NotKept."""
    folder = os.path.join(codex_home, FOLDER)
    now = time.time()
    data = json.dumps({"at": timestamp_of(now), **asdict(feedback)}, indent=2).encode() + b"\n"
    if len(data) > MOST_BYTES:
        raise NotKept(f"it is longer than {MOST_BYTES} bytes")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if len(os.listdir(folder)) >= MOST_FILES:
            raise NotKept(f"{folder} holds {MOST_FILES} files already; remove some")
        path = os.path.join(folder, f"{int(now)}-{secrets.token_hex(4)}.json")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(data)
    except OSError as error:
        raise NotKept(f"{folder}: {error.strerror}") from None
    return path
