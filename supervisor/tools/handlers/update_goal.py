"""update_goal: the model says that the goal of the thread is reached, or that it cannot go on by itself."""

from pycodex.protocol.events.goal import BLOCKED, COMPLETE
from pycodex.protocol.items import FUNCTION_CALL
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.prompts.load import text as prompt
from pycodex.supervisor.tools import spec
from pycodex.supervisor.tools.arguments import Field, Shape, choice, parse
from pycodex.supervisor.tools.services import GoalDesk
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec

NAME = "update_goal"

SHAPE = Shape("UpdateGoalArgs", (Field("status", choice(COMPLETE, BLOCKED)),), closed=True)

ANSWERS = {
    COMPLETE: "The goal is marked as complete. Tell the user what was achieved.",
    BLOCKED: "The goal is marked as blocked. Tell the user what you need to go on.",
}


class UpdateGoal:
    name = NAME
    parallel = False
    kinds = (FUNCTION_CALL,)

    def __init__(self, goals: GoalDesk) -> None:
        self._goals = goals

    def spec(self, turn: TurnContext) -> ToolSpec:
        del turn
        status = {"type": "string", "enum": [COMPLETE, BLOCKED], "description": "What has become of the goal."}
        return spec.function(NAME, prompt("update-goal"), {"status": status}, required=("status",))

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        status = parse(call.arguments, SHAPE)["status"]
        self._goals.mark(status, turn_id=scope.turn.turn_id)
        return ToolAnswer(ANSWERS[status])
