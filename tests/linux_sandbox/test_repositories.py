"""Directories that have become repositories lose their HEAD, and only those."""

import os
from pathlib import Path

import pytest

from pycodex.linux_sandbox.repositories import disarm
from support.orders import shell, writing
from support.pools import Pools

REPOSITORIES = {
    "bare": ("HEAD", "objects/", "refs/"),
    "with objects elsewhere": ("HEAD", "commondir"),
}
OTHERS = {
    "empty": (),
    "a file called HEAD": ("HEAD",),
    "without a HEAD": ("objects/", "refs/", "config"),
    "with objects only": ("HEAD", "objects/"),
}


def make(folder: Path, names: tuple[str, ...]) -> None:
    for name in names:
        if name.endswith("/"):
            (folder / name).mkdir()
        else:
            (folder / name).write_text(name)


@pytest.mark.parametrize("names", REPOSITORIES.values(), ids=REPOSITORIES.keys())
def test_repository_loses_its_head(tmp_path: Path, names: tuple[str, ...]) -> None:
    make(tmp_path, names)
    (note,) = disarm((str(tmp_path),))
    (aside,) = (name for name in os.listdir(tmp_path) if name.startswith("HEAD"))
    assert aside != "HEAD"
    assert aside in note
    assert (tmp_path / aside).read_text() == "HEAD"
    assert disarm((str(tmp_path),)) == ()


@pytest.mark.parametrize("names", OTHERS.values(), ids=OTHERS.keys())
def test_anything_else_is_left(tmp_path: Path, names: tuple[str, ...]) -> None:
    make(tmp_path, names)
    before = sorted(os.listdir(tmp_path))
    assert disarm((str(tmp_path),)) == ()
    assert sorted(os.listdir(tmp_path)) == before


def test_directory_that_is_gone_or_a_link_is_no_matter(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    make(real, REPOSITORIES["bare"])
    (tmp_path / "link").symlink_to(real)
    assert disarm((str(tmp_path / "link"), str(tmp_path / "gone"))) == ()
    assert (real / "HEAD").exists()


async def test_worker_tells_it_with_the_end_of_the_call(real_pools: Pools, tmp_path: Path) -> None:
    confinement = writing(tmp_path, not_repositories=(str(tmp_path),))
    async with real_pools.open() as pool:
        done = await pool.run(shell("mkdir objects refs; echo >HEAD", cwd=str(tmp_path), confinement=confinement))
    assert [str(tmp_path) in note for note in done.exited.notes] == [True]
    assert not (tmp_path / "HEAD").exists()
