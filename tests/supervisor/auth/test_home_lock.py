"""One at a time among all that use a home."""

from pathlib import Path

import trio
import trio.testing

from pycodex.supervisor.auth.home_lock import kept_out


async def test_the_second_waits_for_the_first(tmp_path: Path) -> None:
    seen: list[str] = []

    async def second() -> None:
        async with kept_out(str(tmp_path), "lock", patience_s=60):
            seen.append("second")

    async def first() -> None:
        async with kept_out(str(tmp_path), "lock", patience_s=60), kept_out(str(tmp_path), "other", patience_s=60):
            nursery.start_soon(second)
            await trio.testing.wait_all_tasks_blocked()
            seen.append("first")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(first)
    assert seen == ["first", "second"]


async def test_whoever_hangs_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    async with kept_out(str(tmp_path), "lock", patience_s=60), kept_out(str(tmp_path), "lock", patience_s=0.01):
        pass


async def test_without_a_place_for_it_there_is_no_lock(tmp_path: Path) -> None:
    async with kept_out(str(tmp_path / "missing"), "lock", patience_s=60):
        assert not (tmp_path / "missing").exists()
