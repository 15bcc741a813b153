"""Changing the user's config.toml without disturbing what they wrote there.

Owns the writing: comments and layout stay, the file is replaced whole or not at all, and a result that does not mean
what was asked for is never written. Takes edits by their keys; what they are good for is decided elsewhere.
"""

import fcntl
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config.early import read_layer

if TYPE_CHECKING:
    from tomlkit.container import Container

NEW_FILE_MODE = 0o600
_HOME_MODE = 0o700


class Put(NamedTuple):
    """Give the key this value; tables on the way to it are made where they are missing."""

    keys: tuple[str, ...]
    value: Any


class Remove(NamedTuple):
    """Take the key away. Tables that are empty then stay, and one that is not there is no mistake."""

    keys: tuple[str, ...]


Edit = Put | Remove


def edit_config(codex_home: str, edits: Sequence[Edit]) -> None:
    """Change CODEX_HOME/config.toml; a link is followed, a missing file is made. Raises UserFacing, BadConfig."""
    path = os.path.join(codex_home, "config.toml")
    target = os.path.realpath(path)
    try:
        os.makedirs(os.path.dirname(target), mode=_HOME_MODE, exist_ok=True)
        with _alone_in(os.path.dirname(target)):
            layer = read_layer(path)
            text = "" if layer is None else layer.text
            changed = edited(text, edits, path=path)
            if changed != text:
                _replace(target, changed.encode())
    except OSError as error:
        raise UserFacing(f"cannot write {path}: {error.strerror} (os error {error.errno})") from None


def edited(text: str, edits: Sequence[Edit], *, path: str = "config.toml") -> str:
    """The text of a file after the edits. Raises UserFacing where that cannot be done faithfully."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    wanted = tomllib.loads(text)
    for edit in edits:
        _apply(wanted, edit, path=path, new_table=dict)
    try:
        document = tomlkit.parse(text)
        for edit in edits:
            _apply(document, edit, path=path, new_table=tomlkit.table)
        result = tomlkit.dumps(document)
    except TOMLKitError:
        result = ""
    if _meaning(result) != wanted:
        raise UserFacing(f"cannot change {path} without damage to it; please make the change yourself: {_told(edits)}")
    return result


def _apply(table: "Container | dict[str, Any]", edit: Edit, *, path: str, new_table: Any) -> None:
    holder: Any = table
    for depth, key in enumerate(edit.keys[:-1], 1):
        if key not in holder:
            if isinstance(edit, Remove):
                return
            holder[key] = new_table()
        holder = holder[key]
        if not isinstance(holder, Mapping):
            raise UserFacing(f"cannot change {path}: `{'.'.join(edit.keys[:depth])}` is not a table there")
    if isinstance(edit, Put):
        holder[edit.keys[-1]] = edit.value
    else:
        holder.pop(edit.keys[-1], None)


def _meaning(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _told(edits: Sequence[Edit]) -> str:
    return ", ".join(
        f"{'.'.join(edit.keys)} = {edit.value!r}" if isinstance(edit, Put) else f"no {'.'.join(edit.keys)}"
        for edit in edits
    )


@contextmanager
def _alone_in(directory: str) -> Iterator[None]:
    """So that of two edits at the same time neither is lost."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
        except OSError:
            # Some network file systems cannot lock a directory. An edit is still worth more than none.
            pass
        yield
    finally:
        os.close(fd)


def _replace(path: str, data: bytes) -> None:
    temporary = f"{path}.{os.getpid()}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temporary, flags, NEW_FILE_MODE)
    try:
        try:
            _take_after(fd, path)
            with os.fdopen(os.dup(fd), "wb") as file:
                file.write(data)
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _take_after(fd: int, path: str) -> None:
    """The new file has the mode of the old one, and its owner if that was another."""
    try:
        old = os.stat(path)
    except FileNotFoundError:
        return
    if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.fchown(fd, old.st_uid, old.st_gid)
        except PermissionError:
            # Then it belongs to whoever edits it.
            pass
    os.fchmod(fd, old.st_mode & 0o7777)
