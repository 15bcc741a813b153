"""update_plan: the model tells the user its plan. Nothing is kept of it but the event and the call itself."""

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.events.plan import PlanUpdate
from pycodex.protocol.items import FUNCTION_CALL
from pycodex.protocol.turn_context import PLAN_MODE, TurnContext
from pycodex.supervisor.tools import spec
from pycodex.supervisor.tools.arguments import Field, Shape, choice, list_of, optional, parse, text
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec

NAME = "update_plan"
STATUSES = ("pending", "in_progress", "completed")

STEP = Shape("PlanItemArg", (Field("step", text), Field("status", choice(*STATUSES))), closed=True)
SHAPE = Shape(
    "UpdatePlanArgs",
    (Field("explanation", optional(text), None), Field("plan", list_of(STEP))),
    closed=True,
)


class UpdatePlan:
    name = NAME
    parallel = False
    kinds = (FUNCTION_CALL,)

    def spec(self, turn: TurnContext) -> ToolSpec:
        del turn
        step = spec.record(
            {
                "step": {"type": "string"},
                "status": spec.text("One of: pending, in_progress, completed."),
            },
            required=("step", "status"),
        )
        return spec.function(
            NAME,
            "Shows the user the plan for the task: all of its steps, each with its status. One step at a time is "
            "in_progress.",
            {
                "explanation": {"type": "string"},
                "plan": spec.list_of(step, "All steps, in their order."),
            },
            required=("plan",),
        )

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        if scope.turn.mode == PLAN_MODE:
            raise ModelFacing("update_plan is a TODO/checklist tool and is not allowed in Plan mode")
        given = parse(call.arguments, SHAPE)
        scope.emit(PlanUpdate(explanation=given["explanation"], plan=tuple(given["plan"])))
        return ToolAnswer("Plan updated")
