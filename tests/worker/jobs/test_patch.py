"""A patch applied inside the confined child: all that it changes or nothing, and never beyond the rules of the call."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.confinement import Confinement, Entry
from pycodex.supervisor.workers.lease import JobFailed
from pycodex.supervisor.workers.pool import Pool
from support.orders import CONFINED, UNCONFINED, writing
from support.patches import patch_of, snapshot
from support.pools import Pools


async def run(pool: Pool, folder: Path, *lines: str, confinement: Confinement, **arguments: object) -> Any:
    wanted = {"patch": patch_of(*lines), "cwd": str(folder), "verify": True, "write": True, **arguments}
    return (await pool.run_file_job("apply_patch", wanted, cwd="/", confinement=confinement)).value


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "folder"
    path.mkdir()
    (path / "a").write_text("one\ntwo\n")
    return path


async def test_answer_has_all_that_is_told_of_a_patch(real_pools: Pools, folder: Path) -> None:
    lines = ("*** Update File: a", "*** Move to: b", "@@", "-two", "+TWO", "*** Add File: new", "+n")
    for confinement in (writing(folder), UNCONFINED):
        for name in os.listdir(folder):
            (folder / name).unlink()
        (folder / "a").write_text("one\ntwo\n")
        (folder / "a").chmod(0o640)
        async with real_pools.open() as pool:
            answer = await run(pool, folder, *lines, confinement=confinement)
        new_mode = (folder / "new").stat().st_mode
        a, b, new = (str(folder / name) for name in ("a", "b", "new"))
        assert answer == {
            "exit_code": 0,
            "stdout": "Success. Updated the following files:\nA new\nM b\n",
            "stderr": "",
            "cwd_errno": 0,
            "changes": {
                a: {"type": "update", "unified_diff": "@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n", "move_path": b},
                new: {"type": "add", "content": "n\n"},
            },
            "before": {a: [0o100640, b"one\ntwo\n"], b: None, new: None},
            "after": {a: None, b: [new_mode, b"one\nTWO\n"], new: [new_mode, b"n\n"]},
        }
        assert sorted(os.listdir(folder)) == ["b", "new"]


async def test_trial_and_verification_need_no_right_to_write(real_pools: Pools, folder: Path) -> None:
    before = snapshot(folder)
    update = ("*** Update File: a", "@@", "-two", "+TWO")
    async with real_pools.open() as pool:
        trial = await run(pool, folder, *update, confinement=CONFINED, write=False)
        assert (trial["exit_code"], trial["after"][str(folder / "a")][1]) == (0, b"one\nTWO\n")
        wrong = await run(pool, folder, "*** Delete File: none", confinement=CONFINED)
        assert wrong == {"unverified": f"Failed to read {folder}/none: No such file or directory (os error 2)"}
        syntax = await run(pool, folder, "junk", confinement=CONFINED)
        assert syntax["unverified"].startswith("invalid hunk at line 2, 'junk' is not a valid hunk header.")
    assert snapshot(folder) == before


@pytest.mark.parametrize(
    "last",
    [
        ("*** Update File: ../closed/file", "@@", "-x", "+y"),
        ("*** Add File: ../closed/new", "+x"),
        ("*** Add File: ../closed/deep/new", "+x"),
        ("*** Delete File: ../closed/file",),
        ("*** Update File: a", "*** Move to: ../closed/file", "@@", "-two", "+2"),
        ("*** Update File: ../closed/file", "*** Move to: taken", "@@", "-x", "+y"),
        ("*** Update File: way", "@@", "-x", "+y"),
    ],
    ids=["update", "add", "folder", "delete", "move there", "move away", "link"],
)
async def test_what_may_not_be_written_stops_the_whole_patch(
    real_pools: Pools, folder: Path, last: tuple[str, ...]
) -> None:
    closed = folder.parent / "closed"
    closed.mkdir()
    (closed / "file").write_text("x\n")
    (folder / "way").symlink_to(closed / "file")
    (folder / "gone").write_text("g\n")
    before = snapshot(folder.parent)
    first = ("*** Add File: sub/first", "+1", "*** Update File: a", "@@", "-one", "+ONE", "*** Delete File: gone")
    async with real_pools.open() as pool:
        answer = await run(pool, folder, *first, *last, confinement=writing(folder))
    assert (answer["exit_code"], answer["stdout"]) == (1, "")
    message, result = answer["stderr"].splitlines()
    assert message.startswith(("Failed to write", "Failed to create parent", "Failed to delete", "Failed to remove"))
    assert result.startswith("No file was changed: ")
    assert answer["before"] == answer["after"]
    assert snapshot(folder.parent) == before


async def test_single_writable_file_is_written_where_it_lies(real_pools: Pools, folder: Path) -> None:
    """Nothing can be made beside it."""
    inode = (folder / "a").stat().st_ino
    async with real_pools.open() as pool:
        lines = ("*** Update File: a", "@@", "-two", "+2")
        answer = await run(pool, folder, *lines, confinement=writing(folder / "a"))
    assert answer["exit_code"] == 0, answer["stderr"]
    assert ((folder / "a").read_text(), (folder / "a").stat().st_ino) == ("one\n2\n", inode)
    assert os.listdir(folder) == ["a"]


async def test_protected_folder_in_a_writable_one_stays_as_it_is(real_pools: Pools, folder: Path) -> None:
    (folder / ".git" / "hooks").mkdir(parents=True)
    (folder / ".git" / "config").write_text("x\n")
    before = snapshot(folder)
    entries = (Entry(path=str(folder), access="write"), Entry(path=str(folder / ".git"), access="read"))
    patches = (
        ("*** Add File: .git/hooks/pre-commit", "+x"),
        ("*** Update File: .git/config", "@@", "-x", "+y"),
        ("*** Delete File: .git/config",),
    )
    async with real_pools.open() as pool:
        for lines in patches:
            answer = await run(pool, folder, *lines, confinement=Confinement(entries=entries))
            assert answer["exit_code"] == 1
            assert "No file was changed: " in answer["stderr"]
    assert snapshot(folder) == before


@pytest.mark.parametrize(("cwd", "number"), [("missing", errno.ENOENT), ("a", errno.ENOTDIR)])
async def test_directory_of_the_patch_is_not_made(real_pools: Pools, folder: Path, cwd: str, number: int) -> None:
    before = snapshot(folder)
    lines = (f"*** Add File: {folder}/new", "+n", "*** Add File: below", "+b")
    async with real_pools.open() as pool:
        answer = await run(pool, folder, *lines, confinement=UNCONFINED, cwd=str(folder / cwd))
    assert answer["cwd_errno"] == number
    assert list(answer["changes"]) == [str(folder / "new"), str(folder / cwd / "below")]
    assert snapshot(folder) == before


async def test_wrong_arguments_are_told_in_words(real_pools: Pools) -> None:
    good: dict[str, object] = {"patch": patch_of(), "cwd": "/", "verify": True, "write": True}
    cases: list[tuple[dict[str, object], str]] = [
        ({"patch": b"bytes"}, "patch must be Unicode text"),
        ({"patch": "\udcff"}, "patch must be Unicode text"),
        ({"cwd": "relative"}, "cwd must be an absolute path"),
        ({"cwd": None}, "cwd must be an absolute path"),
        ({"verify": 1}, "verify and write must be true or false"),
        ({"write": None}, "verify and write must be true or false"),
    ]
    async with real_pools.open() as pool:
        for wrong, text in cases:
            with pytest.raises(JobFailed, match=text):
                await pool.run_file_job("apply_patch", {**good, **wrong}, cwd="/", confinement=CONFINED)
