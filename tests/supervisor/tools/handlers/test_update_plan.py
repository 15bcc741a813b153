"""A plan is shown as it was given."""

from typing import cast

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


def test_schema() -> None:
    parameters = UpdatePlan().spec(make_turn())["parameters"]
    assert (list(parameters["properties"]), parameters["required"]) == (["explanation", "plan"], ["plan"])
    step = parameters["properties"]["plan"]["items"]
    assert (list(step["properties"]), step["required"]) == (["status", "step"], ["step", "status"])
