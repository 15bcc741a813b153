"""A picture for the model, read and made to fit where only the call's own files can be reached.

Owns the checks before it is read. What makes a picture fit is in `protocol/pictures` and `protocol/picture_scaling`.
"""

import os
import stat

from pycodex.protocol.picture_scaling import sendable
from pycodex.protocol.pictures import MAX_FILE_BYTES, BrokenPicture, NotAPicture
from pycodex.worker.jobs.errors import JobError, reason

_CHUNK_BYTES = 1 << 20


def run(arguments: "dict[str, object]") -> object:
    """`path` (absolute), `original` (keep its size). Gives `mime` and `data`, or `broken`: why it cannot be used.

    `broken` is None for a file that is no picture for us.
    """
    path, original = arguments.get("path"), arguments.get("original", False)
    if type(path) is not str or not os.path.isabs(path):
        raise JobError("path must be absolute")
    data = _content(path)
    try:
        mime, sent = sendable(data, original=original is True)
    except NotAPicture:
        return {"broken": None}
    except BrokenPicture as error:
        return {"broken": str(error)}
    return {"mime": mime, "data": sent}


def _content(path: str) -> bytes:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise JobError(f"unable to locate image at `{path}`: {reason(error)}") from None
    if not stat.S_ISREG(mode):
        raise JobError(f"image path `{path}` is not a file")
    try:
        return _read(path)
    except OSError as error:
        raise JobError(f"unable to read image at `{path}`: {reason(error)}") from None


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        data = bytearray()
        # It may have become something else since it was looked at.
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise JobError(f"image path `{path}` is not a file")
        while chunk := os.read(fd, _CHUNK_BYTES):
            data += chunk
            if len(data) > MAX_FILE_BYTES:
                raise JobError(f"unable to read image at `{path}`: larger than {MAX_FILE_BYTES} bytes")
        return bytes(data)
    finally:
        os.close(fd)
