"""Ids that are none."""

import pytest

from pycodex.supervisor.frontends.app_server.method import RpcError
from pycodex.supervisor.frontends.app_server.methods.calls import call_of, checked_id


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "invalid length: expected length 32 for simple format, found 0"),
        ("abc", "invalid length: expected length 32 for simple format, found 3"),
        (
            "0195-zz",
            "invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `z` at 6",
        ),
        ("0195-00", "invalid group count: expected 5, found 2"),
        ("01950000-0000-7000-8000-00", "invalid group length in group 4: expected 12, found 2"),
    ],
)
def test_what_is_wrong_is_told(text: str, wrong: str) -> None:
    with pytest.raises(RpcError) as error:
        checked_id(text)
    assert error.value.message == f"invalid thread id: {wrong}"


def test_only_calls_of_this_server_are_taken() -> None:
    with pytest.raises(TypeError):
        call_of(object())  # type: ignore[arg-type]
