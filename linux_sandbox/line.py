"""The private line between a trusted parent and the first process of its box.

Owns two codecs, one for each direction. Down go orders, marshalled: whoever reads them believes the writer anyway. Up
comes what the box says of itself; once it is confined it deserves no more trust than the command, so that side is
bounded in size and made of plain values only, which no bytes can turn into anything else. The command itself never has
a descriptor of the line, as all of them close when it is executed.
"""

import marshal
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_TOLD_BYTES = 256 << 10
_HEADER_BYTES = 4
_DEEPEST = 8
_WORDS = {b"n": None, b"t": True, b"f": False}


def order(fd: int, *message: "Any") -> None:
    """From the parent to the box."""
    _send(fd, marshal.dumps(message))


def take_order(fd: int) -> "tuple[Any, ...] | None":
    """In the box: the next order; None when the parent has gone."""
    body = _receive(fd, most_bytes=1 << 31)
    if body is None:
        return None
    message: tuple[Any, ...] = marshal.loads(body)
    return message


def tell(fd: int, *message: "Any") -> None:
    """From the box to the parent: None, truth values, numbers, texts, and lists and maps of them."""
    pieces: list[bytes] = []
    _encode(list(message), pieces)
    _send(fd, b"".join(pieces))


def hear(fd: int) -> "tuple[Any, ...] | None":
    """In the parent: the next message; None when the box has gone, or says what makes no sense."""
    body = _receive(fd, most_bytes=MAX_TOLD_BYTES)
    if body is None:
        return None
    try:
        message, end = _decoded(body, 0, _DEEPEST)
    except (ValueError, IndexError):
        return None
    return tuple(message) if isinstance(message, list) and end == len(body) else None


def _encode(value: "Any", pieces: "list[bytes]") -> None:
    if value is None or value is True or value is False:
        pieces.append(b"n" if value is None else b"t" if value else b"f")
    elif isinstance(value, str):
        data = value.encode("utf-8", "surrogateescape")
        pieces.append(b"s%d;%s" % (len(data), data))
    elif isinstance(value, int):
        pieces.append(b"i%d;" % value)
    elif isinstance(value, float):
        pieces.append(b"d%s;" % repr(value).encode())
    elif isinstance(value, list | tuple):
        pieces.append(b"l%d;" % len(value))
        for item in value:
            _encode(item, pieces)
    elif isinstance(value, dict):
        pieces.append(b"m%d;" % len(value))
        for name, item in value.items():
            _encode(name, pieces)
            _encode(item, pieces)
    else:
        raise TypeError(f"{type(value).__name__} cannot be told")


def _decoded(body: bytes, at: int, depth: int) -> "tuple[Any, int]":
    """The value at a place, and where it ends."""
    kind = body[at : at + 1]
    if kind in _WORDS:
        return _WORDS[kind], at + 1
    end = body.index(b";", at)
    text = body[at + 1 : end]
    at = end + 1
    if kind == b"d":
        return float(text), at
    number = int(text)
    if kind == b"i":
        return number, at
    if kind == b"s":
        if not 0 <= number <= len(body) - at:
            raise ValueError("a text beyond the end")
        return body[at : at + number].decode("utf-8", "surrogateescape"), at + number
    if kind not in (b"l", b"m") or not depth:
        raise ValueError("no value")
    items = []
    for _ in range(number if kind == b"l" else 2 * number):
        item, at = _decoded(body, at, depth - 1)
        items.append(item)
    if kind == b"l":
        return items, at
    names = items[::2]
    if not all(isinstance(name, str) for name in names):
        raise ValueError("a name that is no text")
    return dict(zip(names, items[1::2], strict=True)), at


def _send(fd: int, data: bytes) -> None:
    rest = len(data).to_bytes(_HEADER_BYTES, "little") + data
    while rest:
        rest = rest[os.write(fd, rest) :]


def _receive(fd: int, *, most_bytes: int) -> "bytes | None":
    header = _exactly(fd, _HEADER_BYTES)
    if header is None:
        return None
    size = int.from_bytes(header, "little")
    return _exactly(fd, size) if size <= most_bytes else None


def _exactly(fd: int, size: int) -> "bytes | None":
    data = b""
    while len(data) < size:
        try:
            part = os.read(fd, min(size - len(data), 1 << 16))
        except ConnectionResetError:
            return None
        if not part:
            return None
        data += part
    return data
