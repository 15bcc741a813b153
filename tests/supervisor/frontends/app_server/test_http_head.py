"""Which requests may become a WebSocket."""

import pytest

from pycodex.supervisor.frontends.app_server.http_head import Head, answer, parse, refusal

UPGRADE = {"upgrade": "websocket", "connection": "Upgrade"}


def test_head_is_parsed() -> None:
    head = parse(b"GET /path?x=1 HTTP/1.1\r\nHost: a\r\nUpgrade: WebSocket\r\n\r\nmore")
    assert head == Head("GET", "/path", {"host": "a", "upgrade": "WebSocket"})


@pytest.mark.parametrize(
    "data", [b"", b"GET /\r\n\r\n", b"GET / HTTP/2\r\n\r\n", b"GET / HTTP/1.1\r\nno header\r\n\r\n"]
)
def test_anything_else_is_no_head(data: bytes) -> None:
    assert parse(data) is None
    assert refusal(parse(data), None) == 400


@pytest.mark.parametrize(
    ("head", "token", "expected"),
    [
        (Head("GET", "/", UPGRADE), None, None),
        (Head("GET", "/", {}), None, 400),
        (Head("GET", "/readyz", {}), "secret", 200),
        (Head("POST", "/readyz", {}), None, 400),
        (Head("GET", "/", {**UPGRADE, "origin": "null"}), None, 403),
        (Head("GET", "/", UPGRADE), "secret", 401),
        (Head("GET", "/", {**UPGRADE, "authorization": "Basic secret"}), "secret", 401),
        (Head("GET", "/", {**UPGRADE, "authorization": "bearer secret"}), "secret", None),
        (Head("GET", "/", {**UPGRADE, "authorization": "Bearer secrets"}), "secret", 401),
    ],
)
def test_who_is_let_in(head: Head, token: str | None, expected: int | None) -> None:
    assert refusal(head, token) == expected


def test_answer_is_complete() -> None:
    assert answer(403).startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert answer(403).endswith(b"\r\n\r\n")
