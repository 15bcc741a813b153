"""Whole outputs of commands, kept in files because the model was shown only their ends.

Owns the directory of a session's outputs, their names, how much of each is kept, and how long. Written by us and read
by whoever is told the path: the person, and the model by its tools. A place that cannot be written is done without.
"""

import os
import time
from collections.abc import Callable

FOLDER = ("tmp", "outputs")
MOST_BYTES = 16 << 20
MOST_BYTES_OF_SESSION = 256 << 20
KEPT_SECONDS = 7 * 24 * 3600
_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Spool:
    """The output of one command. Made by `Spools.begun`."""

    def __init__(self, path: str, descriptor: int, room_bytes: int, give_back: Callable[[int], None]) -> None:
        """`give_back` gets the room that was not needed, once."""
        self.path = path
        self.kept_bytes = 0
        self.is_whole = True
        self._descriptor = descriptor
        self._room_bytes = self._reserved_bytes = room_bytes
        self._give_back = give_back

    def add(self, data: bytes) -> None:
        kept = data[: self._room_bytes - self.kept_bytes]
        self.is_whole = self.is_whole and len(kept) == len(data)
        if not self.is_whole and not kept:
            return
        try:
            while kept:
                written = os.write(self._descriptor, kept)
                self.kept_bytes += written
                kept = kept[written:]
        except OSError:
            self.is_whole = False
            self._room_bytes = self.kept_bytes

    def missing(self) -> None:
        """Some of the output never reached us; what comes behind the gap is not kept."""
        self.is_whole = False
        self._room_bytes = self.kept_bytes

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._give_back(self._reserved_bytes - self.kept_bytes)


class Spools:
    """Those of one session."""

    def __init__(self, codex_home: str, thread_id: str) -> None:
        self._home = codex_home
        self._names = (*FOLDER, thread_id)
        self._directory = -1
        self._left_bytes = MOST_BYTES_OF_SESSION

    def begun(self, name: str) -> Spool | None:
        """A new file, known by `name` and something random; None if there is no room, or no place."""
        room = min(MOST_BYTES, self._left_bytes)
        if room <= 0:
            return None
        full_name = f"{name}-{os.urandom(3).hex()}.txt"
        try:
            if self._directory < 0:
                self._directory = self._opened_directory()
            descriptor = os.open(full_name, _NEW_FILE_FLAGS, 0o600, dir_fd=self._directory)
        except OSError:
            return None
        self._left_bytes -= room
        return Spool(os.path.join(self._home, *self._names, full_name), descriptor, room, self._take_back)

    def close(self) -> None:
        if self._directory >= 0:
            os.close(self._directory)
            self._directory = -1

    def _take_back(self, size_bytes: int) -> None:
        self._left_bytes += size_bytes

    def _opened_directory(self) -> int:
        """Step by step and never through a link: a command that can write here must not lead us elsewhere."""
        directory = os.open(self._home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for depth, name in enumerate(self._names):
            try:
                if depth == len(FOLDER):
                    _sweep(directory)
                try:
                    os.mkdir(name, 0o700, dir_fd=directory)
                except FileExistsError:
                    pass
                deeper = os.open(name, _DIRECTORY_FLAGS, dir_fd=directory)
            finally:
                os.close(directory)
            directory = deeper
        return directory


def _sweep(directory: int) -> None:
    """Remove the outputs of sessions that nobody has added to for long."""
    oldest = time.time() - KEPT_SECONDS
    for session in os.listdir(directory):
        try:
            if os.stat(session, dir_fd=directory, follow_symlinks=False).st_mtime > oldest:
                continue
            inside = os.open(session, _DIRECTORY_FLAGS, dir_fd=directory)
        except OSError:
            continue
        try:
            for name in os.listdir(inside):
                os.unlink(name, dir_fd=inside)
            os.rmdir(session, dir_fd=directory)
        except OSError:
            continue
        finally:
            os.close(inside)
