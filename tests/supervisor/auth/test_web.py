"""Requests as values."""

import json

import pytest

from pycodex.supervisor.auth.web import WebAnswer, form_request, json_request


def test_bodies_are_encoded_and_not_shown() -> None:
    form = form_request("http://x", {"a b": "c&d=é"})
    assert (form.method, form.body) == ("POST", b"a%20b=c%26d%3D%C3%A9")
    content = json_request("http://x", {"token": "secret"})
    assert json.loads(content.body) == {"token": "secret"}
    assert "secret" not in repr(content)
    assert "secret" not in repr(WebAnswer(200, "secret"))


def test_a_status_is_told_in_words_where_it_has_any() -> None:
    assert [WebAnswer(status, "").status_text for status in (404, 599)] == ["404 Not Found", "599"]
    assert [WebAnswer(status, "").is_good for status in (199, 200, 299, 302)] == [False, True, True, False]


@pytest.mark.parametrize("text", ["", "[1]", "null", "{", "[" * 100_000])
def test_what_is_no_object_has_no_fields(text: str) -> None:
    assert (WebAnswer(200, text).json_object, WebAnswer(200, text).fields) == (None, {})
    assert WebAnswer(200, '{"a": 1}').fields == {"a": 1}
