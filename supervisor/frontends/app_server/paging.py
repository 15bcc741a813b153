"""Lists that clients read page by page, with the offset of the next page as the cursor.

Owns what a cursor is and what is wrong with one. Knows nothing of what is listed.
"""

from collections.abc import Sequence
from typing import TypeVar

from pycodex.supervisor.frontends.app_server.method import RpcError

T = TypeVar("T")

_MOST_DIGITS = 19


def page(items: Sequence[T], *, cursor: str | None, limit: int | None, what: str) -> tuple[Sequence[T], str | None]:
    """A page, of at least one item, and the cursor of the next one. `what` names the items in errors."""
    start = 0 if cursor is None else _offset(cursor)
    if start > len(items):
        raise RpcError(f"cursor {start} exceeds total {what} {len(items)}")
    end = len(items) if limit is None else min(len(items), start + max(1, limit))
    return items[start:end], str(end) if end < len(items) else None


def _offset(cursor: str) -> int:
    digits = cursor.removeprefix("+")
    if not (digits.isdecimal() and digits.isascii() and len(digits) <= _MOST_DIGITS):
        raise RpcError(f"invalid cursor: {cursor}")
    return int(digits)
