"""Directories that a command has turned into a repository, by the files at their top.

Where there is no `.git`, git takes the directory itself for one if it finds `HEAD`, `objects` and `refs` in it, and
then obeys the `config` and the hooks beside them. Names like these cannot be held for the time of the call, as `.git`
is: a `HEAD` in sight confuses git in every repository around it. So they are looked for after the call. Runs in trusted
processes, in directories that belong to the attacker.
"""

import os

from pycodex.linux_sandbox import kernel


def disarm(directories: "tuple[str, ...]") -> "tuple[str, ...]":
    """Take its name from the `HEAD` of those that are repositories now; one line for each."""
    notes = []
    for path in directories:
        try:
            fd = kernel.open_without_links(path, os.O_PATH | os.O_DIRECTORY)
        except OSError:
            # Gone, or no directory any more: nothing that git would look at.
            continue
        try:
            if _is_repository(fd):
                notes.append(_disarm(fd, path))
        finally:
            os.close(fd)
    return tuple(notes)


def _is_repository(fd: int) -> bool:
    """Rather too often than not often enough: git looks closer."""
    return _has(fd, "HEAD") and (_has(fd, "commondir") or (_has(fd, "objects") and _has(fd, "refs")))


def _has(fd: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError:
        # Closed to us for now; `_disarm` gets in.
        return True
    return True


def _disarm(fd: int, path: str) -> str:
    from pycodex.linux_sandbox import guard_paths
    from pycodex.linux_sandbox.guard_repair import shown

    aside = f"HEAD{guard_paths.new_name()}"
    mode = os.fstat(fd).st_mode
    what = f"{shown(path)} was made a git repository during the call"
    try:
        guard_paths.allow_owner(fd)
        os.rename("HEAD", aside, src_dir_fd=fd, dst_dir_fd=fd)
        if os.fstat(fd).st_mode != mode:
            guard_paths.set_mode(fd, mode)
    except OSError as error:
        return f"{what}, and git would obey its settings: remove {shown(path)}/HEAD ({error.strerror})"
    return f"{what}, whose settings git would obey: its HEAD is now called {aside}; rename it if you want to keep it"
