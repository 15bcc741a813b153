"""What files are at a moment, told without following, waiting or reading too much, and under the rules of the call."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.confinement import Confinement, Entry
from pycodex.supervisor.workers.lease import JobFailed
from pycodex.supervisor.workers.pool import Pool
from support.orders import BOTH, CONFINED
from support.pools import Pools

MIB = 1 << 20
ROOM_BYTES = 64 * MIB


async def states(pool: Pool, paths: Sequence[object], confinement: Confinement = CONFINED) -> Any:
    done = await pool.run_file_job(
        "file_states",
        {"paths": [str(path) for path in paths]},
        cwd="/",
        confinement=confinement,
        answer_cap_bytes=ROOM_BYTES,
    )
    return done.value


@BOTH
async def test_modes_and_contents(real_pools: Pools, confinement: Confinement, tmp_path: Path) -> None:
    contents = {"plain": b"text\n", "program": b"#!/bin/sh\n", "empty": b"", "binary": bytes(range(256)) * 300}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o755 if name == "program" else 0o644)
    async with real_pools.open() as pool:
        found = await states(pool, [tmp_path / name for name in contents], confinement)
    assert found == {
        str(tmp_path / name): [stat.S_IFREG | (0o755 if name == "program" else 0o644), content]
        for name, content in contents.items()
    }


async def test_link_is_told_and_not_followed(real_pools: Pools, tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"secret")
    odd = os.fsdecode(b"b\xffd")
    for name, target in (("good", "target"), ("dangling", "nonesuch"), ("loop", "loop"), ("odd", odd)):
        (tmp_path / name).symlink_to(target)
    async with real_pools.open() as pool:
        found = await states(pool, [tmp_path / name for name in ("good", "dangling", "loop", "odd")])
    assert {Path(path).name: content for path, (_, content) in found.items()} == {
        "good": b"target",
        "dangling": b"nonesuch",
        "loop": b"loop",
        "odd": b"b\xffd",
    }
    assert all(stat.S_ISLNK(mode) for mode, _ in found.values())


async def test_what_is_no_file_is_none_and_not_waited_for(real_pools: Pools, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").touch()
    paths = [
        tmp_path / "fifo",
        tmp_path,
        tmp_path / "missing",
        tmp_path / "file" / "below",
        tmp_path / ("x" * 300),
        "/dev/zero",
        "/dev/tty",
        "/nul\0byte",
    ]
    async with real_pools.open() as pool:
        assert await states(pool, paths) == {str(path): None for path in paths}


async def test_names_that_are_no_text_come_back_as_they_were(real_pools: Pools, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9")
    path.write_bytes(b"x")
    async with real_pools.open() as pool:
        found = await states(pool, [path, f"{path}2"])
    assert found[str(path)][1] == b"x"
    assert found[f"{path}2"] is None


async def test_denied_paths_are_as_good_as_missing(real_pools: Pools, tmp_path: Path) -> None:
    for name in ("open", "secret"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name, encoding="ascii")
    (tmp_path / "open" / "way").symlink_to(tmp_path / "secret")
    denied = Confinement(entries=(Entry(path=str(tmp_path / "secret"), access="none"),))
    async with real_pools.open() as pool:
        for path in (tmp_path / "secret" / "file", tmp_path / "open" / "way" / "file"):
            assert (await states(pool, [path]))[str(path)] is not None
            assert await states(pool, [path], denied) == {str(path): None}
        readable = str(tmp_path / "open" / "file")
        assert (await states(pool, [readable], denied))[readable][1] == b"open"


async def test_what_is_too_large_is_left_out_and_the_rest_told(real_pools: Pools, tmp_path: Path) -> None:
    with (tmp_path / "giant").open("wb") as file:
        file.truncate(1 << 40)
    sizes = {"half": 9 * MIB, "other": 9 * MIB, "small": 1}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(bytes(size))
    async with real_pools.open() as pool:
        found = await states(pool, [tmp_path / name for name in ("giant", *sizes)])
    assert {Path(path).name: len(content) for path, (_, content) in found.items()} == {"half": 9 * MIB, "small": 1}


async def test_number_of_files_is_bounded(real_pools: Pools, tmp_path: Path) -> None:
    async with real_pools.open() as pool:
        found = await states(pool, [tmp_path / str(number) for number in range(3000)])
    assert len(found) == 1000


async def test_wrong_arguments_are_told_in_words(real_pools: Pools) -> None:
    wrong: list[dict[str, object]] = [
        {},
        {"paths": None},
        {"paths": "/x"},
        {"paths": {"/x": 1}},
        {"paths": ["relative"]},
        {"paths": ["/x", ""]},
        {"paths": ["/x", 5]},
        {"paths": [b"/x"]},
    ]
    async with real_pools.open() as pool:
        for arguments in wrong:
            with pytest.raises(JobFailed, match="paths must be a list of absolute paths"):
                await pool.run_file_job("file_states", arguments, cwd="/", confinement=CONFINED)
        assert await states(pool, []) == {}
