"""Files that hold secrets."""

import os
import stat
from pathlib import Path

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth import secret_file
from pycodex.supervisor.auth.secret_file import MOST_BYTES, Unreadable


def test_written_whole_for_the_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "home" / "file"
    secret_file.write(str(path), b"one")
    path.chmod(0o644)
    secret_file.write(str(path), b"two")
    assert secret_file.read(str(path)) == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["file"]
    assert (secret_file.remove(str(path)), secret_file.remove(str(path))) == (True, False)
    assert secret_file.read(str(path)) is None


def test_what_stands_in_its_place_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "long").write_bytes(b"x" * (MOST_BYTES + 1))
    for name, reason in (("pipe", "is not a regular file"), ("long", f"is larger than {MOST_BYTES} bytes")):
        with pytest.raises(Unreadable) as raised:
            secret_file.read(str(tmp_path / name))
        assert raised.value.reason == reason


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(UserFacing, match="cannot write"):
        secret_file.write(str(tmp_path / "taken"), b"x")
    assert os.listdir(tmp_path) == ["taken"]
    with pytest.raises(UserFacing, match="cannot remove"):
        secret_file.remove(str(tmp_path / "taken"))
