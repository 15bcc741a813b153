"""Bytes of unknown encoding as text.

Owns the order of preference: UTF-8 where it is UTF-8, else what `encoding_guess` thinks it is, read as browsers do.
Takes bytes, gives text, never fails. Does no I/O.
"""

FALLBACK = "cp1252"
# A character of UTF-8 takes no more.
_CHARACTER_BYTES = 4
# The bytes that windows-1252 has no meaning for; browsers read them as control characters.
_MEANINGLESS = (0x81, 0x8D, 0x8F, 0x90, 0x9D)
_WINDOWS_1252 = {byte: bytes((byte,)).decode(FALLBACK) for byte in range(0x80, 0xA0) if byte not in _MEANINGLESS}


def as_text(data: bytes, *, is_cut: bool = False) -> str:
    """`is_cut`: more was to follow, so the last character may be there only in part; then it is left out."""
    if is_cut:
        data = _without_begun_character(data)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        # Most output never gets here, so its tables need not be there from the start.
        from pycodex.supervisor.text.encoding_guess import likeliest

        encoding = likeliest(data)
    return windows_1252(data) if encoding == FALLBACK else data.decode(encoding, "replace")


def _without_begun_character(data: bytes) -> bytes:
    for size in range(1, min(_CHARACTER_BYTES, len(data) + 1)):
        last = data[-size]
        if last >= 0xC0:
            wanted = 2 if last < 0xE0 else 3 if last < 0xF0 else 4
            return data[:-size] if wanted > size else data
        if last < 0x80:
            break
    return data


def windows_1252(data: bytes) -> str:
    """Every byte is a character."""
    return data.decode("latin-1").translate(_WINDOWS_1252)
