"""What each refusal says, and whether it is worth another try."""

import base64
import json
from typing import Any

import pytest

from pycodex.supervisor.model.failures import response_failed, response_incomplete, status_failed, status_text
from pycodex.supervisor.model.stream import ModelFailure

URL = "http://127.0.0.1:1/v1/responses"
BROKE = "stream disconnected before completion: "
OVERFLOW = (
    "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying."
)
NOT_INCLUDED = "To use Codex with your ChatGPT plan, upgrade to Plus: https://chatgpt.com/explore/plus."
CAPACITY = "Selected model is at capacity. Please try a different model."


def seen(failure: ModelFailure) -> tuple[str, bool, Any]:
    return failure.message, failure.retryable, failure.info


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"code": "context_length_exceeded", "message": "m"}, (OVERFLOW, False, "context_window_exceeded")),
        (
            {"code": "insufficient_quota"},
            ("Quota exceeded. Check your plan and billing details.", False, "usage_limit_exceeded"),
        ),
        ({"code": "usage_not_included"}, (NOT_INCLUDED, False, "usage_limit_exceeded")),
        ({"code": "invalid_prompt", "message": "m"}, ("m", False, "other")),
        ({"code": "invalid_prompt"}, ("Invalid request.", False, "other")),
        ({"code": "server_is_overloaded"}, (CAPACITY, False, "server_overloaded")),
        ({"code": "slow_down"}, (CAPACITY, False, "server_overloaded")),
        ({"code": "rate_limit_exceeded", "message": "m"}, (f"{BROKE}m", True, "other")),
        ({"code": "whatever", "message": "m"}, (f"{BROKE}m", True, "other")),
        ({"code": ["odd"], "message": 5}, (BROKE, True, "other")),
        (None, (f"{BROKE}response.failed event received", True, "other")),
        ("text", (f"{BROKE}response.failed event received", True, "other")),
    ],
)
def test_codes_of_response_failed(error: object, expected: tuple[str, bool, Any]) -> None:
    assert seen(response_failed({"id": "r", "error": error})) == expected


@pytest.mark.parametrize("response", [None, 5, "x", []])
def test_response_failed_without_a_response(response: object) -> None:
    assert response_failed(response).message == f"{BROKE}response.failed event received"


def test_only_the_overflow_is_one() -> None:
    assert response_failed({"error": {"code": "context_length_exceeded"}}).is_context_overflow
    assert not response_failed({"error": {"code": "invalid_prompt"}}).is_context_overflow


@pytest.mark.parametrize(
    ("code", "message", "delay_s"),
    [
        ("rate_limit_exceeded", "Please try again in 1.2s.", 1.2),
        ("rate_limit_exceeded", "TRY AGAIN IN 28ms", 0.028),
        ("rate_limit_exceeded", "try again in 35 seconds", 35),
        ("rate_limit_exceeded", "try again in 1 second", 1),
        ("rate_limit_exceeded", "try again in a while", None),
        ("rate_limit_exceeded", "", None),
        ("other", "try again in 5s", None),
    ],
)
def test_pause_that_the_server_asks_for(code: str, message: str, delay_s: float | None) -> None:
    assert response_failed({"error": {"code": code, "message": message}}).delay_s == delay_s


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ({"incomplete_details": {"reason": "max_output_tokens"}}, "max_output_tokens"),
        ({"incomplete_details": {}}, "unknown"),
        ({"incomplete_details": 5}, "unknown"),
        (None, "unknown"),
    ],
)
def test_response_incomplete(response: object, reason: str) -> None:
    failure = response_incomplete(response)
    assert seen(failure) == (f"{BROKE}Incomplete response returned, reason: {reason}", True, "other")


TOO_MANY = {"response_too_many_failed_attempts": {"http_status_code": 429}}
CLOUDFLARE = (
    "Access blocked by Cloudflare. This usually happens when connecting from a restricted region "
    f"(status 403 Forbidden), url: {URL}, cf-ray: ray"
)


@pytest.mark.parametrize(
    ("status", "body", "headers", "expected"),
    [
        (400, '{"error":{"message":"bad"}}', {}, ('{"error":{"message":"bad"}}', False, "other")),
        (
            401,
            '{"error":{"message":" no key "}}',
            {},
            (f"unexpected status 401 Unauthorized: no key, url: {URL}", True, "other"),
        ),
        (403, "forbidden", {}, (f"unexpected status 403 Forbidden: forbidden, url: {URL}", True, "other")),
        (403, "Cloudflare says: blocked", {"cf-ray": "ray"}, (CLOUDFLARE, True, "other")),
        (404, " ", {}, (f"unexpected status 404 Not Found: Unknown error, url: {URL}", True, "other")),
        (
            418,
            "[]",
            {"x-oai-request-id": "r2", "cf-ray": "ray", "x-openai-authorization-error": "expired"},
            (
                f"unexpected status 418 I'm a teapot: [], url: {URL}, cf-ray: ray, request id: r2, auth error: expired",
                True,
                "other",
            ),
        ),
        (429, "{}", {}, ("exceeded retry limit, last status: 429 Too Many Requests", False, TOO_MANY)),
        (
            429,
            "not json",
            {"cf-ray": "ray"},
            ("exceeded retry limit, last status: 429 Too Many Requests, request id: ray", False, TOO_MANY),
        ),
        (429, '{"error":{"type":"usage_not_included"}}', {}, (NOT_INCLUDED, False, "usage_limit_exceeded")),
        (
            500,
            "oops",
            {},
            (
                "We're currently experiencing high demand, which may cause temporary errors.",
                True,
                "internal_server_error",
            ),
        ),
        (503, '{"error":{"code":"slow_down"}}', {}, (CAPACITY, False, "server_overloaded")),
        (503, "{}", {}, (f"unexpected status 503 Service Unavailable: {{}}, url: {URL}", True, "other")),
        (599, "x", {}, (f"unexpected status 599 <unknown status code>: x, url: {URL}", True, "other")),
    ],
)
def test_status(status: int, body: str, headers: dict[str, str], expected: tuple[str, bool, Any]) -> None:
    assert seen(status_failed(status, headers, body, url=URL)) == expected


def test_code_of_an_auth_error_is_in_a_header() -> None:
    encoded = base64.b64encode(json.dumps({"error": {"code": "token_expired"}}).encode()).decode()
    failure = status_failed(401, {"x-error-json": encoded}, "", url=URL)
    assert failure.message.endswith("auth error code: token_expired")
    assert status_failed(401, {"x-error-json": "!!"}, "", url=URL).message.endswith(URL)


def test_long_body_is_cut_between_characters() -> None:
    failure = status_failed(404, {}, "€" * 1000, url=URL)
    assert f": {'€' * 333}..., url" in failure.message


def test_bad_image_is_named_as_such() -> None:
    body = '{"error":{"message":"The image data you provided does not represent a valid image. More."}}'
    failure = status_failed(400, {}, body, url=URL)
    assert failure.is_bad_image
    assert seen(failure) == (
        "Invalid image in your last message. Please remove it and try again.",
        False,
        "bad_request",
    )


def test_usage_limit_brings_its_snapshot() -> None:
    headers = {"x-codex-active-limit": "codex_other", "x-codex-other-primary-used-percent": "100"}
    failure = status_failed(429, headers, '{"error":{"type":"usage_limit_reached","plan_type":"plus"}}', url=URL)
    assert failure.info == "usage_limit_exceeded"
    assert failure.rate_limits is not None
    assert failure.rate_limits["limit_id"] == "codex_other"
    assert failure.message.startswith("You've hit your usage limit. Upgrade to Pro")


def test_notice_tells_the_status() -> None:
    failure = status_failed(502, {}, "", url=URL)
    assert failure.notice_info == {"response_stream_disconnected": {"http_status_code": 502}}


@pytest.mark.parametrize("body", ["[" * 200_000, '{"error": 5}', '{"error": {"message": 5, "code": []}}', "\x00"])
def test_no_body_can_break_it(body: str) -> None:
    for status in (400, 401, 429, 503):
        assert isinstance(status_failed(status, {}, body, url=URL), ModelFailure)


def test_status_text() -> None:
    assert (status_text(413), status_text(200)) == ("413 Payload Too Large", "200 OK")
