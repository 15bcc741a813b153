"""From a refusal to what the person reads and the turn does about it.

Owns the texts and the classes of failures: HTTP answers, codes of `response.failed`, broken streams. Does no I/O and
retries nothing; takes what the server said, gives a `ModelFailure`.
"""

import json
from collections.abc import Mapping
from typing import Any

from pycodex.supervisor.model.rate_limits import snapshot_of
from pycodex.supervisor.model.stream import ModelFailure

CLOSED_EARLY = "stream closed before response.completed"
IDLE = "idle timeout waiting for SSE"
OVERLOADED = "Selected model is at capacity. Please try a different model."
_OVERLOADED_CODES = ("server_is_overloaded", "slow_down")
_OVERFLOW = (
    "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying."
)
_BAD_IMAGE_MARK = "The image data you provided does not represent a valid image"
_BAD_IMAGE = "Invalid image in your last message. Please remove it and try again."
_CLOUDFLARE = (
    "Access blocked by Cloudflare. This usually happens when connecting from a restricted region (status {status})"
)
_BUSY = "We're currently experiencing high demand, which may cause temporary errors."
_NOT_INCLUDED = "To use Codex with your ChatGPT plan, upgrade to Plus: https://chatgpt.com/explore/plus."
_QUOTA = "Quota exceeded. Check your plan and billing details."
_MOST_BODY_BYTES = 1000
# Where the library's phrase depends on the Python version or is not the usual one.
_PHRASES = {
    413: "Payload Too Large",
    414: "URI Too Long",
    416: "Range Not Satisfiable",
    418: "I'm a teapot",
    422: "Unprocessable Entity",
}


# Streams


def stream_broke(reason: str, *, delay_s: float | None = None) -> ModelFailure:
    """The stream ended, or could not begin, for a reason that may pass."""
    return ModelFailure(f"stream disconnected before completion: {reason}", retryable=True, delay_s=delay_s)


def response_failed(response: object) -> ModelFailure:
    """What `response.failed` tells."""
    error = response.get("error") if isinstance(response, Mapping) else None
    if not isinstance(error, Mapping):
        return stream_broke("response.failed event received")
    code = error.get("code")
    message = error.get("message") if type(error.get("message")) is str else None
    match code:
        case "context_length_exceeded":
            return ModelFailure(_OVERFLOW, retryable=False, info="context_window_exceeded", is_context_overflow=True)
        case "insufficient_quota":
            return ModelFailure(_QUOTA, retryable=False, info="usage_limit_exceeded")
        case "usage_not_included":
            return _not_included()
        case "invalid_prompt":
            return ModelFailure(message or "Invalid request.", retryable=False)
        case _ if code in _OVERLOADED_CODES:
            return _overloaded()
    delay_s = _asked_delay(message or "") if code == "rate_limit_exceeded" else None
    return stream_broke(message or "", delay_s=delay_s)


def response_incomplete(response: object) -> ModelFailure:
    """What `response.incomplete` tells."""
    details = response.get("incomplete_details") if isinstance(response, Mapping) else None
    reason = details.get("reason") if isinstance(details, Mapping) else None
    return stream_broke(f"Incomplete response returned, reason: {reason if type(reason) is str else 'unknown'}")


def _asked_delay(message: str) -> float | None:
    """The pause in "try again in 1.2s"."""
    import re

    found = re.search(r"try again in\s*([0-9]+(?:\.[0-9]+)?)\s*(s|ms|seconds?)", message, re.IGNORECASE)
    if found is None:
        return None
    return float(found[1]) / (1000 if found[2].lower() == "ms" else 1)


def _overloaded() -> ModelFailure:
    return ModelFailure(OVERLOADED, retryable=False, info="server_overloaded")


def _not_included() -> ModelFailure:
    return ModelFailure(_NOT_INCLUDED, retryable=False, info="usage_limit_exceeded")


# Answers that are no stream


def status_failed(status: int, headers: Mapping[str, str], body: str, *, url: str) -> ModelFailure:
    """What an HTTP answer other than 2xx means. Header names are lower-case."""
    error = _error_in(body)
    if status == 503 and error.get("code") in _OVERLOADED_CODES:
        return _overloaded()
    if status == 400:
        if _BAD_IMAGE_MARK in body:
            return ModelFailure(_BAD_IMAGE, retryable=False, info="bad_request", http_status=400, is_bad_image=True)
        return ModelFailure(body, retryable=False, http_status=400)
    if status == 500:
        return ModelFailure(_BUSY, retryable=True, info="internal_server_error")
    if status == 429:
        return _too_many(headers, error)
    return _unexpected(status, headers, body, url=url)


def _too_many(headers: Mapping[str, str], error: Mapping[str, Any]) -> ModelFailure:
    if error.get("type") == "usage_limit_reached":
        from pycodex.supervisor.model.usage_limit import usage_limit_text

        snapshot = snapshot_of(headers, headers.get("x-codex-active-limit"))
        text = usage_limit_text(error, headers, limit_name=snapshot["limit_name"])
        return ModelFailure(text, retryable=False, info="usage_limit_exceeded", rate_limits=snapshot)
    if error.get("type") == "usage_not_included":
        return _not_included()
    request_id = _request_id(headers) or headers.get("cf-ray")
    text = f"exceeded retry limit, last status: {status_text(429)}"
    return ModelFailure(
        f"{text}, request id: {request_id}" if request_id else text,
        retryable=False,
        info={"response_too_many_failed_attempts": {"http_status_code": 429}},
        http_status=429,
    )


def _unexpected(status: int, headers: Mapping[str, str], body: str, *, url: str) -> ModelFailure:
    if status == 403 and "Cloudflare" in body and "blocked" in body:
        text = _CLOUDFLARE.format(status=status_text(status))
    else:
        text = f"unexpected status {status_text(status)}: {_told(body)}"
    details = {
        "url": url,
        "cf-ray": headers.get("cf-ray"),
        "request id": _request_id(headers),
        "auth error": headers.get("x-openai-authorization-error"),
        "auth error code": _auth_error_code(headers),
    }
    text += "".join(f", {name}: {value}" for name, value in details.items() if value)
    return ModelFailure(text, retryable=True, http_status=status)


def status_text(status: int) -> str:
    """`404 Not Found`."""
    from http import HTTPStatus

    try:
        phrase = _PHRASES.get(status) or HTTPStatus(status).phrase
    except ValueError:
        phrase = "<unknown status code>"
    return f"{status} {phrase}"


def _told(body: str) -> str:
    """The error's own message, else the beginning of the body."""
    message = _error_in(body).get("message")
    if type(message) is str and message.strip():
        return message.strip()
    text = body.strip()
    if not text:
        return "Unknown error"
    data = text.encode("utf-8", "replace")
    if len(data) <= _MOST_BODY_BYTES:
        return text
    return data[:_MOST_BODY_BYTES].decode("utf-8", "ignore") + "..."


def _error_in(body: str) -> Mapping[str, Any]:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    error = parsed.get("error") if isinstance(parsed, dict) else None
    return error if isinstance(error, dict) else {}


def _request_id(headers: Mapping[str, str]) -> str | None:
    return headers.get("x-request-id") or headers.get("x-oai-request-id")


def _auth_error_code(headers: Mapping[str, str]) -> str | None:
    encoded = headers.get("x-error-json")
    if not encoded:
        return None
    from base64 import b64decode

    try:
        code = _error_in(b64decode(encoded, validate=True).decode("utf-8")).get("code")
    except ValueError:
        return None
    return code if type(code) is str else None
