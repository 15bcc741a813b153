"""Tools are offered by what is switched on, in their order."""

from typing import cast

import pytest

from pycodex.supervisor.tools.offered import offered
from pycodex.supervisor.tools.processes import Processes
from pycodex.supervisor.tools.services import ToolServices
from pycodex.supervisor.workers.late_pool import PoolSource
from support.tool_calls import make_turn

SERVICES = ToolServices(
    pool=cast(PoolSource, None), processes=cast(Processes, None), codex_home="/h", env={}, allow_login_shell=False
)
EXEC = ["exec_command", "write_stdin"]


@pytest.mark.parametrize(
    ("features", "names"),
    [
        ({"shell_tool", "unified_exec"}, [*EXEC, "update_plan"]),
        ({"unified_exec"}, ["update_plan"]),
        ({"shell_tool"}, ["update_plan"]),
    ],
)
def test_order_and_gates(features: set[str], names: list[str]) -> None:
    tools = offered(make_turn(features=frozenset(features)), SERVICES)
    assert [tool.name for tool in tools] == names


def test_settings_reach_the_tools() -> None:
    turn = make_turn()
    exec_command = offered(turn, SERVICES)[0]
    assert "login" not in exec_command.spec(turn)["parameters"]["properties"]


def test_specs_are_functions_of_their_name() -> None:
    turn = make_turn()
    for tool in offered(turn, SERVICES):
        spec = tool.spec(turn)
        assert (spec["type"], spec["name"], spec["strict"]) == ("function", tool.name, False)
        assert spec["parameters"]["additionalProperties"] is False
