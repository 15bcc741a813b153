"""Any JSON is read as Python's own parser reads it, and what is none is refused."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.tools.json_scanner import Malformed, Scanner, described

_TEXT = st.text(st.characters(codec="utf-8"))
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)


def read(text: str) -> object:
    scanner = Scanner(text)
    value = scanner.value()
    scanner.finish()
    return value


@given(_VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_values_come_back(value: object, ascii_only: bool, indent: int | None) -> None:
    assert read(json.dumps(value, ensure_ascii=ascii_only, indent=indent)) == value


@given(_VALUES)
def test_passing_over_a_value_ends_where_reading_it_does(value: object) -> None:
    scanner = Scanner(json.dumps(value) + "!")
    scanner.ignore()
    with pytest.raises(Malformed, match="trailing characters"):
        scanner.finish()


def read_by_python(text: str) -> object:
    """The same by the standard library, but with numbers as we hold them."""

    def whole(digits: str) -> int | float:
        value = int(digits)
        return value if -(1 << 63) <= value < 1 << 64 else float(digits)

    def fraction(digits: str) -> float:
        value = float(digits)
        if math.isinf(value):
            raise ValueError("out of range")
        return value

    return json.loads(text, parse_int=whole, parse_float=fraction, parse_constant=pytest.fail)


@given(st.text(st.sampled_from('{}[]",:\\u019.eE+-truefalsn \n'), max_size=20))
def test_only_json_is_read(text: str) -> None:
    try:
        expected = read_by_python(text)
    except ValueError:
        with pytest.raises(Malformed, match=r" at line \d+ column \d+$"):
            read(text)
    else:
        assert read(text) == expected


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "boolean `true`"),
        (-3, "integer `-3`"),
        (1500.0, "floating point `1500.0`"),
        (-0.0, "floating point `-0.0`"),
        (1e15, "floating point `1000000000000000.0`"),
        (1e16, "floating point `1e+16`"),
        (1.5e300, "floating point `1.5e+300`"),
        (0.0001, "floating point `0.0001`"),
        (-0.000012, "floating point `-0.000012`"),
        (1.2e-6, "floating point `1.2e-6`"),
        ("x\n", 'string "x\\n"'),
    ],
)
def test_described(value: object, shown: str) -> None:
    assert described(value) == shown
