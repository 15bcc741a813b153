"""The entries of a directory, read inside the confined child: bounded whatever lies there."""

import os
from pathlib import Path

import pytest

from pycodex.protocol.confinement import PLACEHOLDER_MODE, Confinement, Entry
from pycodex.supervisor.workers.lease import JobFailed
from pycodex.supervisor.workers.pool import Pool
from support.orders import BOTH, CONFINED
from support.pools import Pools


async def listed(pool: Pool, path: object, *, confinement: Confinement = CONFINED, **arguments: object) -> list[str]:
    wanted = {"path": str(path), "limit": 1000, "depth": 2, **arguments}
    done = await pool.run_file_job("list_dir", wanted, cwd="/", confinement=confinement)
    assert isinstance(done.value, str)
    first, *entries = done.value.split("\n")
    assert first == f"Absolute path: {path}"
    return entries


@BOTH
async def test_entries_are_sorted_by_their_whole_path(
    real_pools: Pools, confinement: Confinement, tmp_path: Path
) -> None:
    """So what is in `d` comes after `d.txt`, as in the reference."""
    (tmp_path / "d" / "sub" / "deep").mkdir(parents=True)
    for name in ("d/sub/f", "d/z", "d.txt", ".hidden", "Z"):
        (tmp_path / name).touch()
    async with real_pools.open() as pool:
        two = await listed(pool, tmp_path, confinement=confinement)
        assert two == [".hidden", "Z", "d/", "d.txt", "  sub/", "  z"]
        assert await listed(pool, tmp_path, depth=1, confinement=confinement) == [".hidden", "Z", "d/", "d.txt"]
        assert await listed(pool, tmp_path / "d", depth=100) == ["sub/", "  deep/", "  f", "z"]
        assert await listed(pool, tmp_path / "d" / "sub", depth=(1 << 64) - 1) == ["deep/", "f"]


async def test_kinds_are_marked_and_links_not_followed(real_pools: Pools, tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "up").symlink_to(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "gone").symlink_to("nothing")
    (tmp_path / "to_dir").symlink_to("dir")
    os.mkfifo(tmp_path / "fifo")
    async with real_pools.open() as pool:
        found = await listed(pool, tmp_path, depth=50)
        assert found == ["dir/", "  up@", "fifo?", "gone@", "loop@", "to_dir@"]
        assert await listed(pool, tmp_path / "to_dir") == ["up@"]
        assert await listed(pool, f"{tmp_path}/dir/../dir/") == ["up@"]


async def test_pages(real_pools: Pools, tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"f{number:02}").touch()
    (tmp_path / "empty").mkdir()
    async with real_pools.open() as pool:
        few = await listed(pool, tmp_path, limit=2)
        assert few == ["empty/", "f00", "More than 2 entries found"]
        assert await listed(pool, tmp_path, limit=2, offset=30) == ["f28", "f29"]
        assert len(await listed(pool, tmp_path, limit=31)) == 31
        assert len(await listed(pool, tmp_path, limit=(1 << 64) - 1, offset=2)) == 30
        with pytest.raises(JobFailed, match=r"^offset exceeds directory entry count$"):
            await listed(pool, tmp_path, offset=32)
        assert await listed(pool, tmp_path / "empty", offset=7) == []


async def test_placeholders_of_other_calls_are_not_there(real_pools: Pools, tmp_path: Path) -> None:
    for name in (".git", "own"):
        (tmp_path / name).mkdir()
    (tmp_path / ".git").chmod(PLACEHOLDER_MODE)
    async with real_pools.open() as pool:
        assert await listed(pool, tmp_path) == ["own/"]


async def test_odd_names_are_told_as_text(real_pools: Pools, tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"b\xffad")).touch()
    (tmp_path / "two\nlines").touch()
    (tmp_path / ("é" * 127)).touch()
    async with real_pools.open() as pool:
        assert await listed(pool, tmp_path) == ["b\N{REPLACEMENT CHARACTER}ad", "two", "lines", "é" * 127]


async def test_names_are_cut_between_characters(real_pools: Pools, tmp_path: Path) -> None:
    """Replaced bytes take more room than they had."""
    (tmp_path / os.fsdecode(b"a" + b"\xff" * 200)).touch()
    async with real_pools.open() as pool:
        assert await listed(pool, tmp_path) == ["a" + "\N{REPLACEMENT CHARACTER}" * 166]


async def test_wrong_arguments_are_told_in_order(real_pools: Pools, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "fifo")
    cases: list[tuple[dict[str, object], str]] = [
        ({"path": "x", "offset": 0, "limit": 0, "depth": 0}, "offset must be a 1-indexed entry number"),
        ({"path": "x", "limit": 0, "depth": 0}, "limit must be greater than zero"),
        ({"path": "x", "depth": 0}, "depth must be greater than zero"),
        ({"path": "x"}, "dir_path must be an absolute path"),
        ({"path": b"/"}, "dir_path must be an absolute path"),
        ({"path": str(tmp_path / "no")}, "failed to read directory: No such file or directory (os error 2)"),
        ({"path": str(tmp_path / "file")}, "failed to read directory: Not a directory (os error 20)"),
        ({"path": str(tmp_path / "fifo")}, "failed to read directory: Not a directory (os error 20)"),
        ({"path": str(tmp_path / "loop")}, f"failed to read directory: {os.strerror(40)} (os error 40)"),
        ({"path": "/nul\0"}, "failed to read directory: file name contained an unexpected NUL byte"),
    ]
    async with real_pools.open() as pool:
        for arguments, text in cases:
            with pytest.raises(JobFailed) as caught:
                await pool.run_file_job("list_dir", arguments, cwd="/", confinement=CONFINED)
            assert str(caught.value) == text


async def test_directory_of_very_many_entries_is_bounded(real_pools: Pools, tmp_path: Path) -> None:
    for number in range(100_000):
        (tmp_path / f"{number:06}").touch()
    async with real_pools.open() as pool:
        assert await listed(pool, tmp_path, limit=2) == ["000000", "000001", "More than 2 entries found"]
        assert await listed(pool, tmp_path, limit=5, offset=100_000) == ["099999"]
        *shown, remark = await listed(pool, tmp_path, limit=100_000)
    assert remark == f"More than {len(shown)} entries found"
    assert 1000 <= len(shown) <= 10_000


async def test_directories_that_cannot_be_read_are_named(real_pools: Pools, tmp_path: Path) -> None:
    """The child reads under the confinement of the call; what it may not see does not spoil the rest."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").touch()
    (tmp_path / "zoo").mkdir()
    (tmp_path / "zoo" / "animal").touch()
    (tmp_path / "link").symlink_to("secret")
    denied = Confinement(entries=(Entry(path=str(tmp_path / "secret"), access="none"),))
    async with real_pools.open() as pool:
        found = await listed(pool, tmp_path, confinement=denied)
        assert found == ["link@", "secret/", "zoo/", "  animal"]
        for name in ("secret", "link"):
            with pytest.raises(JobFailed, match=r"^failed to read directory: Permission denied \(os error 13\)$"):
                await listed(pool, tmp_path / name, confinement=denied)
