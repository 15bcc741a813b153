"""What the first lines of a client of a listening server are answered with.

Owns which requests become a WebSocket: none that a web page may have made, and where a token is asked for, none without
it. Pure.
"""

import hmac

from pycodex.protocol.http_head import Head

_TEXTS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden"}
_HEALTH_PATHS = ("/readyz", "/healthz")


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
