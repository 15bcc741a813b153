"""Positions, as the reference printed them for the same files."""

import tomllib

import pytest

from pycodex.supervisor.config.early import Layer
from pycodex.supervisor.config.toml_errors import key_lines, syntax_error, value_error, value_position


def frame_of(text: str) -> tuple[str, str]:
    with pytest.raises(tomllib.TOMLDecodeError) as caught:
        tomllib.loads(text)
    error = syntax_error("f", text, str(caught.value))
    return error.location.removeprefix("f:"), error.frame


@pytest.mark.parametrize(
    ("text", "place", "last_lines"),
    [
        ("a = 1\na = 2\n", "2:1", "2 | a = 2\n  | ^"),
        ("a = 1\na = 2", "2:1", "2 | a = 2\n  | ^"),
        ("  a = 1\n  a = 2\n", "2:3", "2 |   a = 2\n  |   ^"),
        ("a=1\r\na=2\r\n", "2:1", "2 | a=2\n  | ^"),
        ("[a]\nx=1\n[a]\n", "3:2", "3 | [a]\n  |  ^"),
        ("[[a]]\n[a]\n", "2:2", "2 | [a]\n  |  ^"),
        ("a.b = 1\na.b = 2\n", "2:3", "2 | a.b = 2\n  |   ^"),
        ('"q k" = 1\n"q k" = 2\n', "2:1", '2 | "q k" = 2\n  | ^^^^^'),
        ("a = {b=1, b=2}\n", "1:11", "1 | a = {b=1, b=2}\n  |           ^"),
        ("a = \n", "1:5", "1 | a = \n  |     ^"),
        ("a = 1 2\n", "1:5", "1 | a = 1 2\n  |     ^^^"),
        ("= 3\n", "1:1", "1 | = 3\n  | ^"),
        ("a\n", "1:2", "1 | a\n  |  ^"),
        ("a = [1, 2\n", "1:11", "1 | a = [1, 2\n  |           ^"),
        ('a = "x', "1:7", '1 | a = "x\n  |       ^'),
        ('a = "x\n', "1:7", '1 | a = "x\n  |       ^'),
        ('a = """x\n', "1:10", '1 | a = """x\n  |          ^'),
        ("a = 'x\n", "1:7", "1 | a = 'x\n  |       ^"),
        ("[a\n", "1:3", "1 | [a\n  |   ^"),
        ("a = nope\n", "1:5", "1 | a = nope\n  |     ^^^^"),
        ("a = 1\n\n  b = tru\n", "3:7", "3 |   b = tru\n  |       ^^^"),
        ('a = "\\q"\n', "1:7", '1 | a = "\\q"\n  |       ^'),
        ('a = "é" "\n', "1:9", '1 | a = "é" "\n  |         ^'),
    ],
)
def test_syntax_error_stands_where_the_reference_puts_it(text: str, place: str, last_lines: str) -> None:
    assert frame_of(text) == (place, "  |\n" + last_lines)


def test_frame_grows_with_the_line_number() -> None:
    text = "\n" * 9 + "a = nope\n"
    assert frame_of(text) == ("10:5", "   |\n10 | a = nope\n   |     ^^^^")


TEXT = """\
# comment = 1
a = 1 # [x]
b.c = "two" # b.d = 1
text = \"\"\"
[fake]
a = 9
\"\"\"
list = [
  "]", # not the end
  {x = 1},
]
[t.u]
v = {w = 1, "y z" = {q = [1, 2], r = 'x'}}
'k.k' = 2
[[arr]]
n = 1
[last]
z=true"""


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        (("a",), (2, 5)),
        (("b", "c"), (3, 7)),
        (("text",), (4, 8)),
        (("list",), (8, 8)),
        (("t", "u"), (12, 1)),
        (("t", "u", "v"), (13, 5)),
        (("t", "u", "v", "w"), (13, 10)),
        (("t", "u", "v", "y z", "r"), (13, 38)),
        (("t", "u", "k.k"), (14, 9)),
        (("arr",), (15, 1)),
        (("arr", 0, "n"), (16, 5)),
        (("list", 0), (9, 3)),
        (("list", 1, "x"), (10, 8)),
        (("t", "u", "v", "y z", "q", 1), (13, 30)),
        (("last", "z"), (18, 3)),
    ],
)
def test_value_is_found_in_a_valid_file(keys: tuple[str | int, ...], place: tuple[int, int]) -> None:
    tomllib.loads(TEXT)
    assert value_position(TEXT, keys) == place


def test_items_of_an_array_of_tables_are_told_apart() -> None:
    text = "[[a]]\nx = 1\n[a.b]\ny = 1\n[[a]]\nx = 2\n[a.b]\ny = 2\n"
    assert [value_position(text, ("a", index, "b", "y")) for index in (0, 1)] == [(4, 5), (8, 5)]


def test_lines_of_all_keys() -> None:
    assert key_lines("[t.u]\na = 1\n[[l]]\nb = {c = [\n1,\n2]}\n") == {
        ("t",): 1,
        ("t", "u"): 1,
        ("t", "u", "a"): 2,
        ("l",): 3,
        ("l", 0): 3,
        ("l", 0, "b"): 4,
        ("l", 0, "b", "c"): 4,
        ("l", 0, "b", "c", 0): 5,
        ("l", 0, "b", "c", 1): 6,
    }


@pytest.mark.parametrize(
    ("text", "keys", "place", "last_lines"),
    [
        ("a = {b = 12}\n", ("a", "b"), "1:10", "1 | a = {b = 12}\n  |          ^^"),
        ("a = {b = 12}\n", ("a",), "1:5", "1 | a = {b = 12}\n  |     ^^^^^^^^"),
        ("a = [1,\n2]\n", ("a",), "1:5", "1 | a = [1,\n  |     ^^^"),
        ("[table]\nb = 1\n", ("table",), "1:1", "1 | [table]\n  | ^^^^^^^"),
    ],
)
def test_wrong_value_can_be_shown_like_an_error_of_syntax(
    text: str, keys: tuple[str, ...], place: str, last_lines: str
) -> None:
    error = value_error(Layer("f", {}, text), keys, "wrong")
    assert (error.location, error.frame) == (f"f:{place}", "  |\n" + last_lines)


def test_kind_of_file_is_named_where_it_is_not_the_usual_one() -> None:
    error = value_error(Layer("f", {}, "a = 1"), ("a",), "wrong", kind="strange file")
    assert str(error) == (
        "Error parsing strange file f: TOML parse error at line 1, column 5\n  |\n1 | a = 1\n  |     ^\nwrong\n"
    )
