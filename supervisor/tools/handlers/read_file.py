"""read_file: numbered lines of a text file, or the block around one of them.

Owns the tool's arguments and the layout of its answer. Which lines they are, and what can be wrong with the request, is
the job's to say.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pycodex.protocol.items import FUNCTION_CALL
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.tools import spec
from pycodex.supervisor.tools.arguments import Field, Shape, boolean, choice, optional, parse, text, usize
from pycodex.supervisor.tools.file_jobs import run_job, senseless
from pycodex.supervisor.tools.reading import for_reading
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec

NAME = "read_file"
SLICE = "slice"
INDENTATION = "indentation"
DEFAULT_LIMIT = 2000

BLOCK = Shape(
    "IndentationArgs",
    (
        Field("anchor_line", optional(usize), None),
        Field("max_levels", usize, 0),
        Field("include_siblings", boolean, False),
        Field("include_header", boolean, True),
        Field("max_lines", optional(usize), None),
    ),
)
SHAPE = Shape(
    "ReadFileArgs",
    (
        Field("file_path", text),
        Field("offset", usize, 1),
        Field("limit", usize, DEFAULT_LIMIT),
        Field("mode", choice(SLICE, INDENTATION), SLICE),
        Field("indentation", optional(BLOCK), None),
    ),
)

_DESCRIPTION = (
    "Reads lines of a text file, each with its number in front. Lines longer than 500 bytes are cut. Mode "
    f'"{INDENTATION}" shows the block of code around a line instead of a range.'
)


@dataclass(frozen=True, slots=True)
class ReadFile:
    name: str = NAME
    parallel: bool = True
    kinds: tuple[str, ...] = (FUNCTION_CALL,)

    def spec(self, turn: TurnContext) -> ToolSpec:
        del turn
        return spec.function(
            NAME,
            _DESCRIPTION,
            {
                "file_path": spec.text("Absolute path of the file."),
                "offset": spec.number("Number of the first line to show, counted from 1. Default: 1."),
                "limit": spec.number(f"How many lines to show at most. Default: {DEFAULT_LIMIT}."),
                "mode": spec.text(
                    f'"{SLICE}" shows the lines from offset on, "{INDENTATION}" the block around an anchor line. '
                    f'Default: "{SLICE}".'
                ),
                "indentation": spec.record(_block_properties(), required=()),
            },
            required=("file_path",),
        )

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        given = parse(call.arguments, SHAPE)
        wanted = {"path": given["file_path"], "offset": given["offset"], "limit": given["limit"]}
        if given["mode"] == INDENTATION:
            wanted["indentation"] = given["indentation"] or {}
        done = await run_job(NAME, wanted, scope, confine=for_reading)
        return ToolAnswer("\n".join(_shown(done.value, given)), usage=done.exited)


def _block_properties() -> dict[str, spec.Schema]:
    return {
        "anchor_line": spec.number("The line whose block is shown. Default: offset."),
        "max_levels": spec.number(
            "How many levels of indentation further out than the anchor the block may reach; 0: all. Default: 0."
        ),
        "include_siblings": spec.flag(
            "Whether blocks beside the outermost line of the block are shown as well. Default: false."
        ),
        "include_header": spec.flag("Whether comments right above the block are shown as well. Default: true."),
        "max_lines": spec.number("How many lines to show at most. Default: limit."),
    }


def _shown(answer: object, given: dict[str, Any]) -> Iterator[str]:
    match answer:
        case {"first_line": int(first), "lines": list(lines), "more": bool(more)}:
            yield from (f"L{number}: {line}" for number, line in enumerate(lines, start=first))
            if more and len(lines) < given["limit"] and given["mode"] == SLICE:
                yield f"[{len(lines)} lines are the most that one call shows; go on with offset {first + len(lines)}]"
        case _:
            raise senseless(NAME)
