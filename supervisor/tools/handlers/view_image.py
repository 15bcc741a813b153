"""view_image: shows the model a picture from disk.

Owns the tool's arguments, and when a picture may keep its size. It is read and scaled by the job; what makes a picture
one that can be sent is in `protocol/pictures`.
"""

import os
from typing import TYPE_CHECKING

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.events.image import ViewImageToolCall
from pycodex.protocol.items import FUNCTION_CALL, input_image
from pycodex.protocol.pictures import MAX_FILE_BYTES, MAX_HEIGHT, MAX_WIDTH, MIME_TYPES, data_url, refusal
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.tools import spec
from pycodex.supervisor.tools.arguments import Field, Shape, optional, parse, text
from pycodex.supervisor.tools.file_jobs import run_job, senseless
from pycodex.supervisor.tools.reading import for_reading
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec

if TYPE_CHECKING:
    from pycodex.protocol.items import Part

NAME = "view_image"
ORIGINAL = "original"
FEATURE = "image_detail_original"

SHAPE = Shape("ViewImageArgs", (Field("path", text), Field("detail", optional(text), None)))

# A picture that is sent as it is, and the words around it.
_ANSWER_CAP_BYTES = MAX_FILE_BYTES + (1 << 16)


class ViewImage:
    name = NAME
    parallel = True
    kinds = (FUNCTION_CALL,)

    def spec(self, turn: TurnContext) -> ToolSpec:
        properties = {"path": spec.text("Path of the picture: PNG, JPEG, WebP or GIF.")}
        if _may_keep_size(turn):
            properties["detail"] = spec.text(
                f'"{ORIGINAL}" keeps the size of the picture, for when small details matter. If left out, one that is '
                f"larger than {MAX_WIDTH} x {MAX_HEIGHT} is scaled down."
            )
        return spec.function(
            NAME, "Shows you a picture that is a file on this machine.", properties, required=("path",)
        )

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        turn = scope.turn
        if not turn.model_info.takes_images:
            raise ModelFacing("view_image is not allowed because you do not support image inputs")
        given = parse(call.arguments, SHAPE)
        if given["detail"] not in (None, ORIGINAL):
            raise ModelFacing(
                f"view_image.detail only supports `{ORIGINAL}`; omit `detail` for default resized behavior, "
                f"got `{given['detail']}`"
            )
        original = given["detail"] is not None and _may_keep_size(turn)
        path = _absolute(given["path"], turn.cwd)
        wanted = {"path": path, "original": original}
        done = await run_job(NAME, wanted, scope, answer_cap_bytes=_ANSWER_CAP_BYTES, confine=for_reading)
        scope.emit(ViewImageToolCall(call_id=call.call_id, path=path))
        return ToolAnswer(_output(done.value, path, original=original), usage=done.exited)


def _output(answer: object, path: str, *, original: bool) -> "str | list[Part]":
    match answer:
        case {"mime": str(mime), "data": bytes(data)} if mime in MIME_TYPES.values():
            picture = input_image(data_url(mime, data))
            return [{**picture, "detail": ORIGINAL} if original else picture]
        case {"broken": None | str() as broken}:
            return refusal(path, broken_because=broken)
        case _:
            raise senseless(NAME)


def _may_keep_size(turn: TurnContext) -> bool:
    return FEATURE in turn.features and turn.model_info.supports_image_detail_original


def _absolute(path: str, cwd: str) -> str:
    """By its letters alone: `..` takes away what stands before it, whether that is a link or not."""
    return "/" + os.path.normpath(os.path.join(cwd, path)).lstrip("/")
