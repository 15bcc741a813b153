"""Reading session files without holding anybody up."""

import threading
from pathlib import Path

import pytest

from pycodex.supervisor.rollout.long_files import LONG_FILE_BYTES, beside, is_long


def reader_of(path: str) -> threading.Thread:
    del path
    return threading.current_thread()


def file_of(path: Path, size: int) -> str:
    with path.open("wb") as file:
        file.truncate(size)
    return str(path)


async def test_only_long_files_are_read_in_a_thread_of_their_own(tmp_path: Path) -> None:
    short = file_of(tmp_path / "short", LONG_FILE_BYTES)
    long = file_of(tmp_path / "long", LONG_FILE_BYTES + 1)
    assert await beside(reader_of, short) is threading.current_thread()
    assert await beside(reader_of, long) is not threading.current_thread()


@pytest.mark.parametrize("path", ["/no/such/file", "a\0b"])
def test_what_is_no_file_is_not_long(path: str) -> None:
    assert not is_long(path)


async def test_what_the_reader_raises_reaches_whoever_asked(tmp_path: Path) -> None:
    def refuse(path: str) -> None:
        raise OSError(path)

    with pytest.raises(OSError, match="long"):
        await beside(refuse, file_of(tmp_path / "long", LONG_FILE_BYTES + 1))
