"""Programs of ours that commands find on their PATH: `apply_patch`, for scripts that call it.

Owns the directory that holds them, one for each home and supervisor, from its making to its removal; those of
supervisors that were killed are swept. They are links to our own program, which goes by the name it is called with.
Commands may read the directory and never change it: `confine` protects it like the rest of our installation.
"""

import fcntl
import logging
import os
import sys
from contextlib import suppress
from typing import NamedTuple

NAMES = ("apply_patch", "applypatch")
_FOLDER = ("tmp", "arg0")
_PREFIX = "codex-arg0"
_LOCK = ".lock"
_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

logger = logging.getLogger("pycodex.tools")


class Programs:
    """`close` it in the end. A home that takes no files is done without."""

    def __init__(self) -> None:
        self._made: dict[str, _Made | None] = {}

    def directory(self, codex_home: str) -> str:
        """Where they are; empty if there is no place for them."""
        if codex_home not in self._made:
            self._made[codex_home] = _made_below(codex_home)
        made = self._made[codex_home]
        return os.path.join(made.base_path, made.name) if made is not None else ""

    def close(self) -> None:
        for made in self._made.values():
            if made is not None:
                try:
                    _remove(made.name, made.base)
                except OSError as error:
                    logger.info("%s in %s is left for the next sweep: %s", made.name, made.base_path, error)
                os.close(made.lock)
                os.close(made.base)
        self._made.clear()


class _Made(NamedTuple):
    """`base` and `lock` are descriptors, of the directory above and of the file that says that we live."""

    base_path: str
    name: str
    base: int
    lock: int


def own_program() -> str | None:
    """The file that starts us."""
    beside = os.path.join(os.path.dirname(sys.executable), "pycodex")
    return beside if os.access(beside, os.X_OK) else None


def _made_below(codex_home: str) -> _Made | None:
    program = own_program()
    if program is None:
        logger.info("no apply_patch on the PATH of commands: no program of ours beside %s", sys.executable)
        return None
    try:
        base = _opened_base(codex_home)
    except OSError as error:
        logger.info("no apply_patch on the PATH of commands: %s", error)
        return None
    try:
        _sweep(base)
        name, lock = _made_in(base, program)
    except OSError as error:
        os.close(base)
        logger.info("no apply_patch on the PATH of commands: %s", error)
        return None
    return _Made(os.path.join(codex_home, *_FOLDER), name, base, lock)


def _opened_base(codex_home: str) -> int:
    """Never through a link below the home: what is removed here must be ours."""
    os.makedirs(codex_home, exist_ok=True)
    base = os.open(codex_home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in _FOLDER:
        try:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=base)
            deeper = os.open(name, _DIRECTORY_FLAGS, dir_fd=base)
        finally:
            os.close(base)
        base = deeper
    return base


def _made_in(base: int, program: str) -> tuple[str, int]:
    """A new directory with its lock held. It gets its name when it is complete, so that nobody sweeps it before."""
    mark = os.urandom(6).hex()
    unfinished, name = f"new-{mark}", f"{_PREFIX}{mark}"
    os.mkdir(unfinished, 0o700, dir_fd=base)
    lock = os.open(f"{unfinished}/{_LOCK}", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=base)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for link in NAMES:
            os.symlink(program, f"{unfinished}/{link}", dir_fd=base)
        os.rename(unfinished, name, src_dir_fd=base, dst_dir_fd=base)
    except OSError:
        os.close(lock)
        raise
    return name, lock


def _remove(name: str, base: int) -> None:
    """With what we put there; anything else keeps it."""
    inside = os.open(name, _DIRECTORY_FLAGS, dir_fd=base)
    try:
        # The lock goes last: without it nobody would look here again.
        for file in (*NAMES, _LOCK):
            with suppress(FileNotFoundError):
                os.unlink(file, dir_fd=inside)
    finally:
        os.close(inside)
    os.rmdir(name, dir_fd=base)


def _sweep(base: int) -> None:
    """Remove what belongs to nobody any more."""
    for name in os.listdir(base):
        if not name.startswith(_PREFIX):
            continue
        try:
            lock = _opened_lock(name, base)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(name, base)
        except OSError:
            continue
        finally:
            os.close(lock)


def _opened_lock(name: str, base: int) -> int:
    inside = os.open(name, _DIRECTORY_FLAGS, dir_fd=base)
    try:
        return os.open(_LOCK, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=inside)
    finally:
        os.close(inside)
