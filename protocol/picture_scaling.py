"""Makes a picture fit to be sent: passes on the bytes of one that is, scales or encodes others anew.

Owns decoding and encoding. Loads Pillow only for a picture that cannot stay as it is; only the decoder that its first
bytes name is tried, after its size was found acceptable. Takes time with large pictures: call it where that disturbs
nobody. Takes and gives bytes.
"""

from pycodex.protocol.pictures import (
    JPEG,
    MAX_HEIGHT,
    MAX_WIDTH,
    MIME_TYPES,
    PNG,
    WEBP,
    BrokenPicture,
    Head,
    fitted_size,
    head_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from PIL.Image import Image

_JPEG_QUALITY = 85
# Modes that can be scaled before they are converted, which needs less memory.
_SCALABLE_MODES = ("L", "RGB", "RGBA", "CMYK", "YCbCr")


def sendable(data: bytes, *, original: bool = False) -> "tuple[str, bytes]":
    """MIME type and bytes. `original`: keep the size. Raises NotAPicture or BrokenPicture."""
    head = head_of(data)
    kind = head.sent_as
    if kind != head.kind or not (original or head.fits):
        data = _encoded_anew(data, head, original=original)
    return MIME_TYPES[kind], data


def _encoded_anew(data: bytes, head: Head, *, original: bool) -> bytes:
    try:
        import warnings
        from io import BytesIO

        from PIL import Image
    except ImportError as error:
        # A sandbox may hide even the standard library.
        raise BrokenPicture(f"it must be converted first, and what does that cannot be loaded here: {error}") from None
    with warnings.catch_warnings():
        # Pillow warns of odd metadata; what matters was checked before.
        warnings.simplefilter("ignore")
        try:
            image = Image.open(BytesIO(data), formats=(head.kind,))
            # What decides is what the decoder sees.
            Head(head.kind, *image.size)
            return _encoded(_fitted(image, original=original), head.sent_as)
        except BrokenPicture:
            raise
        except Exception as error:
            # Decoders raise whatever they like on hostile input: OSError, SyntaxError, struct.error, ValueError...
            raise BrokenPicture(str(error) or type(error).__name__) from error


def _fitted(image: "Image", *, original: bool) -> "Image":
    from PIL import Image, ImageOps

    if not original:
        # For JPEG: decode no more than is needed.
        image.draft(None, (MAX_WIDTH, MAX_HEIGHT))
    mode = "RGB" if image.format == JPEG else "RGBA"
    # Encoded again it has no metadata, so it must lie the right way by itself.
    upright = ImageOps.exif_transpose(image)
    size = upright.size if original else fitted_size(*upright.size)
    if upright.mode.startswith("I"):
        # Sixteen bits of grey.
        upright = upright.convert("I").point(lambda value: value / 256).convert("L")
    if upright.mode not in _SCALABLE_MODES or "transparency" in upright.info:
        upright = upright.convert(mode)
    if size != upright.size:
        upright = upright.resize(size, Image.Resampling.BILINEAR)
    return upright.convert(mode)


def _encoded(image: "Image", kind: str) -> bytes:
    from io import BytesIO

    target = BytesIO()
    if kind == JPEG:
        image.save(target, kind, quality=_JPEG_QUALITY)
    elif kind == WEBP:
        image.save(target, kind, lossless=True)
    else:
        image.save(target, PNG)
    return target.getvalue()
