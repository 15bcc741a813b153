"""Requests as values."""

import json

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
