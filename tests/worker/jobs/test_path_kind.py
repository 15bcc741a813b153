"""What a path leads to."""

import os
from pathlib import Path

import pytest

from pycodex.supervisor.workers.lease import JobFailed
from support.orders import CONFINED
from support.pools import Pools


async def test_kinds(real_pools: Pools, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    (tmp_path / os.fsdecode(b"b\xffad")).touch()
    os.mkfifo(tmp_path / "fifo")
    cases = {"": "directory", "file": "file", "link": "file", "fifo": "other", os.fsdecode(b"b\xffad"): "file"}
    async with real_pools.open() as pool:
        for name, kind in cases.items():
            path = str(tmp_path / name)
            done = await pool.run_file_job("path_kind", {"path": path}, cwd="/", confinement=CONFINED)
            assert done.value == kind


async def test_errors_name_their_reason(real_pools: Pools, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    cases: dict[object, str] = {
        str(tmp_path / "no"): "No such file or directory (os error 2)",
        str(tmp_path / "loop"): f"{os.strerror(40)} (os error 40)",
        "/nul\0": "file name contained an unexpected NUL byte",
        "relative": "path must be absolute",
        5: "path must be absolute",
    }
    async with real_pools.open() as pool:
        for path, text in cases.items():
            with pytest.raises(JobFailed) as caught:
                await pool.run_file_job("path_kind", {"path": path}, cwd="/", confinement=CONFINED)
            assert str(caught.value) == text
