"""Turns picture files into parts of a message.

Owns the parts that stand around a picture, and what the model reads in place of one that cannot be attached. What a
picture must be is in `protocol/pictures`, and `protocol/picture_scaling` makes it so. Takes time with large pictures:
call it where that disturbs nobody.
"""

from typing import TYPE_CHECKING

from pycodex.protocol.items import input_image, input_text
from pycodex.protocol.picture_scaling import sendable
from pycodex.protocol.pictures import MAX_FILE_BYTES, BrokenPicture, NotAPicture, data_url, refusal
from pycodex.supervisor.workspace.regular_file import read_whole

if TYPE_CHECKING:
    from pycodex.protocol.items import Part

CLOSE_TAG = "</image>"


def url_parts(url: str) -> "list[Part]":
    """A picture that the client gave by its address."""
    return [input_text("<image>"), input_image(url), input_text(CLOSE_TAG)]


def file_parts(path: str, number: int) -> "list[Part]":
    """A picture from disk, or a sentence in its place. `number` counts the pictures of the message."""
    try:
        mime, data = sendable(read_whole(path, MAX_FILE_BYTES))
    except OSError as error:
        return [input_text(f"Codex could not read the local image at `{path}`: {_reason(error)}")]
    except ValueError as error:
        return [input_text(f"Codex could not read the local image at `{path}`: {error}")]
    except NotAPicture:
        return [input_text(refusal(path, broken_because=None))]
    except BrokenPicture as error:
        return [input_text(refusal(path, broken_because=str(error)))]
    return [input_text(f"<image name=[Image #{number}]>"), input_image(data_url(mime, data)), input_text(CLOSE_TAG)]


def _reason(error: OSError) -> str:
    return f"{error.strerror} (os error {error.errno})"
