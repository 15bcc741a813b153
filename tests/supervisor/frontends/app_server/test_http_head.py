"""Which requests may become a WebSocket."""

import pytest

from pycodex.protocol.http_head import Head
from pycodex.supervisor.frontends.app_server.http_head import answer, refusal

UPGRADE = {"upgrade": "websocket", "connection": "Upgrade"}


def test_what_is_no_head_is_a_bad_request() -> None:
    assert refusal(None, None) == 400


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
