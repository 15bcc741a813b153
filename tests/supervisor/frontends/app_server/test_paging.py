"""Pages and their cursors."""

import pytest

from pycodex.supervisor.frontends.app_server.method import RpcError
from pycodex.supervisor.frontends.app_server.paging import page

ITEMS = ("a", "b", "c")


@pytest.mark.parametrize(
    ("cursor", "limit", "found", "following"),
    [
        (None, None, "abc", None),
        (None, 2, "ab", "2"),
        ("2", 2, "c", None),
        ("3", 2, "", None),
        (None, 0, "a", "1"),
        ("1", 1 << 32, "bc", None),
    ],
)
def test_pages_follow_each_other(cursor: str | None, limit: int | None, found: str, following: str | None) -> None:
    items, next_cursor = page(ITEMS, cursor=cursor, limit=limit, what="letters")
    assert ("".join(items), next_cursor) == (found, following)


@pytest.mark.parametrize("cursor", ["", "x", "-1", "1.5", "9" * 5000, "٣"])
def test_what_is_no_offset_is_no_cursor(cursor: str) -> None:
    with pytest.raises(RpcError) as raised:
        page(ITEMS, cursor=cursor, limit=None, what="letters")
    assert raised.value.message == f"invalid cursor: {cursor}"


def test_a_cursor_beyond_the_end_is_told() -> None:
    with pytest.raises(RpcError, match="cursor 4 exceeds total letters 3"):
        page(ITEMS, cursor="4", limit=None, what="letters")
