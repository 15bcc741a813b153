"""Settings of a client as `-c` would have them."""

import tomllib
from typing import Any

import pytest

from pycodex.supervisor.frontends.app_server.overrides import override_texts, toml


@pytest.mark.parametrize(
    "value",
    ["text", 'quo"te\\', "line\nend\x7f", "ü", True, 7, -1.5, [], ["a", 1], {"a": {"b c": [1, {"d": "e"}]}}],
)
def test_values_come_through(value: Any) -> None:
    assert tomllib.loads(f"x = {toml(value)}")["x"] == value


def test_null_says_nothing() -> None:
    assert list(override_texts({"a": None, "b.c": 1})) == ["b.c=1"]
    assert toml({"a": None, "b": [None, 1]}) == '{"b" = [1]}'
