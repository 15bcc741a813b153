"""shell_command: runs a command line in the user's shell, and waits for its end.

Owns the tool's arguments, and whether the shell is a login shell. How it runs is in `shell_runs`.
"""

from dataclasses import dataclass

from pycodex.protocol.items import FUNCTION_CALL
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.tools import shell_parameters, shells, spec
from pycodex.supervisor.tools.arguments import Field, Shape, boolean, optional, text
from pycodex.supervisor.tools.shell_answer import freeform
from pycodex.supervisor.tools.shell_runs import Wish, carry_out
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec

NAME = "shell_command"

SHAPE = Shape(
    "ShellCommandToolCallParams",
    (
        Field("command", text),
        shell_parameters.WORKDIR,
        Field("login", optional(boolean), None),
        *shell_parameters.FIELDS,
    ),
    checked_whole=True,
)

_DESCRIPTION = (
    "Runs a command line in the user's shell and returns its output once it has ended. Set workdir rather than using "
    "cd."
)


@dataclass(frozen=True, slots=True)
class ShellCommand:
    login_allowed: bool
    name: str = NAME
    parallel: bool = True
    kinds: tuple[str, ...] = (FUNCTION_CALL,)

    def spec(self, turn: TurnContext) -> ToolSpec:
        del turn
        properties = {"command": spec.text("The command line."), **shell_parameters.properties()}
        if self.login_allowed:
            properties["login"] = spec.flag("Whether the shell reads the login profile. Default: true.")
        return spec.function(NAME, _DESCRIPTION, properties, required=("command",))

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        given = shell_parameters.read(call.arguments, SHAPE)
        login = shells.wants_login(given["login"], allowed=self.login_allowed)
        wish = Wish(
            argv=shells.argv_for(scope.turn.shell, given["command"], login=login),
            layout=freeform,
            workdir=given["workdir"],
            timeout_ms=given["timeout_ms"],
            asked=given["sandbox_permissions"],
            additional=given["additional_permissions"],
            justification=given["justification"],
            prefix_rule=tuple(given["prefix_rule"] or ()),
        )
        return await carry_out(wish, call, scope)
