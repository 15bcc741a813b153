"""The first lines of an HTTP request, for the small servers of ours. Pure."""

from dataclasses import dataclass

MAX_HEAD_BYTES = 16 << 10
END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Head:
    method: str
    path: str
    headers: dict[str, str]
    """By their names in lower case; of several the last."""
    query: str = ""
    """As it was sent: it may be a secret, and nothing is decoded yet."""


def parse(data: bytes) -> Head | None:
    """None if it is no request."""
    first, *lines = data.partition(END)[0].decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return None
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            return None
        headers[name.strip().lower()] = value.strip()
    path, _, query = words[1].partition("?")
    return Head(words[0], path, headers, query)
