"""Turns picture files into parts of a message.

Owns which formats are sent as they are, how large a picture may be, and what the model reads in place of one that
cannot be attached. Loads Pillow only when there is a picture. A picture may be broken, huge or hostile: only four
decoders are ever tried, after its size in bytes and in pixels was found acceptable. Takes time with large pictures:
call it where that disturbs nobody.
"""

import os
from typing import TYPE_CHECKING

from pycodex.protocol.items import input_image, input_text
from pycodex.supervisor.workspace.regular_file import read_whole

if TYPE_CHECKING:
    from PIL.Image import Image

    from pycodex.protocol.items import Part

MAX_WIDTH = 2048
MAX_HEIGHT = 768
MAX_FILE_BYTES = 64 << 20
MAX_PIXELS = 100_000_000

CLOSE_TAG = "</image>"

# By their first bytes: a name may lie. GIF is read but sent as PNG.
_SIGNATURES = ((b"\x89PNG\r\n\x1a\n", "PNG"), (b"\xff\xd8\xff", "JPEG"), (b"GIF87a", "GIF"), (b"GIF89a", "GIF"))
_SENT = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}
_JPEG_QUALITY = 85
_MIME_TYPES = {".ico": "image/x-icon", ".webp": "image/webp", ".avif": "image/avif", ".heic": "image/heic"}


class _Broken(Exception):
    """The file says that it is a picture, but is none that can be used. The text says why."""


def url_parts(url: str) -> "list[Part]":
    """A picture that the client gave by its address."""
    return [input_text("<image>"), input_image(url), input_text(CLOSE_TAG)]


def file_parts(path: str, number: int) -> "list[Part]":
    """A picture from disk, or a sentence in its place. `number` counts the pictures of the message."""
    try:
        data = read_whole(path, MAX_FILE_BYTES)
    except OSError as error:
        return [input_text(f"Codex could not read the local image at `{path}`: {_reason(error)}")]
    except ValueError as error:
        return [input_text(f"Codex could not read the local image at `{path}`: {error}")]
    kind = _kind(data)
    if kind is None:
        return [input_text(_refusal(path))]
    try:
        mime, sent = _fitted(data, kind)
    except _Broken as error:
        return [input_text(f"Image located at `{path}` is invalid: {error}")]
    return [input_text(f"<image name=[Image #{number}]>"), input_image(_data_url(mime, sent)), input_text(CLOSE_TAG)]


def _reason(error: OSError) -> str:
    return f"{error.strerror} (os error {error.errno})"


def _refusal(path: str) -> str:
    mime = _mime_type(path)
    if mime is not None and mime.startswith("image/"):
        return f"Codex cannot attach image at `{path}`: unsupported image format `{mime}`."
    shown = "(unknown)" if mime is None else f"`{mime}`"
    return f"Codex could not read the local image at `{path}`: unsupported MIME type {shown}"


def _mime_type(path: str) -> str | None:
    import mimetypes

    known = _MIME_TYPES.get(os.path.splitext(path)[1].lower())
    return known if known is not None else mimetypes.guess_type(path)[0]


def _kind(data: bytes) -> str | None:
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            return kind
    return "WEBP" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def _data_url(mime: str, data: bytes) -> str:
    import base64

    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def _fitted(data: bytes, kind: str) -> tuple[str, bytes]:
    """The bytes as they are if they can be sent so, else a picture that fits."""
    import warnings
    from io import BytesIO

    from PIL import Image

    with warnings.catch_warnings():
        # Pillow warns of large pictures and of odd metadata; what matters is checked here.
        warnings.simplefilter("ignore")
        try:
            image = Image.open(BytesIO(data), formats=(kind,))
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise _Broken(f"{width} x {height} pixels are more than {MAX_PIXELS}")
            fits = width <= MAX_WIDTH and height <= MAX_HEIGHT
            if fits and kind in _SENT:
                image.load()
                return _SENT[kind], data
            target = kind if kind in _SENT else "PNG"
            return _SENT[target], _encoded(_shrunk(image), target)
        except _Broken:
            raise
        except Image.DecompressionBombError:
            raise _Broken(f"more than {MAX_PIXELS} pixels") from None
        except Exception as error:
            # Decoders raise whatever they like on hostile input: OSError, SyntaxError, struct.error, ValueError...
            raise _Broken(str(error) or type(error).__name__) from error


def _shrunk(image: "Image") -> "Image":
    from PIL import Image, ImageOps

    # For JPEG: decode no more than is needed.
    image.draft(None, (MAX_WIDTH, MAX_HEIGHT))
    mode = "RGB" if image.format == "JPEG" else "RGBA"
    # Encoded again it has no metadata, so it must lie the right way by itself.
    upright = ImageOps.exif_transpose(image)
    if upright.mode.startswith("I"):
        # Sixteen bits of grey.
        upright = upright.convert("I").point(lambda value: value / 256).convert("L")
    upright = upright.convert(mode)
    width, height = upright.size
    scale = min(MAX_WIDTH / width, MAX_HEIGHT / height, 1)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return upright if size == upright.size else upright.resize(size, Image.Resampling.BILINEAR)


def _encoded(image: "Image", kind: str) -> bytes:
    from io import BytesIO

    target = BytesIO()
    if kind == "JPEG":
        image.save(target, kind, quality=_JPEG_QUALITY)
    elif kind == "WEBP":
        image.save(target, kind, lossless=True)
    else:
        image.save(target, kind)
    return target.getvalue()
