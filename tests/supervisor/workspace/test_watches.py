"""Changes of files as the kernel tells them."""

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from pycodex.supervisor.workspace.watches import MAX_TOLD, Watches

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is of Linux")


class Watched:
    """What is told, in order."""

    def __init__(self) -> None:
        self._send, self._receive = trio.open_memory_channel[tuple[str, list[str]]](1000)
        self.watches = Watches(lambda name, paths: self._send.send_nowait((name, paths)))

    async def until(self, *paths: Path) -> list[str]:
        """Everything that is told up to where all of these were; gives the names of the watches."""
        missing, names = {str(path) for path in paths}, []
        while missing:
            name, told = await self._receive.receive()
            names.append(name)
            missing -= set(told)
        return names

    async def next(self) -> tuple[str, list[str]]:
        return await self._receive.receive()


@pytest.fixture
async def watched(nursery: trio.Nursery) -> AsyncIterator[Watched]:
    watched = Watched()
    nursery.start_soon(watched.watches.run)
    yield watched
    nursery.cancel_scope.cancel()


async def test_entries_of_a_directory_are_told(watched: Watched, tmp_path: Path) -> None:
    await watched.watches.add("d", str(tmp_path))
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").mkdir()
    assert set(await watched.until(tmp_path / "a", tmp_path / "b")) == {"d"}
    (tmp_path / "a").rename(tmp_path / "c")
    await watched.until(tmp_path / "a", tmp_path / "c")


async def test_file_is_followed_through_its_replacements(watched: Watched, tmp_path: Path) -> None:
    path = tmp_path / "HEAD"
    await watched.watches.add("f", str(path))
    (tmp_path / "other").write_text("not told")
    path.write_text("made")
    assert await watched.next() == ("f", [str(path)])
    (tmp_path / "new").write_text("replaced")
    (tmp_path / "new").replace(path)
    assert await watched.next() == ("f", [str(path)])
    path.unlink()
    assert await watched.next() == ("f", [str(path)])


async def test_removed_watch_is_silent_and_leaves_others_alone(watched: Watched, tmp_path: Path) -> None:
    await watched.watches.add("one", str(tmp_path))
    await watched.watches.add("two", str(tmp_path / "file"))
    assert "one" in watched.watches
    assert len(watched.watches) == 2
    watched.watches.remove("one")
    watched.watches.remove("unknown")
    (tmp_path / "file").write_text("x")
    assert await watched.next() == ("two", [str(tmp_path / "file")])


async def test_many_changes_are_told_as_one(watched: Watched, tmp_path: Path) -> None:
    await watched.watches.add("d", str(tmp_path))
    for number in range(MAX_TOLD + 100):
        os.mkdir(tmp_path / str(number))
    names = await watched.until(tmp_path)
    assert set(names) == {"d"}


async def test_what_does_not_exist_anywhere_is_refused(watched: Watched) -> None:
    with pytest.raises(FileNotFoundError):
        await watched.watches.add("x", "/no/such/place")
    assert len(watched.watches) == 0
