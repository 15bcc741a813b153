"""The private line between a trusted parent and the first process of its box.

Messages are marshalled tuples with a length before them. Both ends are our own code from the same fork; the command
never has a descriptor of it, as all of them close when it is executed.
"""

import marshal
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HEADER_BYTES = 4


def tell(fd: int, *message: "Any") -> None:
    data = marshal.dumps(message)
    rest = len(data).to_bytes(_HEADER_BYTES, "little") + data
    while rest:
        rest = rest[os.write(fd, rest) :]


def hear(fd: int) -> "tuple[Any, ...] | None":
    """The next message; None when the other side has gone."""
    header = _exactly(fd, _HEADER_BYTES)
    body = _exactly(fd, int.from_bytes(header, "little")) if header else None
    if body is None:
        return None
    message: tuple[Any, ...] = marshal.loads(body)
    return message


def _exactly(fd: int, size: int) -> "bytes | None":
    data = b""
    while len(data) < size:
        try:
            part = os.read(fd, size - len(data))
        except ConnectionResetError:
            return None
        if not part:
            return None
        data += part
    return data
