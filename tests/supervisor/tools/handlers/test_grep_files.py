"""Files by their content. Texts were seen on the reference; the program is the one that is installed with us."""

import os
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
import trio
from hypothesis import given

from pycodex.protocol.permissions import Permissions
from pycodex.supervisor.tools.handlers import grep_files
from pycodex.supervisor.tools.handlers.grep_files import MAX_LIMIT, GrepFiles
from support.direct_calls import answered, denying, hostile_arguments, hostile_settings, survives, told
from support.pools import descendants
from support.tool_calls import FULL_ACCESS, WORKSPACE_WRITE, Benches, make_turn
from support.waiting import eventually_async

NONE = "No matches found."
LAUNCH = "failed to launch rg: {}. Ensure ripgrep is installed and on PATH."


@pytest.fixture
def files(workspace: Path) -> Path:
    """Four files, the last one the newest."""
    (workspace / "sub").mkdir()
    for age, name in enumerate(("a.txt", "b.py", "sub/c.txt", "-dash.txt")):
        (workspace / name).write_text("one needle\nfoo -x bar\n", encoding="ascii")
        os.utime(workspace / name, (1000 + age, 1000 + age))
    (workspace / ".hidden").write_text("needle", encoding="ascii")
    (workspace / "bin").write_bytes(b"needle\0needle")
    return workspace


def program(folder: Path, script: str) -> dict[str, str]:
    """The environment of commands that find this in place of ripgrep."""
    folder.mkdir()
    (folder / "rg").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / "rg").chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


ALL = ("-dash.txt", "sub/c.txt", "b.py", "a.txt")


@pytest.mark.parametrize("permissions", [WORKSPACE_WRITE, FULL_ACCESS], ids=["confined", "unconfined"])
async def test_paths_come_newest_first(benches: Benches, files: Path, permissions: Permissions) -> None:
    async with benches(permissions) as bench:
        answer = await answered(GrepFiles(), bench, {"pattern": "needle"})
    assert answer.output == "\n".join(f"{files}/{name}" for name in ALL)
    assert answer.usage is not None


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"pattern": "  needle  "}, ALL),
        ({"pattern": "needle", "limit": 2}, ALL[:2]),
        ({"pattern": "needle", "limit": (1 << 64) - 1}, ALL),
        ({"pattern": "needle", "include": "*.py"}, ("b.py",)),
        ({"pattern": "needle", "include": " *.py "}, ("b.py",)),
        ({"pattern": "needle", "include": "!*.py"}, ("-dash.txt", "sub/c.txt", "a.txt")),
        ({"pattern": "needle", "include": "  "}, ALL),
        ({"pattern": "needle", "include": None, "path": None}, ALL),
        ({"pattern": "needle", "path": "sub"}, ("sub/c.txt",)),
        ({"pattern": "needle", "path": ""}, ALL),
        ({"pattern": "needle", "path": "."}, tuple(f"./{name}" for name in ALL)),
        ({"pattern": "needle", "path": "sub/../a.txt"}, ("sub/../a.txt",)),
        ({"pattern": "needle", "path": "-dash.txt"}, ("-dash.txt",)),
        ({"pattern": "-x"}, ALL),
        ({"pattern": "--files"}, ()),
        ({"pattern": "--pre=touch /"}, ()),
        ({"pattern": "zzz"}, ()),
    ],
)
async def test_arguments(benches: Benches, files: Path, arguments: dict[str, Any], found: tuple[str, ...]) -> None:
    async with benches() as bench:
        text = await told(GrepFiles(), bench, **arguments)
    assert text == ("\n".join(f"{files}/{name}" for name in found) or NONE)


async def test_absolute_paths_are_taken_as_they_are(benches: Benches, files: Path) -> None:
    async with benches() as bench:
        text = await told(GrepFiles(), bench, pattern="needle", path=str(files / "a.txt"))
    assert text == str(files / "a.txt")


async def test_mistakes_are_told_in_words(benches: Benches, files: Path) -> None:
    (files / "loop").symlink_to("loop")
    os.mkfifo(files / "fifo")
    unread = "failed to parse function arguments"
    nul = "nul byte found in provided data"
    cases: list[tuple[object, str]] = [
        ({"pattern": " \n", "limit": 0}, "pattern must not be empty"),
        ({"pattern": "x", "limit": 0, "path": "no"}, "limit must be greater than zero"),
        ({"pattern": "x", "path": "no"}, f"unable to access `{files}/no`: No such file or directory (os error 2)"),
        ({"pattern": "x", "path": "  "}, f"unable to access `{files}/  `: No such file or directory (os error 2)"),
        ({"pattern": "x", "path": "loop"}, f"unable to access `{files}/loop`: {os.strerror(40)} (os error 40)"),
        ({"pattern": "x", "path": "\0"}, f"unable to access `{files}/\0`: file name contained an unexpected NUL byte"),
        ({"pattern": "x", "path": "fifo"}, f"unable to access `{files}/fifo`: neither a file nor a directory"),
        ({"pattern": "x", "path": "/dev/zero"}, "unable to access `/dev/zero`: neither a file nor a directory"),
        ({"pattern": "a\0b"}, LAUNCH.format(nul)),
        ({"pattern": "x", "include": "\0"}, LAUNCH.format(nul)),
        ({"pattern": "x" * 200_000}, LAUNCH.format("Argument list too long (os error 7)")),
        ({"pattern": "("}, "rg failed: rg: regex parse error:\n    (?:()\n    ^\nerror: unclosed group\n"),
        ([], f"{unread}: invalid length 0, expected struct GrepFilesArgs with 4 elements at line 1 column 2"),
        ({"limit": None}, f"{unread}: invalid type: null, expected usize at line 1 column 14"),
    ]
    async with benches() as bench:
        for arguments, text in cases:
            assert (await answered(GrepFiles(), bench, arguments)).output == text
        for arguments in ({"pattern": "x", "include": "{"}, {"pattern": r"a\nb"}):
            assert (await told(GrepFiles(), bench, **arguments)).startswith("rg failed: rg: ")
        assert (await told(GrepFiles(), bench, pattern="x" * (9 << 20))).startswith("failed to launch rg: ")


async def test_names_that_are_no_text_are_left_out(benches: Benches, workspace: Path) -> None:
    """Nobody could ask for them."""
    (workspace / os.fsdecode(b"b\xffad")).write_text("needle", encoding="ascii")
    async with benches() as bench:
        assert await told(GrepFiles(), bench, pattern="needle") == NONE
        (workspace / "good").write_text("needle", encoding="ascii")
        assert await told(GrepFiles(), bench, pattern="needle") == str(workspace / "good")


async def test_what_is_denied_is_not_searched(benches: Benches, workspace: Path) -> None:
    for name in ("secret", "open"):
        (workspace / name).mkdir()
        (workspace / name / "file").write_text("needle", encoding="ascii")
    (workspace / "link").symlink_to("secret")
    async with benches() as bench:
        found = await told(GrepFiles(), bench, pattern="needle")
        assert sorted(found.split()) == [f"{workspace}/open/file", f"{workspace}/secret/file"]
    async with benches(denying(workspace / "secret")) as bench:
        assert await told(GrepFiles(), bench, pattern="needle") == f"{workspace}/open/file"
        for path in ("secret", "link", "secret/file"):
            text = await told(GrepFiles(), bench, pattern="needle", path=path)
            assert text in (
                f"{NONE} Some files or directories could not be read.",
                f"unable to access `{workspace}/{path}`: Permission denied (os error 13)",
                f"unable to access `{workspace}/{path}`: No such file or directory (os error 2)",
            )


async def test_searching_writes_nothing(benches: Benches, workspace: Path, tmp_path: Path) -> None:
    """It runs as confined as a tool that only reads needs to be, even where commands may write."""
    env = program(tmp_path / "bin", f"touch {workspace}/made && echo made || echo kept")
    async with benches(WORKSPACE_WRITE, env=env) as bench:
        assert await told(GrepFiles(), bench, pattern="x") == "kept"
    assert not (workspace / "made").exists()


async def test_number_of_paths_is_bounded(benches: Benches, workspace: Path) -> None:
    for number in range(MAX_LIMIT + 500):
        (workspace / f"{number}").write_text("needle", encoding="ascii")
    async with benches() as bench:
        assert len((await told(GrepFiles(), bench, pattern="needle")).split("\n")) == 100
        text = await told(GrepFiles(), bench, pattern="needle", limit=99_999)
    assert len(set(text.split("\n"))) == MAX_LIMIT


async def test_flood_of_output_is_bounded(benches: Benches, tmp_path: Path) -> None:
    env = program(tmp_path / "bin", f"yes {'/long/path' * 200} | head -c 50000000; yes error | head -c 9000000 >&2")
    async with benches(env=env) as bench:
        text = await told(GrepFiles(), bench, pattern="x", limit=99_999)
    lines = set(text.split("\n"))
    assert lines == {"/long/path" * 200}
    assert len(text) <= 4 << 20


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("echo /found; exit 2", "/found"),
        ("exit 1", NONE),
        ("exit 0", NONE),
        ("exit 2", f"{NONE} Some files or directories could not be read."),
        ("echo /found; echo why >&2; exit 2", "rg failed: why\n"),
        ("echo noise >&2; exit 1", NONE),
        ("kill -9 $$", "rg failed: killed by signal 9"),
    ],
)
async def test_end_of_the_program_is_told(benches: Benches, tmp_path: Path, script: str, text: str) -> None:
    async with benches(env=program(tmp_path / "bin", script)) as bench:
        assert await told(GrepFiles(), bench, pattern="x") == text


async def test_program_of_the_user_comes_first_and_ours_is_the_last_resort(
    benches: Benches, files: Path, tmp_path: Path
) -> None:
    beside = Path(sys.executable).parent
    assert (beside / "rg").exists()
    env = program(tmp_path / "bin", 'echo "$@"; echo "$PATH"')
    async with benches(env=env) as bench:
        arguments, path = (await told(GrepFiles(), bench, pattern="p q", include="*.py", path="sub")).split("\n")
    options = "--no-config --files-with-matches --sortr=modified --regexp p q --no-messages --glob *.py"
    assert arguments == f"{options} -- {files}/sub"
    assert path == f"{env['PATH']}:{beside}"
    for env in ({}, {"PATH": ""}, {"PATH": str(tmp_path / "none")}):
        async with benches(env=env) as bench:
            assert await told(GrepFiles(), bench, pattern="needle", path="sub") == f"{files}/sub/c.txt"


async def test_program_that_cannot_be_seen_is_told_as_missing(
    benches: Benches, workspace: Path, tmp_path: Path
) -> None:
    restricted = Permissions(mode="read-only", restricted_read=True, platform_defaults=True)
    async with benches(restricted, env={"PATH": str(tmp_path / "none")}) as bench:
        text = await told(GrepFiles(), bench, pattern="x", path=str(workspace))
    assert text == LAUNCH.format("No such file or directory (os error 2)")


async def test_search_that_takes_too_long_is_ended(
    benches: Benches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grep_files, "TIMEOUT_S", 1)
    async with benches(env=program(tmp_path / "bin", "echo /found; exec sleep 1000")) as bench:
        assert await told(GrepFiles(), bench, pattern="x") == "rg timed out after 1 seconds"


def sleepers() -> set[int]:
    found = set()
    for pid in descendants():
        try:
            if psutil.Process(pid).cmdline() == ["sleep", "31415"]:
                found.add(pid)
        except psutil.Error:
            continue
    return found


async def test_cancelled_search_leaves_no_process(benches: Benches, tmp_path: Path) -> None:
    async with benches(env=program(tmp_path / "bin", "sleep 31415 & sleep 31415")) as bench:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: told(GrepFiles(), bench, pattern="x"))
            await eventually_async(lambda: len(sleepers()) == 2)
            nursery.cancel_scope.cancel()
        assert sleepers() == set()
        assert await told(GrepFiles(), bench, pattern=" ") == "pattern must not be empty"


HOSTILE = {
    "pattern": ("x", "-", "--", "--help", "(", "\\", "a{9999}{9999}", "\0", "(?:" * 500, "[[:nope:]]", " "),
    "include": ("*.py", "{", "[", "!", "**/*", "\0", "--help"),
    "path": (".", "no", "x" * 5000, "\0", "-", "--", __file__),
    "limit": (0, 1, (1 << 64) - 1, -1),
}


@hostile_settings
@given(hostile_arguments(HOSTILE))
def test_any_arguments_are_answered(benches: Benches, texts: list[str]) -> None:
    survives(GrepFiles(), benches, texts)


def test_schema() -> None:
    parameters = GrepFiles().spec(make_turn())["parameters"]
    assert {name: each["type"] for name, each in parameters["properties"].items()} == {
        "include": "string",
        "limit": "number",
        "path": "string",
        "pattern": "string",
    }
    assert parameters["required"] == ["pattern"]
    assert GrepFiles().parallel


async def test_configuration_of_ripgrep_is_not_obeyed(benches: Benches, workspace: Path) -> None:
    (workspace / "a.txt").write_text("needle\n")
    spoiler = workspace / "spoiler"
    spoiler.write_text("#!/bin/sh\ntouch ran\n")
    spoiler.chmod(0o755)
    (workspace / "rg.conf").write_text(f"--pre={spoiler}\n")
    env = {"PATH": "/usr/bin:/bin", "RIPGREP_CONFIG_PATH": str(workspace / "rg.conf")}
    async with benches(FULL_ACCESS, env=env) as bench:
        assert await told(GrepFiles(), bench, pattern="needle") == str(workspace / "a.txt")
    assert not (workspace / "ran").exists()
