"""A keyring that does not answer holds nobody up."""

import threading
from collections.abc import Iterator

import keyring
import pytest
from keyring.backend import KeyringBackend

from pycodex.supervisor.auth import keyring_calls
from pycodex.supervisor.auth.keyring_calls import NoKeyring
from support.waiting import eventually


class Silent(KeyringBackend):
    """Waits for a person, and then fails."""

    priority = -1.0  # never chosen, only set

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.person = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.person.wait()
        raise OSError(f"{service}, {username} is locked\nand more")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise NotImplementedError

    def delete_password(self, service: str, username: str) -> None:
        raise NotImplementedError


@pytest.fixture
def silent() -> Iterator[Silent]:
    before = keyring.get_keyring()
    ring = Silent()
    keyring.set_keyring(ring)
    yield ring
    ring.person.set()
    keyring.set_keyring(before)


def test_nobody_waits_for_ever_nor_again(silent: Silent) -> None:
    with pytest.raises(NoKeyring, match=r"^the keyring did not answer within 0\.05 seconds$"):
        keyring_calls.read("service", "entry", patience_s=0.05)
    with pytest.raises(NoKeyring, match=r"^the keyring has not answered an earlier question yet$"):
        keyring_calls.read("service", "entry")
    silent.person.set()
    eventually(lambda: "keyring" not in [thread.name for thread in threading.enumerate()])
    with pytest.raises(NoKeyring, match="is locked"):
        keyring_calls.read("service", "entry")


def test_a_failure_is_one_line(silent: Silent) -> None:
    silent.person.set()
    with pytest.raises(NoKeyring, match=r"^the keyring cannot be used: service, entry is locked$"):
        keyring_calls.read("service", "entry")
