"""Where a login is kept: a file, the system's keyring, the keyring or else the file, or this process alone.

Owns what each place does on loading, saving and removing, and that one process at a time changes what is there; what is
in a login is `auth_file`'s business. Everything here may block for a while: call it in a thread.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth import secret_file
from pycodex.supervisor.auth.auth_file import (
    FILE_NAME,
    Json,
    parsed_document,
    read_document,
    write_document,
)

FILE = "file"
KEYRING = "keyring"
AUTO = "auto"
EPHEMERAL = "ephemeral"
_SERVICE = "Codex Auth"
_OTHERS_S = 5.0
"""How long others are waited for. A keyring may take longer; then the last one counts."""
_POLL_S = 0.01


class Place(Protocol):
    @property
    def place(self) -> str:
        """For errors."""
        ...

    def load(self) -> Json | None: ...

    def save(self, stored: Json) -> None:
        """Raises UserFacing."""
        ...

    def remove(self) -> bool:
        """Whether there was anything. Raises UserFacing."""
        ...


class Store:
    """A place, and who may change what is there: each change is whole before the next one begins."""

    def __init__(self, kept_at: Place, codex_home: str) -> None:
        self._kept_at = kept_at
        self._codex_home = codex_home

    @property
    def place(self) -> str:
        return self._kept_at.place

    def load(self) -> Json | None:
        return self._kept_at.load()

    def save(self, stored: Json) -> None:
        with _others_kept_out(self._codex_home):
            self._kept_at.save(stored)

    def remove(self) -> bool:
        with _others_kept_out(self._codex_home):
            return self._kept_at.remove()

    def change(self, edited: Callable[[Json | None], Json]) -> Json:
        """Save what `edited` makes of what is there; nobody logs in or out in between."""
        with _others_kept_out(self._codex_home):
            stored = edited(self._kept_at.load())
            self._kept_at.save(stored)
        return stored


@contextmanager
def _others_kept_out(codex_home: str) -> Iterator[None]:
    """By a lock on the directory, which leaves no file. Where none can be had, it is done without."""
    try:
        descriptor = os.open(codex_home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield
        return
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    import fcntl

    deadline = time.monotonic() + _OTHERS_S
    while time.monotonic() < deadline:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_POLL_S)
        except OSError:
            return
        else:
            return


def store_of(kind: str, codex_home: str, memory: dict[str, Json]) -> Store:
    """`kind` is a value of `cli_auth_credentials_store`; `memory` belongs to the process."""
    return Store(_place_of(kind, codex_home, memory), codex_home)


def _place_of(kind: str, codex_home: str, memory: dict[str, Json]) -> Place:
    path = os.path.join(codex_home, FILE_NAME)
    if kind == KEYRING:
        return KeyringStore(codex_home)
    if kind == AUTO:
        return AutoStore(KeyringStore(codex_home), FileStore(path))
    if kind == EPHEMERAL:
        return MemoryStore(memory)
    return FileStore(path)


class FileStore:
    def __init__(self, path: str) -> None:
        self.place = path

    def load(self) -> Json | None:
        return read_document(self.place)

    def save(self, stored: Json) -> None:
        write_document(self.place, stored)

    def remove(self) -> bool:
        return secret_file.remove(self.place)


class MemoryStore:
    """Gone with the process."""

    place = "the login of this process"

    def __init__(self, memory: dict[str, Json]) -> None:
        self._memory = memory

    def load(self) -> Json | None:
        return self._memory.get(FILE_NAME)

    def save(self, stored: Json) -> None:
        self._memory[FILE_NAME] = stored

    def remove(self) -> bool:
        return self._memory.pop(FILE_NAME, None) is not None


class KeyringStore:
    """One entry a home. A file from before is removed, so that the secret is in one place only."""

    place = "the login in the keyring"

    def __init__(self, codex_home: str) -> None:
        self._file = FileStore(os.path.join(codex_home, FILE_NAME))
        self._entry = entry_name(codex_home)

    def load(self) -> Json | None:
        from pycodex.supervisor.auth import keyring_calls

        text = keyring_calls.read(_SERVICE, self._entry)
        return None if text is None else parsed_document(text, self.place)

    def save(self, stored: Json) -> None:
        from pycodex.supervisor.auth import keyring_calls

        keyring_calls.write(_SERVICE, self._entry, json.dumps(stored, separators=(",", ":")))
        self._file.remove()

    def remove(self) -> bool:
        from pycodex.supervisor.auth import keyring_calls

        was_there = keyring_calls.remove(_SERVICE, self._entry)
        return self._file.remove() or was_there


class AutoStore:
    """The keyring where there is one that works."""

    def __init__(self, keyring: KeyringStore, file: FileStore) -> None:
        self._keyring = keyring
        self._file = file
        self.place = file.place

    def load(self) -> Json | None:
        from pycodex.supervisor.auth.keyring_calls import NoKeyring

        try:
            stored = self._keyring.load()
        except NoKeyring:
            stored = None
        return self._file.load() if stored is None else stored

    def save(self, stored: Json) -> None:
        from pycodex.supervisor.auth.keyring_calls import NoKeyring

        try:
            self._keyring.save(stored)
        except NoKeyring:
            self._file.save(stored)

    def remove(self) -> bool:
        from pycodex.supervisor.auth.keyring_calls import NoKeyring

        try:
            return self._keyring.remove()
        except NoKeyring:
            return self._file.remove()


def check_document(document: Json | None) -> Json:
    """What is to be changed must be there still. Raises LoginRefused."""
    if document is None or not isinstance(document.get("tokens"), dict):
        from pycodex.supervisor.auth.grants import LoginRefused
        from pycodex.supervisor.auth.oauth import OTHER_ACCOUNT

        raise LoginRefused(OTHER_ACCOUNT)
    return document


def entry_name(codex_home: str) -> str:
    """The same for every program that uses this home."""
    import hashlib

    path = os.path.realpath(codex_home).encode("utf-8", "surrogateescape")
    return f"cli|{hashlib.sha256(path).hexdigest()[:16]}"


def check_lasting(kind: str) -> None:
    """For a command that ends after the login. Raises UserFacing where nothing would be left of it."""
    if kind == EPHEMERAL:
        raise UserFacing(
            'cli_auth_credentials_store = "ephemeral" keeps a login only as long as a process runs; set it to "file", '
            '"keyring" or "auto", or set CODEX_API_KEY instead'
        )
