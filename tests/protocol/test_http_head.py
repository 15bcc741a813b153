"""The head of a request, and what is none."""

import pytest

from pycodex.protocol.http_head import Head, parse


def test_head_is_parsed() -> None:
    head = parse(b"GET /path?x=1&y=%20 HTTP/1.1\r\nHost: a\r\nUpgrade: WebSocket\r\n\r\nmore")
    assert head == Head("GET", "/path", {"host": "a", "upgrade": "WebSocket"}, "x=1&y=%20")


@pytest.mark.parametrize(
    "data", [b"", b"GET /\r\n\r\n", b"GET / HTTP/2\r\n\r\n", b"GET / HTTP/1.1\r\nno header\r\n\r\n"]
)
def test_anything_else_is_no_head(data: bytes) -> None:
    assert parse(data) is None
