"""Bytes that came as base64, read strictly.

Owns what is refused, and in which words: those of the reference, because clients may look for them. Pure.
"""

import base64
import binascii

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_VALUES = {symbol: value for value, symbol in enumerate(_ALPHABET)}


class BadBase64(ValueError):
    """The text is no base64, or not written as it should be."""


def decoded(text: str) -> bytes:
    """The bytes; every one of them must have its padding and nothing may be left over."""
    data = text.encode("utf-8", "surrogatepass")
    try:
        found = base64.b64decode(data, validate=True)
        if base64.b64encode(found) == data:
            return found
    except binascii.Error:
        pass
    raise BadBase64(_complaint(data))


def _complaint(data: bytes) -> str:
    symbols = data.rstrip(b"=")
    for offset, symbol in enumerate(symbols):
        if symbol not in _VALUES:
            return f"Invalid symbol {symbol}, offset {offset}."
    if len(symbols) % 4 == 1:
        return f"Invalid input length: {len(data)}"
    missing = -len(symbols) % 4
    if len(data) - len(symbols) > missing:
        return f"Invalid symbol {ord('=')}, offset {len(symbols) + missing}."
    unused_bits = (1 << 2 * missing) - 1
    if len(data) - len(symbols) == missing and _VALUES[symbols[-1]] & unused_bits:
        return f"Invalid last symbol {symbols[-1]}, offset {len(symbols) - 1}."
    return "Invalid padding"
