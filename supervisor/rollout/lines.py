"""The lines of a file, forwards or backwards, one at a time.

Owns how much of a file is in memory: one line and one block. A line that is longer than any that was ever written is
passed over without being held. Knows nothing of what the lines say.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

# A line may hold a whole compacted history, pictures included.
MAX_LINE_BYTES = 128 << 20
BLOCK_BYTES = 256 << 10


def forwards(file: "BinaryIO", *, end: int | None = None, max_line_bytes: int = MAX_LINE_BYTES) -> "Iterator[bytes]":
    """From where the file stands; up to the place `end` if given, which then is the end of a line."""
    is_tail = False
    while end is None or file.tell() < end:
        line = file.readline(max_line_bytes)
        if not line:
            return
        is_whole = line.endswith(b"\n") or len(line) < max_line_bytes
        if is_whole and not is_tail:
            yield line
        is_tail = not is_whole


def backwards(file: "BinaryIO", *, end: int, max_line_bytes: int = MAX_LINE_BYTES) -> "Iterator[bytes]":
    """From the place `end` to the beginning, the last line first."""
    pieces: list[bytes] = []
    held = 0
    for block in _blocks_backwards(file, end):
        first, *others = block.split(b"\n")
        for piece in reversed(others):
            if held + len(piece) <= max_line_bytes:
                yield b"".join((piece, *reversed(pieces)))
            pieces, held = [], 0
        held += len(first)
        if held > max_line_bytes:
            pieces = []
        else:
            pieces.append(first)
    if held <= max_line_bytes:
        yield b"".join(reversed(pieces))


def _blocks_backwards(file: "BinaryIO", end: int) -> "Iterator[bytes]":
    while end > 0:
        start = max(0, end - BLOCK_BYTES)
        file.seek(start)
        yield file.read(end - start)
        end = start
