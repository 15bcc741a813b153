"""The patch language: what it forgives, and what it says of the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.protocol.patch.parse import AddFile, Chunk, DeleteFile, PatchSyntaxError, UpdateFile, parse_patch

HEADERS = "Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'"
MARKS = "Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)"
FIRST = "The first line of the patch must be '*** Begin Patch'"
LAST = "The last line of the patch must be '*** End Patch'"
NO_LINES = "Update hunk does not contain any lines"


def framed(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


def chunk(*lines: str, context: str | None = None, at_end: bool = False) -> Chunk:
    return Chunk(context=context, lines=lines, at_end=at_end)


def update(*chunks: Chunk, path: str = "a", move_path: str | None = None) -> UpdateFile:
    return UpdateFile(path=path, move_path=move_path, chunks=chunks)


@pytest.mark.parametrize(
    ("lines", "hunks"),
    [
        ((), ()),
        (("*** Add File: a", "+x", "+", "+ y"), (AddFile(path="a", text="x\n\n y\n"),)),
        (("*** Add File: a",), (AddFile(path="a", text=""),)),
        (("*** Delete File: a", "*** Delete File: b/c"), (DeleteFile(path="a"), DeleteFile(path="b/c"))),
        (("  *** Add File:   a b \t", "+x"), (AddFile(path="  a b", text="x\n"),)),
        (("*** Update File: a", "@@", " x", "-y", "+z"), (update(chunk(" x", "-y", "+z")),)),
        (("*** Update File: a", "-y", "+z"), (update(chunk("-y", "+z")),)),
        (("*** Update File: a", "@@ f():", "-y"), (update(chunk("-y", context="f():")),)),
        (("*** Update File: a", "@@ ", "-y"), (update(chunk("-y", context="")),)),
        (("*** Update File: a", "*** Move to:  b ", "@@", "-y"), (update(chunk("-y"), move_path=" b "),)),
        (("*** Update File: a", " *** Move to: b"), (update(chunk(" *** Move to: b")),)),
        (("*** Update File: a", "@@", "-y", "", "+z"), (update(chunk("-y", " ", "+z")),)),
        (
            ("*** Update File: a", "", "@@", "-x", "*** End of File", " ", "@@", "-y"),
            (update(chunk("-x", at_end=True), chunk("-y")),),
        ),
        (("*** Update File: a", "-x", "@@ q", "+y"), (update(chunk("-x"), chunk("+y", context="q")),)),
        (
            ("*** Update File: a", "-x", "", "*** Add File: b", "+y"),
            (update(chunk("-x", " ")), AddFile(path="b", text="y\n")),
        ),
    ],
)
def test_hunks(lines: tuple[str, ...], hunks: tuple[object, ...]) -> None:
    assert parse_patch(framed(*lines)).hunks == hunks


@pytest.mark.parametrize(
    "wrapped",
    [
        "\n  *** Begin Patch \n*** Add File: a\n+x\n\t*** End Patch\n\n",
        "*** Begin Patch\r\n*** Add File: a\r\n+x\r\n*** End Patch\r\n",
        "<<EOF\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEOF\n",
        "<<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nsomeEOF",
        '<<"EOF"\n *** Begin Patch\n*** Add File: a\n+x\n*** End Patch \nEOF',
    ],
)
def test_what_may_surround_a_patch(wrapped: str) -> None:
    assert parse_patch(wrapped).hunks == (AddFile(path="a", text="x\n"),)


def test_only_one_carriage_return_belongs_to_the_line_end() -> None:
    hunks = parse_patch("*** Begin Patch\n*** Add File: a\n+x\r\r\n+\x85\x0b\n*** End Patch").hunks
    assert hunks == (AddFile(path="a", text="x\r\n\x85\x0b\n"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", LAST),
        (" \n", LAST),
        ("*** Begin Patch", LAST),
        ("*** End Patch", FIRST),
        ("hello", FIRST),
        ("*** Begin Patch\n*** Add File: a\n+x", LAST),
        ("<<EOF \n*** Begin Patch\n*** End Patch\nEOF", FIRST),
        ("<<X\n*** Begin Patch\n*** End Patch\nX", FIRST),
        ("<<EOF\n*** Begin Patch\nEOF", FIRST),
        ("<<EOF\n*** Begin Patch\n*** Ende\nEOF", LAST),
    ],
)
def test_wrong_frame(text: str, message: str) -> None:
    with pytest.raises(PatchSyntaxError) as caught:
        parse_patch(text)
    assert caught.value.line is None
    assert caught.value.for_tool() == f"invalid patch: {message}"
    assert caught.value.for_executable() == f"Invalid patch: {message}"


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        (("*** Frob: a",), 2, f"'*** Frob: a' is not a valid hunk header. {HEADERS}"),
        (("*** add file: a",), 2, f"'*** add file: a' is not a valid hunk header. {HEADERS}"),
        (("*** Add File: ", "+x"), 2, f"'*** Add File:' is not a valid hunk header. {HEADERS}"),
        (("*** Add File: a", "no plus"), 3, f"'no plus' is not a valid hunk header. {HEADERS}"),
        (("*** Add File: a", "+x", "", "*** Delete File: b"), 4, f"'' is not a valid hunk header. {HEADERS}"),
        (("*** End Patch",), 2, f"'*** End Patch' is not a valid hunk header. {HEADERS}"),
        (("*** Delete File: b", "*** Update File: a"), 3, "Update file hunk for path 'a' is empty"),
        (("*** Update File: a", "*** Move to: b"), 2, "Update file hunk for path 'a' is empty"),
        (("*** Update File: a", "***"), 2, "Update file hunk for path 'a' is empty"),
        (("*** Update File: a", "@@"), 4, NO_LINES),
        (("*** Update File: a", "@@", "*** End of File", "-x"), 4, NO_LINES),
        (("*** Update File: a", "bad"), 4, f"Unexpected line found in update hunk: 'bad'. {MARKS}"),
        (("*** Update File: a", "@@x", "-x"), 4, f"Unexpected line found in update hunk: '@@x'. {MARKS}"),
        (("*** Update File: a", "@@ x", "@@ y", "-x"), 4, f"Unexpected line found in update hunk: '@@ y'. {MARKS}"),
        (
            ("*** Update File: a", "@@", "-x", "bad"),
            5,
            "Expected update hunk to start with a @@ context marker, got: 'bad'",
        ),
        (
            ("*** Update File: a", "@@", "-x", "*** End of File "),
            5,
            f"'*** End of File' is not a valid hunk header. {HEADERS}",
        ),
    ],
)
def test_wrong_hunk(lines: tuple[str, ...], line: int, message: str) -> None:
    with pytest.raises(PatchSyntaxError) as caught:
        parse_patch(framed(*lines))
    assert (caught.value.line, caught.value.message) == (line, message)
    assert caught.value.for_tool() == f"invalid hunk at line {line}, {message}"
    assert caught.value.for_executable() == f"Invalid patch hunk on line {line}: {message}"


def test_lines_of_a_wrapped_patch_count_from_its_own_beginning() -> None:
    with pytest.raises(PatchSyntaxError) as caught:
        parse_patch("<<EOF\n*** Begin Patch\n*** Add File: a\nbad\n*** End Patch\nEOF")
    assert caught.value.line == 3


PIECES = st.sampled_from(
    [
        *("*** Begin Patch", "*** End Patch", "*** Add File: a", "*** Delete File: b", "*** Update File: c"),
        *("*** Move to: d", "*** End of File", "@@", "@@ x", "+", "-x", " y", "", "\r", "<<EOF", "EOF", "***", "é"),
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES).map("\n".join), st.lists(PIECES).map(lambda lines: framed(*lines))))
def test_any_text_is_a_patch_or_a_syntax_error(text: str) -> None:
    try:
        hunks = parse_patch(text).hunks
    except PatchSyntaxError:
        return
    assert all(isinstance(hunk, AddFile | DeleteFile | UpdateFile) for hunk in hunks)
