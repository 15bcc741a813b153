"""The first lines of what a client sends to a listening server, and what they are answered with.

Owns which requests become a WebSocket: none that a web page may have made, and where a token is asked for, none without
it. Pure.
"""

import hmac
from dataclasses import dataclass

MAX_HEAD_BYTES = 16 << 10
END = b"\r\n\r\n"

_TEXTS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden"}
_HEALTH_PATHS = ("/readyz", "/healthz")


@dataclass(frozen=True, slots=True)
class Head:
    method: str
    path: str
    headers: dict[str, str]
    """By their names in lower case; of several the last."""


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
    return Head(words[0], words[1].partition("?")[0], headers)


def refusal(head: Head | None, token: str | None) -> int | None:
    """The status to answer with; None: it may become a WebSocket."""
    if head is None:
        return 400
    if "origin" in head.headers:
        return 403
    if head.method == "GET" and head.path in _HEALTH_PATHS:
        return 200
    if "websocket" not in head.headers.get("upgrade", "").lower():
        return 400
    return None if token is None or _has_token(head, token) else 401


def _has_token(head: Head, token: str) -> bool:
    scheme, _, given = head.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode())


def answer(status: int) -> bytes:
    return f"HTTP/1.1 {status} {_TEXTS[status]}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode()
