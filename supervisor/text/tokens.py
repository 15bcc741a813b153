"""Guessing how many tokens something takes, without the model's own vocabulary.

Owns the estimate: four bytes are a token, and where the bytes are not what the model reads (pictures, encrypted
reasoning) a rule of thumb. Takes texts and items, gives numbers.
"""

import json
from functools import lru_cache

from pycodex.protocol.items import written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pycodex.protocol.items import Item, Part

BYTES_A_TOKEN = 4
# A picture that is scaled to fit costs about as much as this many bytes of text.
IMAGE_BYTES = 7373
PATCH_PIXELS = 32
# What encryption and its envelope add to the reasoning inside.
ENCRYPTION_BYTES = 650

_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def size_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def tokens_of_bytes(count: int) -> int:
    return -(-count // BYTES_A_TOKEN)


def estimate_tokens(text: str) -> int:
    return tokens_of_bytes(size_bytes(text))


def estimate_item_tokens(item: "Item") -> int:
    """What the item adds to a request."""
    kind = item["type"]
    if kind == "ghost_snapshot":
        return 0
    if kind in ("reasoning", "compaction"):
        encrypted = item.get("encrypted_content")
        if type(encrypted) is str:
            return tokens_of_bytes(max(0, len(encrypted) * 3 // 4 - ENCRYPTION_BYTES))
    size = size_bytes(_compact(written(item)))
    for part in _pictures(item):
        url = part["image_url"]
        size += _image_bytes(url, part.get("detail")) - (len(url) - url.index(",") - 1)
    return tokens_of_bytes(max(0, size))


def _pictures(item: "Item") -> "Iterator[Part]":
    """The parts that carry a whole picture in base64."""
    parts = item.get("content") if item["type"] == "message" else item.get("output")
    for part in parts if isinstance(parts, list) else ():
        url = part.get("image_url")
        if part.get("type") == "input_image" and type(url) is str and _is_base64_picture(url):
            yield part


def _is_base64_picture(url: str) -> bool:
    head, comma, _ = url[:200].partition(",")
    head = head.lower()
    return comma == "," and head.startswith("data:image/") and head.endswith(";base64")


def _image_bytes(url: str, detail: object) -> int:
    if detail != "original":
        return IMAGE_BYTES
    width, height = _dimensions(url)
    if not width:
        return IMAGE_BYTES
    return -(-width // PATCH_PIXELS) * -(-height // PATCH_PIXELS) * BYTES_A_TOKEN


@lru_cache(maxsize=32)
def _dimensions(url: str) -> "tuple[int, int]":
    """Zeros if it is no picture."""
    import base64
    import io

    from PIL import Image

    try:
        with Image.open(io.BytesIO(base64.b64decode(url[url.index(",") + 1 :]))) as picture:
            return picture.size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return 0, 0
