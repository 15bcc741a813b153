"""What a path leads to, links followed. Opens nothing."""

import os
import stat

from pycodex.worker.jobs.errors import JobError, reason


def run(arguments: "dict[str, object]") -> object:
    """`path` (absolute). Gives `file`, `directory` or `other`."""
    path = arguments.get("path")
    if type(path) is not str or not os.path.isabs(path):
        raise JobError("path must be absolute")
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise JobError(reason(error)) from None
    if stat.S_ISDIR(mode):
        return "directory"
    return "file" if stat.S_ISREG(mode) else "other"
