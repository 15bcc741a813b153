"""Base64, right and wrong."""

import pytest

from pycodex.supervisor.text.base64_text import BadBase64, decoded


@pytest.mark.parametrize(("text", "data"), [("", b""), ("YQ==", b"a"), ("aGV5Cg==", b"hey\n"), ("/+8=", b"\xff\xef")])
def test_bytes_come_back(text: str, data: bytes) -> None:
    assert decoded(text) == data


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a", "Invalid input length: 1"),
        ("YQ", "Invalid padding"),
        ("YQ=", "Invalid padding"),
        ("YQ===", "Invalid symbol 61, offset 4."),
        ("YR==", "Invalid last symbol 82, offset 1."),
        ("YW=Z", "Invalid symbol 61, offset 2."),
        ("!!", "Invalid symbol 33, offset 0."),
        ("YQ==\n", "Invalid symbol 61, offset 2."),
        ("YÖ==", "Invalid symbol 195, offset 1."),
    ],
)
def test_complaints_are_those_of_the_reference(text: str, complaint: str) -> None:
    with pytest.raises(BadBase64) as raised:
        decoded(text)
    assert str(raised.value) == complaint
