"""Lines of a file as the model sees them. Texts and blocks were seen on the reference."""

import os
from pathlib import Path

import pytest
from hypothesis import given

from pycodex.supervisor.tools.handlers.read_file import ReadFile
from support.direct_calls import answered, denying, hostile_arguments, hostile_settings, survives, told
from support.tool_calls import FULL_ACCESS, WORKSPACE_WRITE, Benches, make_turn

SOURCE = '''\
# header
import x

class A:
    """doc"""

    # comment above f
    @deco
    def f(self):
        a = 1

        if a:
            b = 2
            c = 3
        return a

    # comment g
    def g(self):
        pass

def top():
\tpass
'''
UNREAD = "failed to parse function arguments"
WHOLE = len(SOURCE.splitlines())


@pytest.fixture
def source(workspace: Path) -> Path:
    path = workspace / "s.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def numbered(first: int, last: int) -> str:
    return "\n".join(f"L{n}: {line}" for n, line in enumerate(SOURCE.splitlines(), start=1) if first <= n <= last)


@pytest.mark.parametrize("permissions", [WORKSPACE_WRITE, FULL_ACCESS], ids=["confined", "unconfined"])
async def test_slice_has_numbered_lines(benches: Benches, source: Path, permissions: object) -> None:
    async with benches(permissions) as bench:
        answer = await answered(ReadFile(), bench, {"file_path": str(source)})
        assert answer.output == numbered(1, WHOLE)
        assert answer.usage is not None
        assert await told(ReadFile(), bench, file_path=str(source), offset=4, limit=2) == numbered(4, 5)
        assert await told(ReadFile(), bench, file_path=str(source), offset=WHOLE) == numbered(WHOLE, WHOLE)


async def test_errors_come_in_the_order_of_the_checks(benches: Benches, source: Path) -> None:
    path = str(source)
    (source.parent / "empty").touch()
    cases: list[tuple[dict[str, object], str]] = [
        ({"file_path": "s.py", "offset": 0, "limit": 0}, "offset must be a 1-indexed line number"),
        ({"file_path": "s.py", "limit": 0}, "limit must be greater than zero"),
        ({"file_path": "s.py"}, "file_path must be an absolute path"),
        ({"file_path": ""}, "file_path must be an absolute path"),
        ({"file_path": f"{path}x"}, "failed to read file: No such file or directory (os error 2)"),
        ({"file_path": str(source.parent)}, "failed to read file: Is a directory (os error 21)"),
        ({"file_path": "/nul\0"}, "failed to read file: file name contained an unexpected NUL byte"),
        ({"file_path": path, "offset": WHOLE + 1}, "offset exceeds file length"),
        ({"file_path": path, "offset": (1 << 64) - 1}, "offset exceeds file length"),
        ({"file_path": str(source.parent / "empty")}, "offset exceeds file length"),
        (
            {"file_path": "/no", "mode": "indentation", "indentation": {"anchor_line": 0, "max_lines": 0}},
            "anchor_line must be a 1-indexed line number",
        ),
        (
            {"file_path": "/no", "mode": "indentation", "indentation": {"max_lines": 0}},
            "max_lines must be greater than zero",
        ),
        ({"file_path": path, "mode": "indentation", "offset": WHOLE + 1}, "anchor_line exceeds file length"),
        (
            {"file_path": path, "mode": "x"},
            f"{UNREAD}: unknown variant `x`, expected `slice` or `indentation` at line 1 column {len(path) + 29}",
        ),
        ({"limit": 1}, f"{UNREAD}: missing field `file_path` at line 1 column 12"),
        (
            {"indentation": 5},
            f"{UNREAD}: invalid type: integer `5`, expected struct IndentationArgs at line 1 column 17",
        ),
    ]
    async with benches() as bench:
        for arguments, text in cases:
            assert await told(ReadFile(), bench, **arguments) == text


@pytest.mark.parametrize(
    ("anchor", "rules", "first", "last"),
    [
        (13, {}, 4, WHOLE),
        (13, {"max_levels": 1}, 12, 15),
        (13, {"max_levels": 2}, 9, 17),
        (13, {"max_levels": 2, "include_header": False}, 9, 17),
        (13, {"max_levels": 1, "include_siblings": True}, 10, 15),
        (9, {"max_levels": 1}, 4, WHOLE),
        (9, {"max_levels": 100}, 4, WHOLE),
        (6, {"max_levels": 1}, 4, WHOLE),
        (22, {"max_levels": 1}, 5, WHOLE),
        (1, {"max_levels": 1}, 1, 2),
        (10, {"max_levels": 1}, 9, 17),
        (10, {"max_levels": 1, "include_siblings": True, "include_header": False}, 5, 19),
        (3, {"max_levels": 1}, 1, 19),
        (21, {"include_siblings": True}, 1, WHOLE),
        (13, {"max_levels": 2, "max_lines": 1}, 13, 13),
        (13, {"max_levels": 2, "max_lines": 2}, 12, 13),
        (13, {"max_levels": 2, "max_lines": 3}, 12, 14),
        # The fourth and the seventh line that were taken are blank, and at an end.
        (13, {"max_levels": 2, "max_lines": 4}, 12, 14),
        (13, {"max_levels": 2, "max_lines": 7}, 10, 15),
    ],
)
async def test_block_around_a_line(
    benches: Benches, source: Path, anchor: int, rules: dict[str, object], first: int, last: int
) -> None:
    wanted = {"file_path": str(source), "mode": "indentation"}
    async with benches() as bench:
        block = await told(ReadFile(), bench, **wanted, indentation={"anchor_line": anchor, **rules})
        assert block == numbered(first, last)
        same = await told(ReadFile(), bench, **wanted, offset=anchor, indentation=rules)
        assert same == block
        sliced = await told(ReadFile(), bench, file_path=str(source), offset=anchor, limit=1, indentation=rules)
        assert sliced == numbered(anchor, anchor)


async def test_block_of_a_limit_is_as_large_as_the_limit(benches: Benches, source: Path) -> None:
    async with benches() as bench:
        arguments = {"file_path": str(source), "mode": "indentation", "limit": 3}
        rules = {"anchor_line": 13, "max_levels": 2, "max_lines": 9}
        assert await told(ReadFile(), bench, **arguments, indentation=rules) == numbered(12, 14)
        assert await told(ReadFile(), bench, **{**arguments, "limit": 1}, indentation=None) == numbered(1, 1)


async def test_more_lines_than_one_call_shows_are_announced(benches: Benches, workspace: Path) -> None:
    path = workspace / "many"
    path.write_bytes(b"x\n" * 20_000)
    async with benches() as bench:
        text = await told(ReadFile(), bench, file_path=str(path), limit=1_000_000)
        *lines, remark = text.splitlines()
        assert remark == f"[{len(lines)} lines are the most that one call shows; go on with offset {len(lines) + 1}]"
        assert lines[-1] == f"L{len(lines)}: x"
        few = await told(ReadFile(), bench, file_path=str(path), limit=3)
        assert few == "L1: x\nL2: x\nL3: x"


async def test_denied_files_stay_unread(benches: Benches, workspace: Path) -> None:
    secret = workspace / "secret"
    secret.mkdir()
    (secret / "key").write_text("the key", encoding="ascii")
    (workspace / "link").symlink_to(secret / "key")
    (workspace / "open").write_text("nothing", encoding="ascii")
    async with benches() as bench:
        assert await told(ReadFile(), bench, file_path=str(workspace / "link")) == "L1: the key"
    async with benches(denying(secret)) as bench:
        assert await told(ReadFile(), bench, file_path=str(workspace / "open")) == "L1: nothing"
        for path in (secret / "key", workspace / "link"):
            for mode in ("slice", "indentation"):
                text = await told(ReadFile(), bench, file_path=str(path), mode=mode)
                assert text.startswith("failed to read file: ")
                assert "the key" not in text


HOSTILE = {
    "file_path": ("/dev/zero", "/proc/self/mem", "/nul\0", "/tmp", __file__, "/" + "x" * 5000, "/proc/self/root/etc"),
    "offset": (0, 1, 3, (1 << 64) - 1, -1),
    "limit": (0, 1, (1 << 64) - 1),
    "mode": ("slice", "indentation", {"slice": None}),
    "indentation": ({}, {"anchor_line": (1 << 64) - 1}, {"max_levels": (1 << 64) - 1}, {"max_lines": 1}, [1, 2]),
}


@hostile_settings
@given(hostile_arguments(HOSTILE))
def test_any_arguments_are_answered(benches: Benches, texts: list[str]) -> None:
    survives(ReadFile(), benches, texts)


async def test_arguments_of_megabytes_are_answered(benches: Benches) -> None:
    async with benches() as bench:
        assert "too large" in await told(ReadFile(), bench, file_path="/" + "x" * (9 << 20))
        long = await told(ReadFile(), bench, file_path="/" + "x" * (1 << 20))
        assert long == "failed to read file: File name too long (os error 36)"


def test_schema() -> None:
    schema = ReadFile().spec(make_turn())
    parameters = schema["parameters"]
    assert (schema["name"], schema["strict"], parameters["required"]) == ("read_file", False, ["file_path"])
    assert {name: each["type"] for name, each in parameters["properties"].items()} == {
        "file_path": "string",
        "indentation": "object",
        "limit": "number",
        "mode": "string",
        "offset": "number",
    }
    assert list(parameters["properties"]["indentation"]["properties"]) == [
        "anchor_line",
        "include_header",
        "include_siblings",
        "max_levels",
        "max_lines",
    ]
    assert ReadFile().parallel


async def test_pipes_and_devices_are_not_waited_for(benches: Benches, workspace: Path) -> None:
    os.mkfifo(workspace / "fifo")
    async with benches() as bench:
        for path in (workspace / "fifo", "/dev/zero", "/dev/tty"):
            for mode in ("slice", "indentation"):
                text = await told(ReadFile(), bench, file_path=str(path), mode=mode)
                assert text.startswith("failed to read file: ")
