"""Requests to the places that give out logins, as values.

Owns the seam: whoever knows HTTP is handed in as a `Send`. Knows no place and no login.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pycodex.protocol.errors import UserFacing


class Unreachable(UserFacing):
    """No answer came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebRequest:
    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """The body as far as it was read."""

    status: int
    text: str = field(repr=False)

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300

    @property
    def status_text(self) -> str:
        """`404 Not Found`."""
        from http import HTTPStatus

        try:
            return f"{self.status} {HTTPStatus(self.status).phrase}"
        except ValueError:
            return str(self.status)

    @property
    def json_object(self) -> Mapping[str, Any] | None:
        """None if it is something else."""
        import json

        try:
            told = json.loads(self.text)
        except (ValueError, RecursionError):
            return None
        return told if isinstance(told, dict) else None

    @property
    def fields(self) -> Mapping[str, Any]:
        """Of that object; none where it is something else."""
        return self.json_object or {}


Send = Callable[[WebRequest], Awaitable[WebAnswer]]
"""Raises Unreachable, and takes no longer than a person would wait."""


def json_request(url: str, content: Mapping[str, Any]) -> WebRequest:
    import json

    body = json.dumps(content).encode("ascii")
    return WebRequest(method="POST", url=url, headers={"content-type": "application/json"}, body=body)


def form_request(url: str, fields: Mapping[str, str]) -> WebRequest:
    from urllib.parse import quote, urlencode

    headers = {"content-type": "application/x-www-form-urlencoded"}
    return WebRequest(
        method="POST", url=url, headers=headers, body=urlencode(fields, quote_via=quote, safe="").encode()
    )
