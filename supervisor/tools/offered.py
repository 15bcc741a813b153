"""Which tools the model is offered, in the order in which the request lists them.

Owns the list: a new tool is one file in `handlers` and one line here. Whether a line holds depends on the turn.
"""

from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.tools.handlers.exec_command import ExecCommand
from pycodex.supervisor.tools.handlers.update_plan import UpdatePlan
from pycodex.supervisor.tools.handlers.write_stdin import WriteStdin
from pycodex.supervisor.tools.services import ToolServices
from pycodex.supervisor.tools.tool import Tool


def offered(turn: TurnContext, services: ToolServices) -> list[Tool]:
    unified_exec = {"shell_tool", "unified_exec"} <= turn.features
    candidates: tuple[tuple[bool, Tool], ...] = (
        (unified_exec, ExecCommand(login_allowed=services.allow_login_shell)),
        (unified_exec, WriteStdin()),
        (True, UpdatePlan()),
    )
    return [tool for holds, tool in candidates if holds]
