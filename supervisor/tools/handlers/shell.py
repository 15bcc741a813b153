"""shell: runs a program with its arguments, without a shell of its own, and waits for its end.

Owns the tool's arguments. The same tool answers to the name `container.exec`. How it runs is in `shell_runs`.
"""

from dataclasses import dataclass

from pycodex.protocol.items import FUNCTION_CALL
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.tools import shell_parameters, spec
from pycodex.supervisor.tools.arguments import Field, Shape, list_of, text
from pycodex.supervisor.tools.shell_answer import structured
from pycodex.supervisor.tools.shell_runs import Wish, carry_out
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec

NAME = "shell"
ALIAS = "container.exec"

SHAPE = Shape(
    "ShellToolCallParams",
    (Field("command", list_of(text)), shell_parameters.WORKDIR, *shell_parameters.FIELDS),
    checked_whole=True,
)

_DESCRIPTION = (
    "Runs a program and returns its output once it has ended. The command is a list of words and no shell reads it: "
    'for pipes, globs or variables run ["bash", "-lc", "..."]. Set workdir rather than using cd.'
)


@dataclass(frozen=True, slots=True)
class Shell:
    name: str = NAME
    parallel: bool = True
    kinds: tuple[str, ...] = (FUNCTION_CALL,)

    def spec(self, turn: TurnContext) -> ToolSpec:
        del turn
        command = spec.list_of({"type": "string"}, "The program and its arguments.")
        return spec.function(
            self.name, _DESCRIPTION, {"command": command, **shell_parameters.properties()}, required=("command",)
        )

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        given = shell_parameters.read(call.arguments, SHAPE)
        wish = Wish(
            argv=tuple(given["command"]),
            layout=structured,
            workdir=given["workdir"],
            timeout_ms=given["timeout_ms"],
            asked=given["sandbox_permissions"],
            additional=given["additional_permissions"],
            justification=given["justification"],
            prefix_rule=tuple(given["prefix_rule"] or ()),
        )
        return await carry_out(wish, call, scope)
