"""Where chunks fit, and what becomes of the lines that they touch."""

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pycodex.protocol.patch.diff import unified
from pycodex.protocol.patch.parse import UpdateFile, parse_patch
from pycodex.protocol.patch.resolve import Unmatched, resolve


def resolved(text: str, *lines: str) -> str:
    """What the lines below the header of an update make of the text."""
    patch = "\n".join(("*** Begin Patch", "*** Update File: a", *lines, "*** End Patch"))
    (hunk,) = parse_patch(patch).hunks
    assert isinstance(hunk, UpdateFile)
    return resolve(text, hunk.chunks, path="some/file")


@pytest.mark.parametrize(
    ("text", "lines", "result"),
    [
        ("a\nb\nc\n", ("-b", "+B"), "a\nB\nc\n"),
        ("a\nb\nc\n", ("-b",), "a\nc\n"),
        ("a\n", ("-a",), ""),
        ("a\nb", ("-b", "+B"), "a\nB\n"),
        ("a\nb", ("-a", "+A"), "A\nb\n"),
        ("x\na\nx\na\n", ("@@ x", "-a", "+A"), "x\nA\nx\na\n"),
        ("def f\n1\ndef g\n1\n", ("@@ def g", "-1", "+2"), "def f\n1\ndef g\n2\n"),
        ("1\n2\n1\n2\n", ("-2", "+two", "@@", "-2", "+zwei"), "1\ntwo\n1\nzwei\n"),
        ("q\n\nx\n", ("@@ ", "-x", "+y"), "q\n\ny\n"),
        ("1\n2\n1\n", ("-1", "+one", "*** End of File"), "1\n2\none\n"),
        ("q\nx\n", ("@@ x", "-x", "+y", "*** End of File"), "q\ny\n"),
    ],
)
def test_chunks_are_found_in_order(text: str, lines: tuple[str, ...], result: str) -> None:
    assert resolved(text, *lines) == result


@pytest.mark.parametrize(
    ("text", "lines", "result"),
    [
        ("a\n", ("+n",), "a\nn\n"),
        ("a", ("+n",), "a\nn\n"),
        ("", ("+n",), "n\n"),
        ("a\n\n", ("+n",), "a\nn\n\n"),
        ("a\nb\n", ("@@ a", "+n"), "a\nb\nn\n"),
        ("a\n", ("+n", "@@", "+m"), "a\nn\nm\n"),
        ("a\n", ("+n", "@@", "-a", "+b"), "b\nn\n"),
        ("a\n\n", ("+n", "@@", "-a", "-", "+b"), "b\nn\n"),
    ],
)
def test_lines_that_are_only_added_go_to_the_end(text: str, lines: tuple[str, ...], result: str) -> None:
    assert resolved(text, *lines) == result


@pytest.mark.parametrize(
    ("text", "lines", "result"),
    [
        ("x\n", ("-x", "+y", ""), "y\n"),
        ("x\n", ("-x", "-", "+y", "+"), "y\n"),
        ("x\nz\n", (" x", "", "+y"), "x\n\ny\nz\n"),
        ("a\nc\n", ("@@ a", "-", "+b"), "a\nb\nc\n"),
        ("a\n\nb\n", (" a", "", "-"), "a\nb\n"),
    ],
    ids=["context", "removed and added", "before an addition", "alone", "after another"],
)
def test_last_blank_line_need_not_be_there(text: str, lines: tuple[str, ...], result: str) -> None:
    assert resolved(text, *lines) == result


@pytest.mark.parametrize(
    ("text", "lines", "result"),
    [
        ("x \nx\n", ("-x", "+y"), "x \ny\n"),
        ("  x\nx \n", ("-x", "+y"), "  x\ny\n"),
        ("“x”\n  x\t\n", ("-x", "+y"), "“x”\ny\n"),
        ("say “hi” \u2013 don\u2019t\n", ('-say "hi" - don\'t', "+said"), "said\n"),
        ('a - "b"\n', ("-a\u00a0\u2014\u2003\u201eb\u201f", "+c"), "c\n"),
        ("def f():   \n\treturn 1\t\n", (" def f():", "-  return 1", "+    return 2"), "def f():\n    return 2\n"),
        ("\x85z\u3000\n", ("-z", "+y"), "y\n"),
        ("q\n  end \n", ("-end", "+E", "*** End of File"), "q\nE\n"),
    ],
)
def test_looser_fits_only_where_no_closer_one_is(text: str, lines: tuple[str, ...], result: str) -> None:
    assert resolved(text, *lines) == result


@pytest.mark.parametrize(
    ("text", "lines", "message"),
    [
        ("a\n", ("-b", "-c", "+d"), "Failed to find expected lines in some/file:\nb\nc"),
        ("a\n", ("@@ zz", "-a"), "Failed to find context 'zz' in some/file"),
        ("a\nb\n", ("-b", "+B", "@@", "-a", "+A"), "Failed to find expected lines in some/file:\na"),
        ("a\nb\n", ("-a", "+A", "*** End of File"), "Failed to find expected lines in some/file:\na"),
        ("a\n", ("-a", "+b", "*** End of File", "@@", "-a", "*** End of File"), "Failed to find expected lines"),
        ("z\n", ("-\x1cz", "+y"), "Failed to find expected lines"),
        ("", ("-a",), "Failed to find expected lines"),
        ("ab\n", ("-b",), "Failed to find expected lines"),
    ],
)
def test_what_fits_nowhere(text: str, lines: tuple[str, ...], message: str) -> None:
    with pytest.raises(Unmatched) as caught:
        resolved(text, *lines)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "lines", "result"),
    [
        ("0\r\n1\r\n2\r\n3\r\n", (" 1", "-2", "+two", "+more", " 3"), "0\r\n1\r\ntwo\r\nmore\r\n3\r\n"),
        ("0\r\n1\n2\r\n3\n", (" 0", " 1", "-2", "-3", "+two", "+three", "+four"), "0\r\n1\ntwo\r\nthree\nfour\n"),
        ("0\r\n1\n", (" 0", "+half", " 1"), "0\r\nhalf\r\n1\n"),
        ("0\r\n1\n", ("+minus", " 1"), "0\r\nminus\n1\n"),
        ("0\r\n1", ("-1", "+one"), "0\r\none\r\n"),
        ("0\r\n1\n", ("+2",), "0\r\n1\n2\r\n"),
        ("0\r\n\r\n", ("+1",), "0\r\n1\r\n\r\n"),
        ("0\n1\r\n", ("+2",), "0\n1\r\n2\n"),
        ("0 \r\n1\r\n", (" 0", "-1"), "0\r\n"),
        ("a\rb\n", ("-a\rb", "+c"), "c\n"),
        ("only", ("+x",), "only\nx\n"),
    ],
)
def test_line_endings_are_those_of_the_text(text: str, lines: tuple[str, ...], result: str) -> None:
    assert resolved(text, *lines) == result


def test_many_equal_lines_are_searched_in_no_time() -> None:
    """Were it lines times lines, this would run into the time limit of the suite."""
    text = "same\n" * 60_000 + "last\n"
    lines = [" same"] * 30_000
    assert resolved(text, *lines, "-last", "+end").endswith("same\nend\n")
    with pytest.raises(Unmatched):
        resolved(text, *lines, "-first")


LINES = st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=6), max_size=8)


def whole_chunk(old: list[str], new: list[str]) -> list[str]:
    """A chunk that has every line of both, so that it fits in one place only."""
    lines = unified("".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new), context=len(old))
    return lines.split("\n")[1:-1] if lines else [f" {line}" for line in old]


@given(LINES, LINES, st.booleans(), st.sampled_from(["\n", "\r\n"]))
@example(["a", ""], ["b", ""], True, "\n")
def test_any_edit_gives_exactly_the_new_text(old: list[str], new: list[str], ended: bool, ending: str) -> None:
    text = ending.join(old) + (ending if old and (ended or not old[-1]) else "")
    lines = whole_chunk(old, new)
    assume(lines)
    own_ending = ending if ending in text else "\n"
    assert resolved(text, "@@", *lines) == "".join(line + own_ending for line in new)


@given(st.sets(st.integers(0, 60), max_size=25), st.sets(st.integers(0, 60), max_size=8), st.integers(1, 3))
def test_many_chunks_give_exactly_the_new_text(removed: set[int], added: set[int], context: int) -> None:
    old = [f"line {number}" for number in range(60)]
    new: list[str] = []
    for number in range(61):
        new += [f"added {number}"] * (number in added)
        new += old[number : number + 1] * (number not in removed)
    old_text, new_text = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    lines = [
        "@@" if line.startswith("@@") else line for line in unified(old_text, new_text, context=context).split("\n")
    ]
    if old != new:
        assert resolved(old_text, *lines[:-1]) == new_text
