"""Long texts are cut in the middle, exactly as the reference does."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.protocol.model_info import BYTES, TOKENS, TruncationPolicy
from pycodex.supervisor.text.truncation import count_lines, truncate, truncate_formatted, truncate_parts

IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}


def by_bytes(limit: int) -> TruncationPolicy:
    return TruncationPolicy(BYTES, limit)


def by_tokens(limit: int) -> TruncationPolicy:
    return TruncationPolicy(TOKENS, limit)


def text(value: str) -> dict[str, Any]:
    return {"type": "input_text", "text": value}


@pytest.mark.parametrize(
    ("full", "policy", "shown"),
    [
        ("", by_bytes(0), ""),
        ("abcd", by_bytes(4), "abcd"),
        ("abcde", by_bytes(4), "ab…1 chars truncated…de"),
        ("abcdef", by_bytes(5), "ab…1 chars truncated…def"),
        ("abcd", by_bytes(0), "…4 chars truncated…"),
        ("abcd", by_tokens(1), "abcd"),
        ("abcdefgh", by_tokens(1), "ab…1 tokens truncated…gh"),
        ("abcdefghi", by_tokens(1), "ab…2 tokens truncated…hi"),
        ("abcde", by_tokens(0), "…2 tokens truncated…"),
        # Seen: 600 bytes of room for 1000 bytes of two-byte characters.
        ("é" * 500, by_bytes(120), "é" * 30 + "…440 chars truncated…" + "é" * 30),
        ("é" * 500, by_tokens(120), "é" * 120 + "…130 tokens truncated…" + "é" * 120),
        ("éééé", by_bytes(1), "…4 chars truncated…"),
        ("aéb", by_bytes(2), "a…1 chars truncated…b"),
        ("éa", by_bytes(2), "…1 chars truncated…a"),
        ("x" * 88_000, by_tokens(10_000), "x" * 20_000 + "…12000 tokens truncated…" + "x" * 20_000),
        ("x" * 88_000, by_bytes(10_000), "x" * 5000 + "…78000 chars truncated…" + "x" * 5000),
    ],
)
def test_middle_is_cut(full: str, policy: TruncationPolicy, shown: str) -> None:
    assert truncate(full, policy) == shown


@pytest.mark.parametrize(
    ("full", "shown"),
    [
        ("abc\n", "abc\n"),
        ("a\nb\nc\nd\n", "Total output lines: 4\n\na\n…4 chars truncated…d\n"),
        ("a\nb\nc\nd", "Total output lines: 4\n\na\n…3 chars truncated…\nd"),
        ("abcdefgh", "Total output lines: 1\n\nab…4 chars truncated…gh"),
    ],
)
def test_formatted_counts_the_lines_there_were(full: str, shown: str) -> None:
    assert truncate_formatted(full, by_bytes(4)) == shown


@given(st.text(), st.integers(0, 80), st.sampled_from([BYTES, TOKENS]))
def test_what_is_kept_is_the_two_ends_within_the_budget(full: str, limit: int, mode: str) -> None:
    full = full.replace("…", ".")
    policy = TruncationPolicy(mode, limit)
    shown = truncate(full, policy)
    if len(full.encode("utf-8", "replace")) <= policy.budget_bytes:
        assert shown is full
        return
    head, _, tail = shown.split("…")
    assert full.startswith(head)
    assert full.endswith(tail)
    kept = len(head.encode()) + len(tail.encode())
    # At each end less than one character was left out that would have fitted.
    assert policy.budget_bytes - 6 <= kept <= policy.budget_bytes


@given(st.text(alphabet="aé漢😀\n", max_size=60), st.integers(0, 60))
def test_count_of_dropped_characters_is_exact(full: str, limit: int) -> None:
    shown = truncate(full, by_bytes(limit))
    if shown is not full:
        head, marker, tail = shown.split("…")
        assert marker == f"{len(full) - len(head) - len(tail)} chars truncated"


def test_half_a_character_does_not_break_the_cut() -> None:
    assert truncate("\ud800" * 40, by_bytes(4)) == "??…36 chars truncated…??"


@pytest.mark.parametrize(
    ("parts", "policy", "kept"),
    [
        ([], by_bytes(4), []),
        ([text("abcd"), IMAGE], by_bytes(4), [text("abcd"), IMAGE]),
        # All four seen.
        (
            [text("x" * 200), IMAGE, text("y" * 300), text("z" * 10), text("w")],
            by_tokens(120),
            [
                text("x" * 200),
                IMAGE,
                text("y" * 140 + "…5 tokens truncated…" + "y" * 140),
                text("[omitted 2 text items ...]"),
            ],
        ),
        (
            [text("x" * 479), text("yyyyy"), text("z")],
            by_tokens(120),
            [text("x" * 479), text("[omitted 2 text items ...]")],
        ),
        (
            [text("x" * 50), IMAGE, text("y" * 100), text("z" * 10), text("w")],
            by_bytes(120),
            [
                text("x" * 50),
                IMAGE,
                text("y" * 35 + "…30 chars truncated…" + "y" * 35),
                text("[omitted 2 text items ...]"),
            ],
        ),
        (
            [text("x" * 119), text("éééé"), text("z")],
            by_bytes(120),
            [text("x" * 119), text("…4 chars truncated…"), text("[omitted 1 text items ...]")],
        ),
        ([text("a"), IMAGE, text("b")], by_bytes(0), [IMAGE, text("[omitted 2 text items ...]")]),
    ],
)
def test_parts_share_one_budget(parts: list[Any], policy: TruncationPolicy, kept: list[Any]) -> None:
    assert truncate_parts(parts, policy) == kept


@pytest.mark.parametrize(("text", "lines"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n", 1), ("a\r\nb\rc\n", 2)])
def test_final_newline_begins_no_line(text: str, lines: int) -> None:
    assert count_lines(text) == lines
