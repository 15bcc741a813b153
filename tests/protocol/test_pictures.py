"""What the head of a picture tells, without decoding it."""

import struct
import zlib
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from pycodex.protocol.pictures import (
    MAX_PIXELS,
    BrokenPicture,
    NotAPicture,
    data_url,
    fitted_size,
    head_of,
    refusal,
)


def encoded(kind: str, size: tuple[int, int] = (8, 6), mode: str = "RGB", **options: Any) -> bytes:
    target = BytesIO()
    Image.new(mode, size).save(target, kind, **options)
    return target.getvalue()


def animated(kind: str) -> bytes:
    target = BytesIO()
    frames = [Image.new("RGBA", (33, 44), colour) for colour in ("red", "blue")]
    frames[0].save(target, kind, save_all=True, append_images=frames[1:])
    return target.getvalue()


VARIANTS = {
    "png": encoded("PNG", (33, 44)),
    "png palette": encoded("PNG", (33, 44), "P"),
    "apng": animated("PNG"),
    "jpeg": encoded("JPEG", (33, 44)),
    "jpeg progressive": encoded("JPEG", (33, 44), progressive=True),
    "jpeg grey": encoded("JPEG", (33, 44), "L"),
    "jpeg comment": encoded("JPEG", (33, 44), comment=b"c" * 60_000),
    "gif": encoded("GIF", (33, 44), "P"),
    "gif animated": animated("GIF"),
    "webp": encoded("WEBP", (33, 44)),
    "webp lossless": encoded("WEBP", (33, 44), lossless=True),
    "webp extended": encoded("WEBP", (33, 44), exif=Image.Exif()),
    "webp animated": animated("WEBP"),
}


@pytest.mark.parametrize("data", VARIANTS.values(), ids=VARIANTS)
def test_head_says_what_the_decoder_sees(data: bytes) -> None:
    head = head_of(data)
    image = Image.open(BytesIO(data))
    assert ((head.width, head.height), head.kind) == (image.size, image.format)


@pytest.mark.parametrize("data", VARIANTS.values(), ids=VARIANTS)
def test_cut_pictures_are_found_out(data: bytes) -> None:
    """Wherever they are cut; those of a format without length and last chunk, if it is before the pixels."""
    before_pixels = {"JPEG": data.find(b"\xff\xda"), "GIF": 10}
    for length in range(before_pixels.get(head_of(data).kind, len(data))):
        with pytest.raises((NotAPicture, BrokenPicture)):
            head_of(data[:length])


@given(st.sampled_from(list(VARIANTS.values())), st.integers(0, 400), st.binary(max_size=20))
def test_damaged_pictures_are_refused_or_read(data: bytes, at: int, junk: bytes) -> None:
    try:
        head = head_of(data[:at] + junk + data[at + len(junk) :])
    except (NotAPicture, BrokenPicture):
        return
    assert 0 < head.width * head.height <= MAX_PIXELS


@given(st.binary())
@pytest.mark.parametrize("start", [b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF\0\0\0\0WEBPVP8X"])
def test_any_bytes_are_survived(start: bytes, data: bytes) -> None:
    try:
        head_of(start + data)
    except (NotAPicture, BrokenPicture):
        pass


def png(width: int, height: int, *kinds: bytes) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [b"IHDR" + head, *kinds]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks
    )


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (png(10_001, 10_000, b"IDAT", b"IEND"), "10001 x 10000 pixels are more than 100000000"),
        (png(0, 7, b"IDAT", b"IEND"), "0 x 7 pixels"),
        (png(7, 7, b"IEND"), "no pixels"),
        (b"\x89PNG\r\n\x1a\n" + b"garbage" * 9, "IHDR"),
        (b"\xff\xd8\xff\xd9\xff\xd9", "ends before"),
        (b"\xff\xd8\xff\xe0\x00\x04\x00\x00garbage", "no marker"),
        (b"RIFF\x0c\0\0\0WEBPJUNK\0\0\0\0", "holds no picture"),
    ],
)
def test_broken_pictures_say_why(data: bytes, text: str) -> None:
    with pytest.raises(BrokenPicture, match=text):
        head_of(data)


@given(st.integers(1, 1 << 17), st.integers(1, 1 << 17))
def test_fitted_size_fits_and_keeps_the_shape(width: int, height: int) -> None:
    fitted = fitted_size(width, height)
    assert 1 <= fitted[0] <= 2048
    assert 1 <= fitted[1] <= 768
    if width <= 2048 and height <= 768:
        assert fitted == (width, height)
    else:
        assert abs(fitted[0] * height - fitted[1] * width) <= max(width, height)


@pytest.mark.parametrize(
    ("name", "broken", "text"),
    [
        ("a.bmp", None, "Codex cannot attach image at `a.bmp`: unsupported image format `image/bmp`."),
        ("a.HEIC", None, "Codex cannot attach image at `a.HEIC`: unsupported image format `image/heic`."),
        ("a.txt", None, "Codex could not read the local image at `a.txt`: unsupported MIME type `text/plain`"),
        ("a", None, "Codex could not read the local image at `a`: unsupported MIME type (unknown)"),
        ("a.png", "why", "Image located at `a.png` is invalid: why"),
    ],
)
def test_refusals(name: str, broken: str | None, text: str) -> None:
    assert refusal(name, broken) == text


def test_data_url() -> None:
    assert data_url("image/png", b"\0\xff") == "data:image/png;base64,AP8="
