"""Differences as unified hunks; the layouts are those that the reference was seen to print."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.protocol.patch.diff import Effort, unified

NO_NEWLINE = "\\ No newline at end of file\n"


def applied(old: str, diff: str) -> str:
    """The text that the hunks make of the old one, by their numbers alone; every line is checked."""
    *ended_lines, rest = old.split("\n")
    source = [f"{line}\n" for line in ended_lines] + ([rest] if rest else [])
    result: list[str] = []
    position = 0
    lines = diff.split("\n")[:-1]
    for index, line in enumerate(lines):
        ended = "" if lines[index + 1 : index + 2] == [NO_NEWLINE[:-1]] else "\n"
        if line.startswith("@@ "):
            first, _, size = line.split()[1][1:].partition(",")
            start = int(first) - (size != "0")
            result += source[position:start]
            position = start
        elif line.startswith("+"):
            result.append(line[1:] + ended)
        elif not line.startswith("\\"):
            assert source[position] == line[1:] + ended
            position += 1
            result += [line[1:] + ended] * (line[0] == " ")
    return "".join([*result, *source[position:]])


@pytest.mark.parametrize(
    ("old", "new", "diff"),
    [
        ("a\n", "a\n", ""),
        ("a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -4,2 +4,2 @@\n d\n-e\n+E\n"),
        ("a\nb\nc\nd\n", "A\nb\nc\nD\n", "@@ -1,4 +1,4 @@\n-a\n+A\n b\n c\n-d\n+D\n"),
        ("one\n", "ONE\n", "@@ -1 +1 @@\n-one\n+ONE\n"),
        ("a\n", "", "@@ -1 +0,0 @@\n-a\n"),
        ("", "n\n", "@@ -0,0 +1 @@\n+n\n"),
        ("a\nb", "A\nb\n", f"@@ -1,2 +1,2 @@\n-a\n-b\n{NO_NEWLINE}+A\n+b\n"),
        ("a", "a\n", f"@@ -1 +1 @@\n-a\n{NO_NEWLINE}+a\n"),
        ("a\nb", "A\nb", f"@@ -1,2 +1,2 @@\n-a\n+A\n b\n{NO_NEWLINE}"),
        ("a\nb\nb\nc\n", "a\nb\nb\nb\nc\n", "@@ -3,2 +3,3 @@\n b\n+b\n c\n"),
        ("a\nb\nb\nb\nc\n", "a\nb\nb\nc\n", "@@ -3,3 +3,2 @@\n b\n-b\n c\n"),
        ("a\nx\nb\nx\nc\n", "a\nx\nb\nx\nb\nx\nc\n", "@@ -4,2 +4,4 @@\n x\n+b\n+x\n c\n"),
        (
            "{\n  a\n}\n\n{\n  b\n}\n",
            "{\n  a\n}\n\n{\n  n\n}\n\n{\n  b\n}\n",
            "@@ -5,2 +5,6 @@\n {\n+  n\n+}\n+\n+{\n   b\n",
        ),
        ("a\nb\nc\nd\ne\nf\n", "a\nc\nd\nx\ne\nf\n", "@@ -1,5 +1,5 @@\n a\n-b\n c\n d\n+x\n e\n"),
        ("a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\n", "@@ -1,3 +1,3 @@\n a\r\n-b\r\n+B\r\n c\r\n"),
        ("k\nK\n", "k\nL\n", "@@ -1,2 +1,2 @@\n k\n-K\n+L\n"),
    ],
)
def test_layout(old: str, new: str, diff: str) -> None:
    assert unified(old, new, context=1) == diff


def test_context_is_as_wide_as_asked_for() -> None:
    old = "".join(f"{number}\n" for number in range(20))
    assert unified(old, old.replace("10\n", "ten\n"), context=0) == "@@ -11 +11 @@\n-10\n+ten\n"
    wide = unified(old, old.replace("10\n", "ten\n"), context=3)
    assert wide == "@@ -8,7 +8,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n"


FEW_LINES = st.lists(st.sampled_from(["a", "b", "c", "", "é\r"]), max_size=12).map("\n".join)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.one_of(FEW_LINES, ANY_TEXT), st.one_of(FEW_LINES, ANY_TEXT), st.integers(0, 3))
def test_diff_leads_from_one_text_to_the_other(old: str, new: str, context: int) -> None:
    assert applied(old, unified(old, new, context=context)) == new


@given(st.lists(st.sampled_from("abc"), max_size=10), st.lists(st.sampled_from("abc"), max_size=10))
def test_no_shorter_diff_exists(old: list[str], new: list[str]) -> None:
    texts = ["".join(f"{line}\n" for line in lines) for lines in (old, new)]
    told = unified(texts[0], texts[1], context=0).split("\n")
    edits = sum(line[:1] in ("+", "-") for line in told)
    assert edits == len(old) + len(new) - 2 * longest_common(old, new)


def longest_common(old: list[str], new: list[str]) -> int:
    row = [0] * (len(new) + 1)
    for left in old:
        above, row = row, [0]
        for index, right in enumerate(new):
            row.append(above[index] + 1 if left == right else max(row[-1], above[index + 1]))
    return row[-1]


def test_texts_with_little_in_common_become_one_replacement() -> None:
    draw = random.Random(1)
    old, new = ("".join(f"{draw.randrange(8)}\n" for _ in range(6000)) for _ in range(2))
    old, new = f"same\n{old}end\n", f"same\n{new}end\n"
    diff = unified(old, new, context=0)
    assert diff.count("@@ ") == 1
    assert applied(old, diff) == new


def test_one_change_in_a_long_text_is_told_alone() -> None:
    lines = [f"line {number % 700}\n" for number in range(50_000)]
    old = "".join(lines)
    lines[25_000] = "changed\n"
    diff = unified(old, "".join(lines), context=1)
    assert diff == "@@ -25000,3 +25000,3 @@\n line 499\n-line 500\n+changed\n line 501\n"


def test_shared_effort_bounds_the_search_but_not_the_truth() -> None:
    """Texts that have every line in common, in another order, are as hard as it gets."""
    rng = random.Random(3)
    lines = [f"{number}\n" for number in range(600)]
    effort = Effort()
    sizes = set()
    while effort.steps >= 0:
        old, new = "".join(lines), "".join(rng.sample(lines, len(lines)))
        diff = unified(old, new, context=0, effort=effort)
        assert applied(old, diff) == new
        sizes.add(diff.count("@@ -"))
    assert max(sizes) > 1
    diff = unified("a\nb\nc\nd\n", "a\nx\nc\nb\nd\n", context=0, effort=effort)
    assert diff == "@@ -2,2 +2,3 @@\n-b\n-c\n+x\n+c\n+b\n"


def test_long_common_runs_count_as_effort() -> None:
    effort = Effort()
    full = effort.steps
    old, new = ("a\n" * 1000 + "b\n") * 100, ("a\n" * 1003 + "b\n") * 100
    assert applied(old, unified(old, new, context=0, effort=effort)) == new
    assert full - effort.steps > 100_000
