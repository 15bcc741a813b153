"""list_dir: the entries of a directory, down to a depth.

Owns the tool's arguments. The list itself, and what can be wrong with the request, is the job's.
"""

from dataclasses import dataclass

from pycodex.protocol.items import FUNCTION_CALL
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.tools import spec
from pycodex.supervisor.tools.arguments import Field, Shape, parse, text, usize
from pycodex.supervisor.tools.file_jobs import run_job, senseless
from pycodex.supervisor.tools.reading import for_reading
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec

NAME = "list_dir"
DEFAULT_LIMIT = 25
DEFAULT_DEPTH = 2

SHAPE = Shape(
    "ListDirArgs",
    (
        Field("dir_path", text),
        Field("offset", usize, 1),
        Field("limit", usize, DEFAULT_LIMIT),
        Field("depth", usize, DEFAULT_DEPTH),
    ),
)

_DESCRIPTION = (
    "Lists what is in a directory, hidden files too, sorted by path and indented by depth. A name ends in / for a "
    "directory, @ for a symbolic link, ? for anything else that is no file."
)


@dataclass(frozen=True, slots=True)
class ListDir:
    name: str = NAME
    parallel: bool = True
    kinds: tuple[str, ...] = (FUNCTION_CALL,)

    def spec(self, turn: TurnContext) -> ToolSpec:
        del turn
        return spec.function(
            NAME,
            _DESCRIPTION,
            {
                "dir_path": spec.text("Absolute path of the directory."),
                "offset": spec.number("Number of the first entry to show, counted from 1. Default: 1."),
                "limit": spec.number(f"How many entries to show at most. Default: {DEFAULT_LIMIT}."),
                "depth": spec.number(
                    f"How many levels to go down; 1 is the directory alone. Default: {DEFAULT_DEPTH}."
                ),
            },
            required=("dir_path",),
        )

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        given = parse(call.arguments, SHAPE)
        done = await run_job(NAME, {"path": given.pop("dir_path"), **given}, scope, confine=for_reading)
        if not isinstance(done.value, str):
            raise senseless(NAME)
        return ToolAnswer(done.value, usage=done.exited)
