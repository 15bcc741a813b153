"""Reading never waits and never takes more than it was told to."""

import errno
import os
from pathlib import Path

import pytest

from pycodex.supervisor.workspace.regular_file import read_at_most, read_whole


@pytest.mark.parametrize(("limit", "data"), [(0, b""), (3, b"abc"), (6, b"abcdef"), (100, b"abcdef")])
def test_at_most(tmp_path: Path, limit: int, data: bytes) -> None:
    (tmp_path / "f").write_bytes(b"abcdef")
    assert read_at_most(str(tmp_path / "f"), limit) == data


def test_whole_or_an_error(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abcdef")
    assert read_whole(str(tmp_path / "f"), 6) == b"abcdef"
    with pytest.raises(OSError, match="larger than 5 bytes") as caught:
        read_whole(str(tmp_path / "f"), 5)
    assert caught.value.errno == errno.EFBIG


def test_more_than_one_read_is_put_together(tmp_path: Path) -> None:
    data = os.urandom(3 << 20)
    (tmp_path / "f").write_bytes(data)
    assert read_whole(str(tmp_path / "f"), 4 << 20) == data


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")
    (tmp_path / "l").symlink_to("f")
    assert read_whole(str(tmp_path / "l"), 1) == b"x"


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, number in (
        (tmp_path / "pipe", errno.EINVAL),
        (tmp_path, errno.EISDIR),
        (Path("/dev/null"), errno.EINVAL),
    ):
        with pytest.raises(OSError, match=str(path)) as caught:
            read_whole(str(path), 10)
        assert caught.value.errno == number


@pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="only where /proc tells of processes")
def test_what_the_kernel_tells_of_us_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "l").symlink_to("/proc/self/environ")
    assert Path("/proc/self/environ").read_bytes()
    assert read_whole(str(tmp_path / "l"), 1 << 20) == b""
