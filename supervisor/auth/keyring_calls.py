"""Calls to the system's keyring, which may be missing, locked, or waiting for a person who is not there.

Owns the limit on how long a call may take, and the one error that all of its failures become. Knows no login.
"""

import queue
import threading
from collections.abc import Callable
from types import ModuleType

from pycodex.protocol.errors import UserFacing

PATIENCE_S = 20.0
"""A person may have to unlock it."""


_unanswered: list[threading.Thread] = []
"""Calls that were given up; a keyring that does not even answer them is not asked again."""


class NoKeyring(UserFacing):
    """It cannot be used."""


def read(service: str, entry: str, *, patience_s: float = PATIENCE_S) -> str | None:
    return _called(lambda keyring: keyring.get_password(service, entry), patience_s)


def write(service: str, entry: str, secret: str) -> None:
    """Raises NoKeyring also where it was taken and not kept, as some backends do."""

    def put(keyring: ModuleType) -> str | None:
        keyring.set_password(service, entry, secret)
        kept: str | None = keyring.get_password(service, entry)
        return kept

    if _called(put) != secret:
        raise NoKeyring("the keyring does not keep what it is given")


def remove(service: str, entry: str) -> bool:
    """Whether there was anything."""

    def take(keyring: ModuleType) -> str | None:
        found: str | None = keyring.get_password(service, entry)
        if found is not None:
            keyring.delete_password(service, entry)
        return found

    return _called(take) is not None


def _called(act: Callable[[ModuleType], str | None], patience_s: float = PATIENCE_S) -> str | None:
    """In a thread that is left alone if it takes too long: no call into a keyring can be broken off."""
    if any(thread.is_alive() for thread in _unanswered):
        raise NoKeyring("the keyring has not answered an earlier question yet")
    results: queue.SimpleQueue[tuple[str | None, str | None]] = queue.SimpleQueue()
    thread = threading.Thread(target=_answer, args=(act, results), daemon=True, name="keyring")
    thread.start()
    try:
        secret, reason = results.get(timeout=patience_s)
    except queue.Empty:
        _unanswered[:] = [thread]
        raise NoKeyring(f"the keyring did not answer within {patience_s:g} seconds") from None
    if reason is not None:
        raise NoKeyring(f"the keyring cannot be used: {reason}")
    return secret


def _answer(
    act: Callable[[ModuleType], str | None], results: "queue.SimpleQueue[tuple[str | None, str | None]]"
) -> None:
    try:
        import keyring

        results.put((act(keyring), None))
    except Exception as error:
        # Backends raise whatever their system does. Its first line says enough; a secret is in none of them.
        results.put((None, (str(error) or type(error).__name__).splitlines()[0]))
