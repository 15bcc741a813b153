"""What a picture must be so that a model can be shown it: its formats, its size, and what is said of one that is none.

Owns what the first bytes of a picture tell, the room that it must fit, and the sentences in place of one that cannot be
used. A picture may be broken, cut off or hostile: nothing here decodes one, and what its head claims is all that is
believed. Takes bytes, gives values. Does no I/O, and loads nothing: workers use it.
"""

import os

MAX_WIDTH = 2048
MAX_HEIGHT = 768
MAX_FILE_BYTES = 64 << 20
MAX_PIXELS = 100_000_000

PNG = "PNG"
JPEG = "JPEG"
GIF = "GIF"
WEBP = "WEBP"
MIME_TYPES = {PNG: "image/png", JPEG: "image/jpeg", WEBP: "image/webp"}
"""The formats that are sent. GIF is read, but sent as PNG."""

# By their first bytes: a name may lie.
_SIGNATURES = ((b"\x89PNG\r\n\x1a\n", PNG), (b"\xff\xd8\xff", JPEG), (b"GIF87a", GIF), (b"GIF89a", GIF))
_MIME_OF_SUFFIX = {".ico": "image/x-icon", ".webp": "image/webp", ".avif": "image/avif", ".heic": "image/heic"}
_CHUNK_FRAME_BYTES = 12
_START_OF_SCAN = 0xDA
# Markers C4, C8 and CC lie between those that begin a frame, but mean something else.
_STARTS_OF_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_MARKERS_ALONE = frozenset((0x01, *range(0xD0, 0xD9)))


class NotAPicture(Exception):
    """In no format that we know, or cut off so that nobody could tell."""


class BrokenPicture(Exception):
    """It says that it is a picture, but it is none that can be used. The text says why."""


class Head:
    """What a picture says of itself."""

    __slots__ = ("height", "kind", "width")

    def __init__(self, kind: str, width: int, height: int) -> None:
        if not width or not height:
            raise BrokenPicture(f"it is {width} x {height} pixels large")
        if width * height > MAX_PIXELS:
            raise BrokenPicture(f"{width} x {height} pixels are more than {MAX_PIXELS}")
        self.kind = kind
        self.width = width
        self.height = height

    @property
    def fits(self) -> bool:
        return self.width <= MAX_WIDTH and self.height <= MAX_HEIGHT

    @property
    def sent_as(self) -> str:
        """The format in which it is sent."""
        return self.kind if self.kind in MIME_TYPES else PNG


def head_of(data: bytes) -> Head:
    """Raises NotAPicture or BrokenPicture. What it gives is no proof that the rest can be decoded."""
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            return Head(kind, *_READERS[kind](data))
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return Head(WEBP, *_webp_size(data))
    raise NotAPicture


def fitted_size(width: int, height: int) -> "tuple[int, int]":
    """The largest size of the same shape that fits; none is made larger."""
    scale = min(MAX_WIDTH / width, MAX_HEIGHT / height, 1)
    return max(1, round(width * scale)), max(1, round(height * scale))


# Heads


def _png_size(data: bytes) -> "tuple[int, int]":
    """Looks at the frame of every chunk, so that a file that is cut off is found out."""
    if len(data) > 16 and data[12:16] != b"IHDR":
        raise BrokenPicture("its first chunk is not IHDR")
    at, has_pixels = 8, False
    while at + _CHUNK_FRAME_BYTES <= len(data):
        kind = data[at + 4 : at + 8]
        if kind == b"IEND":
            if not has_pixels:
                raise BrokenPicture("it has no pixels")
            return _big(data, 16, 4), _big(data, 20, 4)
        has_pixels = has_pixels or kind == b"IDAT"
        at += _CHUNK_FRAME_BYTES + _big(data, at, 4)
    raise NotAPicture


def _jpeg_size(data: bytes) -> "tuple[int, int]":
    size = None
    at = 2
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            raise BrokenPicture("it has no marker where one must be")
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in _MARKERS_ALONE:
            at += 2
        elif marker == _START_OF_SCAN:
            if size is None:
                break
            return size
        else:
            if marker in _STARTS_OF_FRAME and at + 9 <= len(data):
                size = _big(data, at + 7, 2), _big(data, at + 5, 2)
            at += 2 + max(2, _big(data, at + 2, 2))
    raise BrokenPicture("it ends before its pixels begin")


def _gif_size(data: bytes) -> "tuple[int, int]":
    if len(data) < 10:
        raise BrokenPicture("it ends before its pixels begin")
    return _little(data, 6, 2), _little(data, 8, 2)


def _webp_size(data: bytes) -> "tuple[int, int]":
    if _little(data, 4, 4) + 8 > len(data):
        raise NotAPicture
    kind, body = data[12:16], data[20:30]
    if kind == b"VP8 " and body[3:6] == b"\x9d\x01\x2a" and len(body) == 10:
        return _little(body, 6, 2) & 0x3FFF, _little(body, 8, 2) & 0x3FFF
    if kind == b"VP8L" and body[:1] == b"\x2f" and len(body) >= 5:
        packed = _little(body, 1, 4)
        return (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1
    if kind == b"VP8X" and len(body) == 10:
        return _little(body, 4, 3) + 1, _little(body, 7, 3) + 1
    raise BrokenPicture("its first chunk holds no picture")


def _big(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")


def _little(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


_READERS = {PNG: _png_size, JPEG: _jpeg_size, GIF: _gif_size}


# Sentences


def refusal(path: str, broken_because: "str | None") -> str:
    """What is said in place of a file that is no picture (None), or one that is broken."""
    if broken_because is not None:
        return f"Image located at `{path}` is invalid: {broken_because}"
    mime = _mime_type(path)
    if mime is not None and mime.startswith("image/"):
        return f"Codex cannot attach image at `{path}`: unsupported image format `{mime}`."
    shown = "(unknown)" if mime is None else f"`{mime}`"
    return f"Codex could not read the local image at `{path}`: unsupported MIME type {shown}"


def _mime_type(path: str) -> "str | None":
    """By the name alone."""
    import mimetypes

    known = _MIME_OF_SUFFIX.get(os.path.splitext(path)[1].lower())
    return known if known is not None else mimetypes.guess_type(path)[0]


def data_url(mime: str, data: bytes) -> str:
    import base64

    return f"data:{mime};base64,{base64.b64encode(data).decode()}"
