"""Each place keeps a login, and gives it up again."""

import json
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keyring
import pytest
from keyring.backends.fail import Keyring as NoBackend
from keyring.backends.null import Keyring as Forgetful

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.auth_file import BadAuthFile
from pycodex.supervisor.auth.stores import check_lasting, entry_name, store_of
from support.rings import Ring, put_back

LOGIN = {"auth_mode": "apikey", "OPENAI_API_KEY": "sk"}


@pytest.fixture
def before() -> Iterator[None]:
    with put_back():
        yield


@pytest.fixture
def ring(before: None) -> Ring:
    del before
    ring = Ring()
    keyring.set_keyring(ring)
    return ring


def test_a_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    store = store_of("file", str(home), {})
    assert (store.load(), store.remove()) == (None, False)
    store.save(LOGIN)
    path = home / "auth.json"
    assert path.read_text() == '{\n  "auth_mode": "apikey",\n  "OPENAI_API_KEY": "sk"\n}'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(home) == ["auth.json"]
    assert (store.load(), store.remove(), store.load()) == (LOGIN, True, None)


def test_a_home_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserFacing, match="os error"):
        store_of("file", str(tmp_path / "file"), {}).save(LOGIN)


def test_who_logs_out_while_it_is_changed_is_logged_out_afterwards(tmp_path: Path) -> None:
    store = store_of("file", str(tmp_path), {})
    store.save(LOGIN)
    logout = threading.Thread(target=store_of("file", str(tmp_path), {}).remove)

    def edited(stored: dict[str, Any] | None) -> dict[str, Any]:
        logout.start()
        # Long enough to remove the file, if nothing keeps it from that.
        logout.join(0.5)
        return {**(stored or {}), "OPENAI_API_KEY": "new"}

    assert store.change(edited)["OPENAI_API_KEY"] == "new"
    logout.join()
    assert store.load() is None


@pytest.mark.parametrize("kind", ["keyring", "auto"])
def test_a_keyring_keeps_it_instead_of_the_file(tmp_path: Path, ring: Ring, kind: str) -> None:
    store = store_of(kind, str(tmp_path), {})
    assert (store.load(), store.remove()) == (None, False)
    (tmp_path / "auth.json").write_text("{}")
    store.save(LOGIN)
    assert os.listdir(tmp_path) == []
    ((place, text),) = ring.kept.items()
    assert (place, json.loads(text)) == (("Codex Auth", entry_name(str(tmp_path))), LOGIN)
    assert (store.load(), store.remove(), store.load(), ring.kept) == (LOGIN, True, None, {})


def test_the_entry_is_the_one_that_others_look_for(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert entry_name(str(tmp_path / "link")) == entry_name(str(tmp_path))
    assert entry_name("/nonexistent/home") == "cli|876c0850ac67740e"


def test_what_a_keyring_holds_is_checked_like_a_file(tmp_path: Path, ring: Ring) -> None:
    ring.kept["Codex Auth", entry_name(str(tmp_path))] = "sk-secret"
    with pytest.raises(BadAuthFile, match="the login in the keyring is not valid JSON") as caught:
        store_of("keyring", str(tmp_path), {}).load()
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("backend", [NoBackend, Forgetful])
def test_without_a_keyring_that_works_there_is_the_file_or_an_error(tmp_path: Path, before: None, backend: Any) -> None:
    del before
    keyring.set_keyring(backend())
    auto = store_of("auto", str(tmp_path), {})
    auto.save(LOGIN)
    assert os.listdir(tmp_path) == ["auth.json"]
    assert (auto.load(), auto.remove(), auto.load()) == (LOGIN, True, None)
    with pytest.raises(UserFacing, match="the keyring") as caught:
        store_of("keyring", str(tmp_path), {}).save(LOGIN)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_memory_is_the_processs_own(tmp_path: Path) -> None:
    memory: dict[str, dict[str, Any]] = {}
    store_of("ephemeral", str(tmp_path), memory).save(LOGIN)
    assert store_of("ephemeral", str(tmp_path), memory).load() == LOGIN
    assert store_of("ephemeral", str(tmp_path), {}).load() is None
    assert store_of("ephemeral", str(tmp_path), memory).remove()
    assert (memory, os.listdir(tmp_path)) == ({}, [])


def test_a_login_that_ends_with_the_command_is_refused() -> None:
    check_lasting("file")
    with pytest.raises(UserFacing, match="ephemeral"):
        check_lasting("ephemeral")
