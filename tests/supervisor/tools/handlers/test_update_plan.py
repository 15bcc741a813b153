"""A plan is shown as it was given."""

from typing import cast

import pytest

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.items import FUNCTION_CALL
from pycodex.supervisor.tools.handlers.update_plan import UpdatePlan
from pycodex.supervisor.tools.services import ToolServices
from pycodex.supervisor.tools.tool import ToolCall
from support.tool_calls import Bench, make_turn


async def test_plan_is_told() -> None:
    bench = Bench(make_turn(), cast(ToolServices, None))
    arguments = '{"explanation":"why","plan":[{"step":"a","status":"completed"},{"step":"b","status":"in_progress"}]}'
    answer = await UpdatePlan().run(ToolCall(FUNCTION_CALL, "c", "update_plan", arguments), bench.scope)
    assert (answer.output, bench.warnings) == ("Plan updated", [])
    assert [event.to_wire() for event in bench.events] == [
        {
            "type": "plan_update",
            "explanation": "why",
            "plan": [{"step": "a", "status": "completed"}, {"step": "b", "status": "in_progress"}],
        }
    ]


async def test_plan_mode_is_for_another_plan() -> None:
    bench = Bench(make_turn(mode="plan"), cast(ToolServices, None))
    with pytest.raises(ModelFacing, match="update_plan is a TODO/checklist tool and is not allowed in Plan mode"):
        await UpdatePlan().run(ToolCall(FUNCTION_CALL, "c", "update_plan", '{"plan":[]}'), bench.scope)
    assert bench.events == []


def test_schema() -> None:
    parameters = UpdatePlan().spec(make_turn())["parameters"]
    assert (list(parameters["properties"]), parameters["required"]) == (["explanation", "plan"], ["plan"])
    step = parameters["properties"]["plan"]["items"]
    assert (list(step["properties"]), step["required"]) == (["status", "step"], ["step", "status"])
