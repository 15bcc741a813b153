"""A plan is shown as it was given."""

from typing import cast

from pycodex.protocol.events.event import Event
from pycodex.protocol.items import FUNCTION_CALL
from pycodex.supervisor.tools.handlers.update_plan import UpdatePlan
from pycodex.supervisor.tools.services import ToolServices
from pycodex.supervisor.tools.tool import ToolCall, ToolScope
from support.tool_calls import make_turn


async def test_plan_is_told() -> None:
    events: list[Event] = []
    warnings: list[str] = []
    scope = ToolScope(turn=make_turn(), emit=events.append, services=cast(ToolServices, None), warn=warnings.append)
    arguments = '{"explanation":"why","plan":[{"step":"a","status":"completed"},{"step":"b","status":"in_progress"}]}'
    answer = await UpdatePlan().run(ToolCall(FUNCTION_CALL, "c", "update_plan", arguments), scope)
    assert (answer.output, warnings) == ("Plan updated", [])
    assert [event.to_wire() for event in events] == [
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
