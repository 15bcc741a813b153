"""`-o FILE`: the agent's last message in a file of its own.

Owns when that file is empty and what is said if it cannot be written; neither changes how the run ends. An interrupted
run writes none: that is for the caller to know. Where the file lies is settled before the agent does anything: we write
it with our own rights, and a command could put a link to somewhere else in its place.
"""

import json
import os
from collections.abc import Callable
from stat import S_ISDIR, S_ISREG

# Only to find it again, which needs no right to read; where there is no such thing, reading is the next best.
_HOLD = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class LastMessageFile:
    """Made before the first command runs, written after the last."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._special = _special(path)
        self._folder, self._names = (-1, [""]) if self._special else _held(os.path.realpath(path))

    def write(self, message: str | None, *, tell: Callable[[str], None]) -> None:
        """Exactly the message, nothing added. `tell` takes a line for stderr. Once."""
        try:
            with open(self._opened(), "wb") as file:
                file.write((message or "").encode("utf-8", "replace"))
        except OSError as error:
            shown = json.dumps(self._path, ensure_ascii=False)
            tell(f"Failed to write last message file {shown}: {error.strerror} (os error {error.errno})")
            return
        if message is None:
            tell(f"Warning: no last agent message; wrote empty content to {self._path}")

    def _opened(self) -> int:
        if self._special:
            return os.open(self._special, os.O_WRONLY | os.O_CLOEXEC)
        folder = self._folder
        for name in self._names[:-1]:
            folder = os.open(name, _HOLD | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
        return os.open(self._names[-1], _CREATE, 0o666, dir_fd=folder)


def _special(path: str) -> str:
    """A pipe or a device is held, and written to by this name. Empty for what is none, or not there yet."""
    try:
        mode = os.stat(path).st_mode
        if S_ISREG(mode) or S_ISDIR(mode):
            return ""
        return f"/dev/fd/{os.open(path, _HOLD)}" if hasattr(os, "O_PATH") else path
    except (OSError, ValueError):
        return ""


def _held(path: str) -> tuple[int, list[str]]:
    """The innermost directory of a path that exists, held open, and the names from there."""
    names: list[str] = []
    while True:
        path, name = os.path.split(path)
        names.insert(0, name)
        try:
            return os.open(path, _HOLD | os.O_DIRECTORY), names
        except OSError:
            if path == "/":
                raise
