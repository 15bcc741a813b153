"""Pictures as parts of a message. Sizes and formats were seen on the reference."""

import base64
import os
import struct
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pycodex.supervisor.context import images
from pycodex.supervisor.context.images import file_parts, url_parts


def encoded(kind: str, size: tuple[int, int] = (8, 6), mode: str = "RGB", **options: Any) -> bytes:
    target = BytesIO()
    Image.new(mode, size).save(target, kind, **options)
    return target.getvalue()


def attached(path: Path) -> tuple[str, bytes]:
    opened, picture, closed = file_parts(str(path), 3)
    assert opened == {"type": "input_text", "text": "<image name=[Image #3]>"}
    assert closed == {"type": "input_text", "text": "</image>"}
    assert picture.keys() == {"type", "image_url"}
    head, _, data = picture["image_url"].partition(";base64,")
    return head, base64.b64decode(data)


def said(path: Path) -> str:
    (part,) = file_parts(str(path), 1)
    assert part["type"] == "input_text"
    text: str = part["text"]
    return text.replace(str(path), "P")


@pytest.mark.parametrize(("kind", "mime"), [("PNG", "png"), ("JPEG", "jpeg"), ("WEBP", "webp")])
@pytest.mark.parametrize("name", ["a.png", "a.txt", "noext"])
def test_what_fits_is_sent_as_it_is_whatever_its_name(tmp_path: Path, kind: str, mime: str, name: str) -> None:
    data = encoded(kind)
    (tmp_path / name).write_bytes(data)
    assert attached(tmp_path / name) == (f"data:image/{mime}", data)


@pytest.mark.parametrize(
    ("size", "sent"),
    [
        ((2048, 768), (2048, 768)),
        ((2049, 768), (2048, 768)),
        ((2000, 769), (1997, 768)),
        ((100, 4000), (19, 768)),
        ((3000, 10), (2048, 7)),
        ((1, 5000), (1, 768)),
    ],
)
def test_larger_ones_are_scaled_to_fit(tmp_path: Path, size: tuple[int, int], sent: tuple[int, int]) -> None:
    (tmp_path / "a.png").write_bytes(encoded("PNG", size))
    head, data = attached(tmp_path / "a.png")
    assert head == "data:image/png"
    assert Image.open(BytesIO(data)).size == sent


@pytest.mark.parametrize(
    ("kind", "mode", "mime"),
    [
        ("JPEG", "RGB", "jpeg"),
        ("JPEG", "CMYK", "jpeg"),
        ("JPEG", "L", "jpeg"),
        ("WEBP", "RGB", "webp"),
        ("PNG", "P", "png"),
        ("PNG", "LA", "png"),
        ("PNG", "1", "png"),
        ("PNG", "I;16", "png"),
        ("GIF", "P", "png"),
    ],
)
def test_scaled_ones_keep_their_format(tmp_path: Path, kind: str, mode: str, mime: str) -> None:
    (tmp_path / "a").write_bytes(encoded(kind, (4000, 3000), mode))
    head, data = attached(tmp_path / "a")
    assert head == f"data:image/{mime}"
    assert Image.open(BytesIO(data)).size == (1024, 768)


def test_gif_becomes_png_even_if_it_fits(tmp_path: Path) -> None:
    (tmp_path / "a.gif").write_bytes(encoded("GIF", mode="P"))
    head, data = attached(tmp_path / "a.gif")
    assert head == "data:image/png"
    assert Image.open(BytesIO(data)).size == (8, 6)


def test_a_scaled_photo_lies_the_right_way(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x112] = 6
    (tmp_path / "a.jpg").write_bytes(encoded("JPEG", (3000, 1000), exif=exif))
    _, data = attached(tmp_path / "a.jpg")
    assert Image.open(BytesIO(data)).size == (256, 768)


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("a.bmp", encoded("BMP"), "Codex cannot attach image at `P`: unsupported image format `image/bmp`."),
        ("a.tiff", encoded("TIFF"), "Codex cannot attach image at `P`: unsupported image format `image/tiff`."),
        ("a.ico", b"\0\0\1\0", "Codex cannot attach image at `P`: unsupported image format `image/x-icon`."),
        ("a.svg", b"<svg/>", "Codex cannot attach image at `P`: unsupported image format `image/svg+xml`."),
        ("a.png", b"hello", "Codex cannot attach image at `P`: unsupported image format `image/png`."),
        ("a.png", b"", "Codex cannot attach image at `P`: unsupported image format `image/png`."),
        ("a.txt", b"hello", "Codex could not read the local image at `P`: unsupported MIME type `text/plain`"),
        ("a", b"hello", "Codex could not read the local image at `P`: unsupported MIME type (unknown)"),
    ],
)
def test_what_is_no_picture_for_us_is_told(tmp_path: Path, name: str, data: bytes, text: str) -> None:
    (tmp_path / name).write_bytes(data)
    assert said(tmp_path / name) == text


def test_unreadable_files_are_told(tmp_path: Path) -> None:
    (tmp_path / "d.png").mkdir()
    os.mkfifo(tmp_path / "pipe.png")
    start = "Codex could not read the local image at `P`: "
    assert said(tmp_path / "no.png") == f"{start}No such file or directory (os error 2)"
    assert said(tmp_path / "d.png") == f"{start}Is a directory (os error 21)"
    assert said(tmp_path / "pipe.png").startswith(f"{start}not a regular file")
    assert said(tmp_path / "nul\0.png").startswith(start)


def test_broken_pictures_are_told(tmp_path: Path) -> None:
    whole = encoded("PNG", (300, 300))
    for name, data in (("garbage", whole[:8] + b"garbage" * 10), ("cut.jpg", encoded("JPEG")[:300])):
        (tmp_path / name).write_bytes(data)
        assert said(tmp_path / name).startswith("Image located at `P` is invalid: ")
    for name, data in (("png", whole[:60]), ("webp", b"RIFF0000WEBPVP8 ")):
        (tmp_path / f"cut.{name}").write_bytes(data)
        text = f"Codex cannot attach image at `P`: unsupported image format `image/{name}`."
        assert said(tmp_path / f"cut.{name}") == text


def bomb(width: int, height: int) -> bytes:
    """The head of a PNG that claims to be of this size."""
    chunk = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = b"IDAT" + zlib.compress(b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data) - 4) + data + struct.pack(">I", zlib.crc32(data)) for data in (chunk, body, b"IEND")
    )


@pytest.mark.parametrize("size", [(10_001, 10_000), (100_000, 100_000)])
def test_pictures_of_too_many_pixels_are_not_decoded(tmp_path: Path, size: tuple[int, int]) -> None:
    (tmp_path / "bomb.png").write_bytes(bomb(*size))
    assert "pixels" in said(tmp_path / "bomb.png")


def test_files_of_too_many_bytes_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MAX_FILE_BYTES", 10)
    (tmp_path / "a.png").write_bytes(encoded("PNG"))
    assert "larger than 10 bytes" in said(tmp_path / "a.png")


def test_addresses_are_passed_on() -> None:
    assert [part.get("text") or part["image_url"] for part in url_parts("data:x")] == ["<image>", "data:x", "</image>"]
