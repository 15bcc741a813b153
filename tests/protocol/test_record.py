"""Records are frozen values that survive a round trip and refuse everything that they do not describe."""

import pytest

from pycodex.protocol.record import BadRecord, Record


class Inner(Record):
    name: "str"
    weight: "float" = 0.0


class Outer(Record):
    count: "int"
    flag: "bool" = False
    data: "bytes" = b""
    inner: "Inner | None" = None
    words: "tuple[str, ...]" = ()
    many: "tuple[Inner, ...]" = ()
    env: "dict[str, str]" = {}  # noqa: RUF012 - a default that is never changed


FULL = Outer(
    count=1,
    flag=True,
    data=b"\x00\xff",
    inner=Inner(name="x", weight=1.5),
    words=("a", ""),
    many=(Inner(name="y"), Inner(name="z")),
    env={"k": "v"},
)


@pytest.mark.parametrize("record", [FULL, Outer(count=-(1 << 63))])
def test_plain_form_and_back(record: Outer) -> None:
    plain = record.to_plain()
    assert Outer.from_plain(plain) == record
    assert type(plain["words"]) is list
    assert set(plain) == {"count", "flag", "data", "inner", "words", "many", "env"}


def test_missing_fields_take_their_defaults() -> None:
    assert Outer.from_plain({"count": 3}) == Outer(count=3)


@pytest.mark.parametrize(
    "plain",
    [
        None,
        [],
        "count",
        {},
        {"count": 1, "other": 2},
        {"count": 1, 5: 2},
        {"count": "1"},
        {"count": True},
        {"count": 1.0},
        {"count": None},
        {"count": 1 << 63},
        {"count": 1, "flag": 1},
        {"count": 1, "data": "text"},
        {"count": 1, "words": "ab"},
        {"count": 1, "words": ["a", 1]},
        {"count": 1, "inner": []},
        {"count": 1, "inner": {}},
        {"count": 1, "inner": {"name": "x", "weight": "heavy"}},
        {"count": 1, "inner": {"name": "x", "weight": True}},
        {"count": 1, "many": [None]},
        {"count": 1, "env": {"k": 1}},
        {"count": 1, "env": {1: "v"}},
        {"count": 1, "env": [["k", "v"]]},
    ],
)
def test_anything_else_is_refused(plain: object) -> None:
    with pytest.raises(BadRecord):
        Outer.from_plain(plain)


def test_refusal_names_the_field() -> None:
    with pytest.raises(BadRecord, match=r"Inner\.weight"):
        Outer.from_plain({"count": 1, "inner": {"name": "x", "weight": "heavy"}})


def test_fields_are_fixed() -> None:
    with pytest.raises(AttributeError):
        FULL.count = 2  # type: ignore[misc]
    with pytest.raises(TypeError, match="nonesuch"):
        Outer(count=1, nonesuch=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="count"):
        Outer()  # type: ignore[call-arg]


def test_replace_leaves_the_original() -> None:
    changed = FULL.replace(count=9)
    assert (changed.count, FULL.count) == (9, 1)
    assert changed.replace(count=1) == FULL


def test_equality_is_by_kind_and_value() -> None:
    class Same(Record):
        name: "str"
        weight: "float" = 0.0

    assert Inner(name="x") == Inner(name="x", weight=0.0)
    assert Inner(name="x") != Inner(name="y")
    assert Inner(name="x") != Same(name="x")
    assert len({Inner(name="x"), Inner(name="x"), Inner(name="y")}) == 2
    assert hash(FULL) == hash(FULL.replace())
