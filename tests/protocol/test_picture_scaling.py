"""Pictures are passed on as they are if they can be, and made to fit if not. Sizes were seen on the reference."""

import struct
import subprocess
import sys
import zlib
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from pycodex.protocol.picture_scaling import sendable
from pycodex.protocol.pictures import BrokenPicture, NotAPicture
from support.interpreter import modules_loaded_by


def encoded(kind: str, size: tuple[int, int] = (8, 6), mode: str = "RGB", **options: Any) -> bytes:
    target = BytesIO()
    Image.new(mode, size).save(target, kind, **options)
    return target.getvalue()


def size_of(data: bytes) -> tuple[int, int]:
    return Image.open(BytesIO(data)).size


@pytest.mark.parametrize(("kind", "mime"), [("PNG", "png"), ("JPEG", "jpeg"), ("WEBP", "webp")])
def test_what_fits_is_passed_on_without_a_decoder(kind: str, mime: str) -> None:
    data = encoded(kind, (2048, 768))
    assert sendable(data) == (f"image/{mime}", data)
    code = f"from pycodex.protocol.picture_scaling import sendable; sendable({encoded(kind)!r})"
    assert {name for name in modules_loaded_by(code) if name.startswith("PIL")} == set()


@pytest.mark.parametrize(
    ("size", "sent"), [((2049, 768), (2048, 768)), ((2000, 769), (1997, 768)), ((1, 5000), (1, 768))]
)
def test_larger_ones_are_scaled(size: tuple[int, int], sent: tuple[int, int]) -> None:
    mime, data = sendable(encoded("PNG", size))
    assert (mime, size_of(data)) == ("image/png", sent)


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        *(("PNG", mode) for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")),
        *(("JPEG", mode) for mode in ("L", "RGB", "CMYK")),
        ("WEBP", "RGBA"),
        ("GIF", "P"),
    ],
)
def test_every_mode_of_pixels_can_be_scaled(kind: str, mode: str) -> None:
    mime, data = sendable(encoded(kind, (4000, 3000), mode))
    assert size_of(data) == (1024, 768)
    assert mime == f"image/{'png' if kind == 'GIF' else kind.lower()}"


def test_transparency_is_kept() -> None:
    _, data = sendable(encoded("PNG", (3000, 10), transparency=(0, 0, 0)))
    assert Image.open(BytesIO(data)).convert("RGBA").getpixel((0, 0)) == (0, 0, 0, 0)


def test_original_keeps_the_size_and_gif_still_becomes_png() -> None:
    large = encoded("PNG", (3000, 1000))
    assert sendable(large, original=True) == ("image/png", large)
    mime, data = sendable(encoded("GIF", (3000, 1000), "P"), original=True)
    assert (mime, size_of(data)) == ("image/png", (3000, 1000))


def test_what_is_no_picture_is_told() -> None:
    for data in (b"", b"hello", encoded("BMP"), encoded("PNG")[:-20]):
        with pytest.raises(NotAPicture):
            sendable(data)


def lying_png(width: int, height: int) -> bytes:
    """Its head is whole, but there are no pixels behind it."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
        for chunk in (head, b"IDAT" + zlib.compress(b""), b"IEND")
    )


@pytest.mark.parametrize(
    "data",
    [
        lying_png(3000, 3000),
        encoded("GIF", (300, 300), "P")[:30],
        encoded("GIF", (300, 300), "P")[:12] + b"\xff" * 50,
        encoded("JPEG", (3000, 3000))[:700],
        encoded("WEBP", (3000, 3000))[:40].ljust(len(encoded("WEBP", (3000, 3000))), b"\0"),
    ],
    ids=["png", "gif cut", "gif junk", "jpeg", "webp"],
)
def test_broken_ones_are_told_when_they_must_be_decoded(data: bytes) -> None:
    with pytest.raises(BrokenPicture):
        sendable(data)


@given(
    st.sampled_from([encoded(kind, (2100, 5)) for kind in ("PNG", "JPEG", "WEBP")] + [encoded("GIF", mode="P")]),
    st.integers(0, 300),
    st.binary(min_size=1, max_size=12),
)
def test_damaged_pictures_are_refused_or_sent(data: bytes, at: int, junk: bytes) -> None:
    try:
        mime, _ = sendable(data[:at] + junk + data[at + len(junk) :])
    except (NotAPicture, BrokenPicture):
        return
    assert mime.startswith("image/")


def test_missing_library_is_told() -> None:
    """A sandbox may hide it."""
    code = (
        "import sys; sys.modules['PIL'] = None\n"
        "from pycodex.protocol.picture_scaling import sendable\n"
        f"try: sendable({encoded('GIF', mode='P')!r})\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("BrokenPicture it must be converted first, and what does that cannot be loaded here")
