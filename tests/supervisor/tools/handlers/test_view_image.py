"""A picture for the model. Texts were seen on the reference."""

import base64
import os
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from PIL import Image

from pycodex.protocol.model_info import ModelInfo
from pycodex.supervisor.tools.handlers.view_image import ViewImage
from support.direct_calls import CALL_ID, answered, denying, hostile_arguments, hostile_settings, survives, told
from support.tool_calls import FULL_ACCESS, POLICY, WORKSPACE_WRITE, Benches, make_turn

MODEL = ModelInfo(slug="m", display_name="M", context_window=None, truncation=POLICY)
SEES_DETAILS: dict[str, Any] = {
    "model_info": replace(MODEL, supports_image_detail_original=True),
    "features": frozenset({"image_detail_original"}),
}


def encoded(kind: str, size: tuple[int, int] = (8, 6), mode: str = "RGB") -> bytes:
    target = BytesIO()
    Image.new(mode, size).save(target, kind)
    return target.getvalue()


def picture(output: object) -> tuple[str, bytes, dict[str, Any]]:
    """MIME type, bytes, and what else is said of it."""
    assert isinstance(output, list)
    (part,) = output
    head, _, data = part.pop("image_url").partition(";base64,")
    assert part.pop("type") == "input_image"
    return head.removeprefix("data:"), base64.b64decode(data), part


@pytest.mark.parametrize("permissions", [WORKSPACE_WRITE, FULL_ACCESS], ids=["confined", "unconfined"])
async def test_picture_that_fits_is_shown_as_it_is(benches: Benches, workspace: Path, permissions: object) -> None:
    data = encoded("PNG")
    (workspace / "dot.png").write_bytes(data)
    async with benches(permissions) as bench:
        for path in ("dot.png", str(workspace / "dot.png")):
            answer = await answered(ViewImage(), bench, {"path": path})
            assert answer.usage is not None
            assert picture(answer.output) == ("image/png", data, {})
    event = {"type": "view_image_tool_call", "call_id": CALL_ID, "path": str(workspace / "dot.png")}
    assert [event.to_wire() for event in bench.events] == [event, event]


async def test_larger_ones_are_scaled_and_gif_becomes_png(benches: Benches, workspace: Path) -> None:
    (workspace / "big.jpg").write_bytes(encoded("JPEG", (4000, 3000)))
    (workspace / "a.gif").write_bytes(encoded("GIF", mode="P"))
    async with benches() as bench:
        mime, data, _ = picture((await answered(ViewImage(), bench, {"path": "big.jpg"})).output)
        assert (mime, Image.open(BytesIO(data)).size) == ("image/jpeg", (1024, 768))
        mime, data, _ = picture((await answered(ViewImage(), bench, {"path": "a.gif"})).output)
        assert (mime, Image.open(BytesIO(data)).size) == ("image/png", (8, 6))


async def test_pictures_of_many_bytes_are_shown(benches: Benches, workspace: Path) -> None:
    """More than a file job's answer usually holds."""
    noise = BytesIO()
    Image.frombytes("RGB", (2048, 768), os.urandom(2048 * 768 * 3)).save(noise, "PNG", compress_level=0)
    (workspace / "noise.png").write_bytes(noise.getvalue())
    async with benches() as bench:
        _, data, _ = picture((await answered(ViewImage(), bench, {"path": "noise.png"})).output)
    assert data == noise.getvalue()


async def test_original_size_is_kept_only_where_model_and_feature_allow(benches: Benches, workspace: Path) -> None:
    large = encoded("PNG", (3000, 1000))
    (workspace / "large.png").write_bytes(large)
    call = {"path": "large.png", "detail": "original"}
    async with benches(turn=SEES_DETAILS) as bench:
        assert picture((await answered(ViewImage(), bench, call)).output) == (
            "image/png",
            large,
            {"detail": "original"},
        )
        _, data, said = picture((await answered(ViewImage(), bench, {**call, "detail": None})).output)
        assert (data != large, said) == (True, {})
    for name, value in SEES_DETAILS.items():
        async with benches(turn={name: value}) as bench:
            _, data, said = picture((await answered(ViewImage(), bench, call)).output)
            assert (data != large, said) == (True, {})


async def test_files_that_are_no_pictures_are_told_and_announced(benches: Benches, workspace: Path) -> None:
    whole = encoded("PNG", (300, 300))
    cases = {
        "notes.txt": (b"hello", "Codex could not read the local image at `P`: unsupported MIME type `text/plain`"),
        "none": (b"", "Codex could not read the local image at `P`: unsupported MIME type (unknown)"),
        "a.bmp": (encoded("BMP"), "Codex cannot attach image at `P`: unsupported image format `image/bmp`."),
        "cut.png": (whole[:60], "Codex cannot attach image at `P`: unsupported image format `image/png`."),
        "late.png": (whole[:-30], "Codex cannot attach image at `P`: unsupported image format `image/png`."),
        "sig.png": (whole[:8] + b"garbage" * 9, "Image located at `P` is invalid: its first chunk is not IHDR"),
        "cut.jpg": (encoded("JPEG")[:300], "Image located at `P` is invalid: it ends before its pixels begin"),
    }
    async with benches() as bench:
        for name, (data, text) in cases.items():
            path = workspace / name
            path.write_bytes(data)
            assert await told(ViewImage(), bench, path=name) == text.replace("`P`", f"`{path}`")
        assert [event["path"] for event in bench.told("view_image_tool_call")] == [f"{workspace}/{n}" for n in cases]


async def test_mistakes_are_told_without_an_event(benches: Benches, workspace: Path) -> None:
    os.mkfifo(workspace / "fifo")
    (workspace / "loop").symlink_to("loop")
    gone = "No such file or directory (os error 2)"
    unread = "failed to parse function arguments"
    cases: list[tuple[object, str]] = [
        ({"path": ""}, f"image path `{workspace}` is not a file"),
        ({"path": "fifo"}, f"image path `{workspace}/fifo` is not a file"),
        ({"path": "/dev/zero"}, "image path `/dev/zero` is not a file"),
        ({"path": "/.."}, "image path `/` is not a file"),
        ({"path": "loop"}, f"unable to locate image at `{workspace}/loop`: {os.strerror(40)} (os error 40)"),
        # The path is made plain by its letters.
        ({"path": "./no/../nope/"}, f"unable to locate image at `{workspace}/nope`: {gone}"),
        ({"path": "//nope"}, f"unable to locate image at `/nope`: {gone}"),
        ({"path": "~/x"}, f"unable to locate image at `{workspace}/~/x`: {gone}"),
        (
            {"path": "nope", "detail": "low"},
            "view_image.detail only supports `original`; omit `detail` for default resized behavior, got `low`",
        ),
        ({}, f"{unread}: missing field `path` at line 1 column 2"),
        (["x", "original", 1], f"{unread}: trailing characters at line 1 column 19"),
    ]
    async with benches() as bench:
        for arguments, text in cases:
            assert (await answered(ViewImage(), bench, arguments)).output == text
        assert bench.events == []


async def test_model_without_eyes_is_refused_before_its_arguments_are_read(benches: Benches) -> None:
    async with benches(turn={"model_info": replace(MODEL, input_modalities=("text",))}) as bench:
        refused = "view_image is not allowed because you do not support image inputs"
        assert (await answered(ViewImage(), bench, "nonsense")).output == refused


async def test_denied_pictures_stay_unseen(benches: Benches, workspace: Path) -> None:
    (workspace / "secret").mkdir()
    (workspace / "secret" / "a.png").write_bytes(encoded("PNG"))
    (workspace / "link").symlink_to("secret/a.png")
    async with benches(denying(workspace / "secret")) as bench:
        for path in ("secret/a.png", "link"):
            assert (await told(ViewImage(), bench, path=path)).startswith("unable to ")
        assert bench.events == []


HOSTILE = {
    "path": ("/dev/zero", "/proc/self/mem", "/nul\0", "/", __file__, "x" * 5000, "..", "~"),
    "detail": ("original", "low", ""),
}


@hostile_settings
@given(hostile_arguments(HOSTILE))
def test_any_arguments_are_answered(benches: Benches, texts: list[str]) -> None:
    survives(ViewImage(), benches, texts)


def test_schema() -> None:
    plain = ViewImage().spec(make_turn())["parameters"]
    assert (list(plain["properties"]), plain["required"]) == (["path"], ["path"])
    detailed = ViewImage().spec(make_turn(**SEES_DETAILS))["parameters"]
    assert (list(detailed["properties"]), detailed["required"]) == (["detail", "path"], ["path"])
    assert ViewImage().parallel
