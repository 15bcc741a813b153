"""What is a message, what is none, and how ours are written."""

import json

import pytest

from pycodex.protocol.jsonrpc import Failure, Notification, Request, Response, answer, decode, encode, error_answer


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"no json",
        b"[]",
        b"1",
        b'{"id":1}',
        b'{"id":null,"result":1}',
        b'{"id":1.5,"result":1}',
        b"\xff",
        b"[" * 9999,
        b'{"id":1,"result":NaN}',
        b'{"id":1,"result":-Infinity}',
        '{"id":1,"result":1}'.encode("utf-16"),
        b'{"id":1,"result":' + b"1" * 5000 + b"}",
        b'{"id":1,"result":-1e999}',
        b'{"id":1,"result":' + b"[" * 127 + b"]" * 127 + b"}",
        b'{"id":1,"result":' + b'{"a":' * 127 + b"1" + b"}" * 127 + b"}",
    ],
)
def test_what_is_no_message_is_nothing(line: bytes) -> None:
    assert decode(line) is None


def test_a_message_may_be_as_deep_as_others_can_read_it() -> None:
    told = decode(b'{"id":1,"result":' + b"[" * 126 + b"]" * 126 + b"}")
    assert isinstance(told, Response)


def test_every_kind_is_told_apart() -> None:
    assert decode(b'{"id":1,"method":"m","params":{"a":1},"jsonrpc":"2.0"}') == Request(
        id=1, method="m", params={"a": 1}
    )
    assert decode(b'{"id":"s","method":"m"}') == Request(id="s", method="m", params=None)
    assert decode(b'{"method":"m","params":[]}') == Notification(method="m", params=[])
    assert decode(b'{"id":0,"result":null}') == Response(id=0, result=None)
    assert decode(b'{"id":0,"error":{"code":1}}') == Failure(id=0, error={"code": 1})


@pytest.mark.parametrize("odd", ["1.0", "true", "null", "9223372036854775808", "{}"])
def test_ids_of_another_kind_make_no_request(odd: str) -> None:
    assert decode(f'{{"id":{odd},"method":"m"}}') == Notification(method="m", params=None)


def test_numbers_of_64_bits_are_kept() -> None:
    request = decode(b'{"id":9007199254740993,"method":"m"}')
    assert isinstance(request, Request)
    assert encode(answer(request.id, {})) == b'{"id":9007199254740993,"result":{}}'


def test_errors_say_only_what_there_is_to_say() -> None:
    assert error_answer("a", code=-1, message="no") == {"error": {"code": -1, "message": "no"}, "id": "a"}
    assert error_answer(1, code=-1, message="no", data={"x": 1})["error"]["data"] == {"x": 1}


def test_half_a_character_does_not_break_the_line() -> None:
    assert json.loads(encode({"text": "\ud800ü\n"})) == {"text": "?ü\n"}


def test_numbers_that_json_cannot_tell_are_null() -> None:
    message = {"params": [float("inf"), {"a": float("nan"), "b": 1.5}]}
    assert json.loads(encode(message)) == {"params": [None, {"a": None, "b": 1.5}]}
