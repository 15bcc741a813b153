"""A picture, read inside the confined child: passed on or scaled, and refused without harm."""

import os
import struct
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pycodex.protocol.confinement import Confinement, Entry
from pycodex.protocol.pictures import MAX_FILE_BYTES
from pycodex.supervisor.workers.lease import JobFailed
from pycodex.supervisor.workers.pool import Pool
from support.orders import BOTH, CONFINED
from support.pools import Pools

ROOM_BYTES = MAX_FILE_BYTES + (1 << 16)


def encoded(kind: str, size: tuple[int, int] = (8, 6), mode: str = "RGB") -> bytes:
    target = BytesIO()
    Image.new(mode, size).save(target, kind)
    return target.getvalue()


def png(width: int, height: int, pixels: bytes, *more: bytes) -> bytes:
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
        for chunk in (head, *more, b"IDAT" + zlib.compress(pixels), b"IEND")
    )


async def viewed(
    pool: Pool,
    path: object,
    *,
    confinement: Confinement = CONFINED,
    answer_cap_bytes: int = 4 << 20,
    **arguments: object,
) -> dict[str, Any]:
    done = await pool.run_file_job(
        "view_image",
        {"path": str(path), **arguments},
        cwd="/",
        confinement=confinement,
        answer_cap_bytes=answer_cap_bytes,
    )
    assert isinstance(done.value, dict)
    return done.value


@BOTH
async def test_pictures_are_passed_on_or_scaled(real_pools: Pools, confinement: Confinement, tmp_path: Path) -> None:
    small, large = encoded("WEBP"), encoded("JPEG", (4000, 3000))
    (tmp_path / "small").write_bytes(small)
    (tmp_path / "large").write_bytes(large)
    (tmp_path / "gif").write_bytes(encoded("GIF", mode="P"))
    (tmp_path / "link").symlink_to("small")
    async with real_pools.open() as pool:
        for name in ("small", "link"):
            found = await viewed(pool, tmp_path / name, confinement=confinement)
            assert found == {"mime": "image/webp", "data": small}
        scaled = await viewed(pool, tmp_path / "large", confinement=confinement)
        assert scaled["mime"] == "image/jpeg"
        assert Image.open(BytesIO(scaled["data"])).size == (1024, 768)
        original = await viewed(pool, tmp_path / "large", original=True, confinement=confinement)
        assert original == {"mime": "image/jpeg", "data": large}
        assert (await viewed(pool, tmp_path / "gif", confinement=confinement))["mime"] == "image/png"


async def test_what_cannot_be_used_says_why(real_pools: Pools, tmp_path: Path) -> None:
    cases = {
        "text": (b"hello", None),
        "empty": (b"", None),
        "bmp": (encoded("BMP"), None),
        "cut": (encoded("PNG", (300, 300))[:60], None),
        "bomb": (png(100_000, 100_000, b""), "100000 x 100000 pixels are more than 100000000"),
        "lies": (png(3000, 3000, b""), ""),
        "text bomb": (png(3000, 1, b"", b"zTXta\0\0" + zlib.compress(bytes(64 << 20))), ""),
    }
    async with real_pools.open() as pool:
        for name, (data, text) in cases.items():
            (tmp_path / name).write_bytes(data)
            found = await viewed(pool, tmp_path / name)
            assert found.keys() == {"broken"}, name
            assert (found["broken"] is None) == (text is None), name
            assert (text or "") in (found["broken"] or ""), name


async def test_what_is_no_file_is_told_and_not_waited_for(real_pools: Pools, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    cases: dict[str, str] = {
        str(tmp_path): f"image path `{tmp_path}` is not a file",
        f"{tmp_path}/fifo": f"image path `{tmp_path}/fifo` is not a file",
        "/dev/zero": "image path `/dev/zero` is not a file",
        f"{tmp_path}/no": f"unable to locate image at `{tmp_path}/no`: No such file or directory (os error 2)",
        f"{tmp_path}/file/x": f"unable to locate image at `{tmp_path}/file/x`: Not a directory (os error 20)",
        f"{tmp_path}/loop": f"unable to locate image at `{tmp_path}/loop`: {os.strerror(40)} (os error 40)",
        "/nul\0": "unable to locate image at `/nul\0`: file name contained an unexpected NUL byte",
        "relative": "path must be absolute",
    }
    async with real_pools.open() as pool:
        for path, text in cases.items():
            with pytest.raises(JobFailed) as caught:
                await viewed(pool, path)
            assert str(caught.value) == text


async def test_size_in_bytes_is_bounded(real_pools: Pools, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(encoded("PNG"))
    async with real_pools.open() as pool:
        os.truncate(path, MAX_FILE_BYTES)
        found = await viewed(pool, path, answer_cap_bytes=ROOM_BYTES)
        assert len(found["data"]) == MAX_FILE_BYTES
        with pytest.raises(JobFailed, match="the answer exceeds 4194304 bytes"):
            await viewed(pool, path)
        os.truncate(path, MAX_FILE_BYTES + 1)
        with pytest.raises(JobFailed, match=f"^unable to read image at `{path}`: larger than {MAX_FILE_BYTES} bytes$"):
            await viewed(pool, path, answer_cap_bytes=ROOM_BYTES)


async def test_denied_pictures_are_denied_by_any_name(real_pools: Pools, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "a.png").write_bytes(encoded("PNG"))
    (tmp_path / "link").symlink_to("secret/a.png")
    denied = Confinement(entries=(Entry(path=str(tmp_path / "secret"), access="none"),))
    async with real_pools.open() as pool:
        for name in ("secret/a.png", "link"):
            assert (await viewed(pool, tmp_path / name))["mime"] == "image/png"
            with pytest.raises(JobFailed, match=r"^unable to (locate|read) image at "):
                await viewed(pool, tmp_path / name, confinement=denied)


async def test_hidden_library_is_told(real_pools: Pools, tmp_path: Path) -> None:
    """Pillow lies where a call with restricted reads may not look; what fits needs none."""
    (tmp_path / "small.png").write_bytes(encoded("PNG"))
    (tmp_path / "large.png").write_bytes(encoded("PNG", (3000, 10)))
    restricted = Confinement(base="none", entries=(Entry(path=str(tmp_path), access="read"),))
    async with real_pools.open() as pool:
        assert (await viewed(pool, tmp_path / "small.png", confinement=restricted))["mime"] == "image/png"
        found = await viewed(pool, tmp_path / "large.png", confinement=restricted)
        assert found["broken"].startswith("it must be converted first, and what does that cannot be loaded here")
