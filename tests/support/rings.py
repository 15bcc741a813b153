"""A keyring in memory, in place of the system's.

Owns what it holds, and whether it is there at all. Whoever sets one puts the other back.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import keyring
from keyring.backend import KeyringBackend


class Ring(KeyringBackend):
    priority = -1.0  # never chosen, only set

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kept: dict[tuple[str, str], str] = {}
        self.is_there = True

    def get_password(self, service: str, username: str) -> str | None:
        self._check()
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._check()
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._check()
        del self.kept[service, username]

    def _check(self) -> None:
        if not self.is_there:
            raise RuntimeError("no keyring here")


@contextmanager
def put_back() -> Iterator[None]:
    """Whichever keyring was there is there again afterwards."""
    found = keyring.get_keyring()
    try:
        yield
    finally:
        keyring.set_keyring(found)
