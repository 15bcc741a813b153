"""A slice of a file, read inside the confined child: bounded whatever it is, and under the rules of the call."""

import os
from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.confinement import Confinement, Entry
from pycodex.supervisor.workers.lease import JobFailed
from pycodex.supervisor.workers.pool import Pool
from support.orders import BOTH, CONFINED
from support.pools import Pools


async def read(pool: Pool, path: object, *, confinement: Confinement = CONFINED, **arguments: object) -> Any:
    done = await pool.run_file_job("read_file", {"path": str(path), **arguments}, cwd="/", confinement=confinement)
    return done.value


@pytest.fixture
def ten_lines(tmp_path: Path) -> Path:
    path = tmp_path / "ten"
    path.write_text("".join(f"line {number}\n" for number in range(1, 11)), encoding="ascii")
    return path


@BOTH
async def test_slices_are_by_line(real_pools: Pools, confinement: Confinement, ten_lines: Path) -> None:
    async with real_pools.open() as pool:
        whole = await read(pool, ten_lines, confinement=confinement)
        assert whole == {"first_line": 1, "lines": [f"line {n}" for n in range(1, 11)], "more": False}
        some = await read(pool, ten_lines, offset=3, limit=2, confinement=confinement)
        assert some == {"first_line": 3, "lines": ["line 3", "line 4"], "more": True}
        last = await read(pool, ten_lines, offset=10, limit=5, confinement=confinement)
        assert last == {"first_line": 10, "lines": ["line 10"], "more": False}
        exact = await read(pool, ten_lines, offset=9, limit=2, confinement=confinement)
        assert exact["more"] is False


async def test_wrong_arguments_are_told_in_words(real_pools: Pools, ten_lines: Path) -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({"path": str(ten_lines), "offset": 11}, "offset exceeds file length"),
        ({"path": str(ten_lines), "offset": 0}, "1-indexed"),
        ({"path": str(ten_lines), "offset": "1"}, "1-indexed"),
        ({"path": str(ten_lines), "limit": 0}, "greater than zero"),
        ({"path": str(ten_lines), "limit": True}, "greater than zero"),
        ({"path": "relative"}, "absolute"),
        ({"path": b"/bytes"}, "absolute"),
        ({}, "absolute"),
        ({"path": str(ten_lines), "indentation": {"anchor_line": 0}}, "anchor_line must be a 1-indexed"),
        ({"path": str(ten_lines), "indentation": {"max_lines": "1"}}, "max_lines must be greater than zero"),
        ({"path": str(ten_lines), "indentation": {"anchor_line": 11}}, "anchor_line exceeds file length"),
    ]
    async with real_pools.open() as pool:
        for arguments, text in cases:
            with pytest.raises(JobFailed, match=text):
                await pool.run_file_job("read_file", arguments, cwd="/", confinement=CONFINED)
        with pytest.raises(JobFailed, match="nonesuch"):
            await pool.run_file_job("nonesuch", {}, cwd="/", confinement=CONFINED)


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\n\n\nb", ["a", "", "", "b"]),
        (b"no end", ["no end"]),
        (b"\n", [""]),
        ("ü€😀\n".encode(), ["ü€😀"]),
        (b"\xff\xfe\n\x00\x01\n", ["��", "\x00\x01"]),
    ],
    ids=["crlf", "empty lines", "no newline", "newline only", "unicode", "binary"],
)
async def test_lines_are_told_as_text(real_pools: Pools, tmp_path: Path, data: bytes, lines: list[str]) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    async with real_pools.open() as pool:
        assert (await read(pool, path))["lines"] == lines


async def test_lines_across_reads_stay_whole(real_pools: Pools, tmp_path: Path) -> None:
    lines = [f"{number:0{number % 300}d}" for number in range(1500)]
    path = tmp_path / "file"
    path.write_text("\r\n".join(lines), encoding="ascii")
    async with real_pools.open() as pool:
        assert (await read(pool, path))["lines"] == lines


async def test_giant_line_is_cut_and_the_next_one_found(real_pools: Pools, tmp_path: Path) -> None:
    path = tmp_path / "giant"
    with path.open("wb") as file:
        file.write(b"first\n")
        for _ in range(64):
            file.write(b"x" * (1 << 20))
        file.write(b"\nlast")
    async with real_pools.open() as pool:
        answer = await read(pool, path)
    first, giant, last = answer["lines"]
    assert (first, last) == ("first", "last")
    assert giant == "x" * 500


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("é".encode() * 400, "é" * 250),
        (b"a" * 499 + "é".encode() + b"z", "a" * 499),
        (b"a" * 498 + "é".encode() + b"z", "a" * 498 + "é"),
        (b"a" * 497 + "😀".encode(), "a" * 497),
        # What stands for a wrong byte has three of its own.
        (b"\xff" * 600, "\N{REPLACEMENT CHARACTER}" * 166),
        (b"a" * 499 + b"\xffb", "a" * 499),
        (b"a" * 500 + b"\r\nb", "a" * 500),
        ("日".encode() * 40_000, "日" * 166),
    ],
    ids=["two bytes", "cut before", "just fits", "four bytes", "wrong bytes", "wrong byte", "carriage return", "giant"],
)
@pytest.mark.parametrize("mode", [{}, {"indentation": {}}], ids=["slice", "block"])
async def test_lines_are_cut_between_characters(
    real_pools: Pools, tmp_path: Path, data: bytes, text: str, mode: dict[str, Any]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    async with real_pools.open() as pool:
        assert (await read(pool, path, **mode))["lines"][0] == text


def block(*lines: str) -> bytes:
    return "\n".join(lines).encode()


@pytest.mark.parametrize(
    ("data", "anchor", "rules", "span"),
    [
        # Comments above the block count as its outermost lines: after one there is no other.
        (block("code", "# one", "# two", "    x", "    y", "# three", "# four", "z"), 4, {"max_levels": 1}, (2, 6)),
        (block("# zero", "code", "# two", "    x"), 4, {"max_levels": 1}, (3, 4)),
        (block("code", "# one", "# two", "    x"), 4, {"max_levels": 1, "include_header": False}, (3, 4)),
        (block("    deep", "  // far", "    -- near", "        x", "    ; no", "    z"), 4, {"max_levels": 1}, (3, 5)),
        # Only spaces and tabs indent.
        (block("\u3000a", "\u2003 b", " \t ", "    c"), 1, {"max_levels": 1}, (1, 2)),
        (block("\u3000a", "\u2003 b", " \t ", "    c"), 4, {"max_levels": 1}, (4, 4)),
        (block("x", "\ty", "    z", "end"), 2, {"max_levels": 1}, (1, 4)),
        (block(" " * 600 + "x", " " * 599 + "y", "z"), 1, {"max_levels": 1}, (1, 2)),
        (block("", "", "  ", "foo", "", "\u3000"), 4, {}, (4, 4)),
        (block("", "a", "  "), 3, {"max_lines": 1}, (3, 3)),
        (block(" \t"), 1, {}, (1, 1)),
    ],
)
async def test_block_ends_where_another_begins(
    real_pools: Pools, tmp_path: Path, data: bytes, anchor: int, rules: dict[str, object], span: tuple[int, int]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    async with real_pools.open() as pool:
        found = await read(pool, path, indentation={"anchor_line": anchor, **rules})
    assert (found["first_line"], found["first_line"] + len(found["lines"]) - 1) == span


async def test_block_without_anything_but_blank_lines_is_empty(real_pools: Pools, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\n \n\t\n")
    async with real_pools.open() as pool:
        assert (await read(pool, path, offset=2, indentation={}))["lines"] == []


async def test_block_in_a_giant_file_is_bounded(real_pools: Pools, tmp_path: Path) -> None:
    path = tmp_path / "many"
    path.write_bytes(b"    x\n" * 300_000 + b"y" * (32 << 20) + b"\n" + b"    z\n" * 300_000)
    async with real_pools.open() as pool:
        found = await read(pool, path, limit=1 << 60, indentation={"anchor_line": 300_001})
        done = await pool.run_file_job(
            "read_file",
            {"path": str(path), "indentation": {"anchor_line": 300_001}},
            cwd="/",
            confinement=CONFINED,
        )
    assert 1000 <= len(found["lines"]) <= 10_000
    assert found["lines"][300_001 - found["first_line"]] == "y" * 500
    # Far less than the file.
    assert done.exited.peak_rss_bytes < 60 << 20


async def test_number_of_lines_is_bounded(real_pools: Pools, tmp_path: Path) -> None:
    path = tmp_path / "many"
    path.write_bytes(b"x\n" * 100_000)
    async with real_pools.open() as pool:
        answer = await read(pool, path, limit=100_000)
    assert 1000 <= len(answer["lines"]) <= 10_000
    assert answer["more"] is True


async def test_what_is_no_file_is_told_and_not_waited_for(real_pools: Pools, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "empty").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    cases = [
        ("fifo", "not a regular file"),
        ("", "Is a directory"),
        ("/dev/zero", "not a regular file"),
        ("nonesuch", "No such file"),
        ("empty", "offset exceeds file length"),
        ("loop", "symbolic links"),
        ("empty/below", "Not a directory"),
        ("x" * 300, "too long"),
    ]
    async with real_pools.open() as pool:
        for name, text in cases:
            with pytest.raises(JobFailed, match=text):
                await read(pool, tmp_path / name)
        with pytest.raises(JobFailed, match="failed to read file: file name contained an unexpected NUL byte"):
            await read(pool, "/nul\0byte")


async def test_denied_paths_are_denied_by_any_name(real_pools: Pools, tmp_path: Path) -> None:
    """The child reads under the confinement of the call; that it is our own code gives it no more."""
    for name in ("open", "secret"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name, encoding="ascii")
    (tmp_path / "open" / "link").symlink_to(tmp_path / "secret" / "file")
    (tmp_path / "open" / "good").symlink_to("file")
    denied = Confinement(entries=(Entry(path=str(tmp_path / "secret"), access="none"),))
    granted = Confinement(base="none", entries=(Entry(path=str(tmp_path / "open"), access="read"),))
    async with real_pools.open() as pool:
        for confinement in (denied, granted):
            for name in ("file", "good"):
                assert (await read(pool, tmp_path / "open" / name, confinement=confinement))["lines"] == ["open"]
            for path in (tmp_path / "secret" / "file", tmp_path / "open" / "link", tmp_path / "open/../secret/file"):
                with pytest.raises(JobFailed, match=r"No such file|Permission denied"):
                    await read(pool, path, confinement=confinement)
