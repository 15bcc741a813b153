"""The schema file; error texts are those of the reference."""

from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.frontends.exec import output_schema as module
from pycodex.supervisor.frontends.exec.output_schema import read_output_schema


@pytest.mark.parametrize(
    ("text", "value"),
    [('{"type": "object", "a": [1, 2.5, null]}', {"type": "object", "a": [1, 2.5, None]}), ('"any"', "any")],
)
def test_any_json_value_passes(text: str, value: Any, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(text)
    assert read_output_schema(str(tmp_path / "s.json")) == value


def test_none_is_asked_for() -> None:
    assert read_output_schema(None) is None


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{a}", "key must be a string at line 1 column 2"),
        (b"", "EOF while parsing a value at line 1 column 0"),
        (b'{"a":1,}', "trailing comma at line 1 column 8"),
        (b'{"a":1} x', "trailing characters at line 1 column 9"),
        (b'{\n  "a": tru\n}', "expected ident at line 3 column 0"),
        (b"[1 2]", "expected `,` or `]` at line 1 column 4"),
        (b"  \n ", "EOF while parsing a value at line 2 column 1"),
        (b"NaN", "expected value at line 1 column 1"),
        (b"\xef\xbb\xbf{}", "expected value at line 1 column 1"),
        (b"1e999", "number out of range at line 1 column 5"),
        (b"[" * 200, "recursion limit exceeded at line 1 column 128"),
    ],
)
def test_what_is_no_json_is_told(data: bytes, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.json").write_bytes(data)
    with pytest.raises(UserFacing) as caught:
        read_output_schema("bad.json")
    assert str(caught.value) == f"Output schema file bad.json is not valid JSON: {why}"
    assert caught.value.prefix == ""


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("none.json", "No such file or directory (os error 2)"),
        (".", "Is a directory (os error 21)"),
        ("binary", "stream did not contain valid UTF-8"),
        ("big", "it is longer than 0 MiB"),
    ],
)
def test_what_cannot_be_read_is_told(name: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    Path("binary").write_bytes(b"\xff\xfe\0")
    Path("big").write_bytes(b" " * 11)
    with pytest.raises(UserFacing) as caught:
        read_output_schema(name)
    assert (str(caught.value), caught.value.prefix) == (f"Failed to read output schema file {name}: {why}", "")
