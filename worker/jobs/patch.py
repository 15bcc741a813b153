"""Verifies and applies a patch. All of the work, and what is said of it, is `protocol/patch`'s."""

import os

from pycodex.protocol.patch.apply import Unverified, apply_patch
from pycodex.worker.jobs.errors import JobError

_MOST_STATE_BYTES = 192 << 20
"""What an answer may carry of files before and after: less than its caller lets through."""


def run(arguments: "dict[str, object]") -> object:
    """`patch` (its text), `cwd` (absolute), `verify` (first, against the disk as it is), `write` (or only try), `only`
    (the places that may be written, if not all).

    Gives `unverified`, or what the executable would say with `changes`, and `before` and `after` by absolute path.
    Where `cwd` is no directory, nothing is written, and `cwd_errno` says why.
    """
    patch, cwd, verify, write = (arguments.get(name) for name in ("patch", "cwd", "verify", "write"))
    if type(patch) is not str or not _is_unicode(patch):
        raise JobError("patch must be Unicode text")
    if type(cwd) is not str or not os.path.isabs(cwd):
        raise JobError("cwd must be an absolute path")
    if type(verify) is not bool or type(write) is not bool:
        raise JobError("verify and write must be true or false")
    only = _places(arguments.get("only"))
    cwd_errno = _why_not_entered(cwd)
    try:
        outcome = apply_patch(patch, os.fsencode(cwd), verify=verify, write=write and not cwd_errno, only=only)
    except Unverified as error:
        return {"unverified": str(error)}
    states = [state for part in (outcome.before, outcome.after) for state in part.values()]
    fits = sum(len(state[1]) for state in states if state is not None) <= _MOST_STATE_BYTES
    return {
        "exit_code": outcome.exit_code,
        "stdout": outcome.stdout,
        "stderr": outcome.stderr,
        "cwd_errno": cwd_errno,
        "changes": outcome.changes,
        "before": outcome.before if fits else {},
        "after": outcome.after if fits else {},
    }


def _places(value: object) -> "frozenset[bytes] | None":
    if value is None:
        return None
    if type(value) is not list or not all(type(place) is str for place in value):
        raise JobError("only must be a list of paths")
    return frozenset(map(os.fsencode, value))


def _why_not_entered(cwd: str) -> int:
    """An errno if `cwd` is no directory, else 0: paths below a missing one would make it."""
    try:
        os.close(os.open(cwd, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
    except ValueError:
        # A name that no file can have: the patch cannot be written there, and says so itself.
        return 0
    except OSError as error:
        return error.errno or 0
    return 0


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
