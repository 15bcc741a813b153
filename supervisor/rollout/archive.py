"""Putting sessions aside and taking them back.

Owns the two moves. A session is where its file is; nothing else remembers it.
"""

import os

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.rollout.files import ARCHIVED, archived_path_of, dated_folder, path_of


def archive(codex_home: str, thread_id: str) -> str:
    """Gives the new path. Raises UserFacing."""
    path = path_of(codex_home, thread_id)
    if path is None:
        raise UserFacing(f"no rollout found for thread id {thread_id}")
    return _moved(path, os.path.join(codex_home, ARCHIVED))


def unarchive(codex_home: str, thread_id: str) -> str:
    """Gives the new path; the session counts as used just now. Raises UserFacing."""
    path = archived_path_of(codex_home, thread_id)
    folder = dated_folder(codex_home, path) if path is not None else None
    if path is None or folder is None:
        raise UserFacing(f"no archived rollout found for thread id {thread_id}")
    moved = _moved(path, folder)
    os.utime(moved)
    return moved


def _moved(path: str, folder: str) -> str:
    target = os.path.join(folder, os.path.basename(path))
    try:
        os.makedirs(folder, exist_ok=True)
        if os.path.lexists(target):
            raise UserFacing(f"cannot move {path}: {target} exists already")
        os.rename(path, target)
    except OSError as error:
        raise UserFacing(f"cannot move {path} to {folder}: {error.strerror}") from error
    return target
