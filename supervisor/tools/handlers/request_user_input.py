"""request_user_input: the model asks the person something, with answers to choose from, and waits.

Owns the arguments, when asking is allowed, and the text of the answer. The question goes out as an event; whoever shows
the thread answers it, or nobody does.
"""

import json
from typing import Any

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.events.question import RequestUserInput as Question
from pycodex.protocol.items import FUNCTION_CALL
from pycodex.protocol.turn_context import PLAN_MODE, TurnContext
from pycodex.supervisor.tools import spec
from pycodex.supervisor.tools.arguments import Field, Shape, boolean, list_of, optional, parse, text
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec, Unanswered

NAME = "request_user_input"
FEATURE = "default_mode_request_user_input"
CANCELLED = f"{NAME} was cancelled before receiving a response"

OPTION = Shape("RequestUserInputQuestionOption", (Field("label", text), Field("description", text)))
QUESTION = Shape(
    "RequestUserInputQuestion",
    (
        Field("id", text),
        Field("header", text),
        Field("question", text),
        Field("isOther", boolean, False),
        Field("isSecret", boolean, False),
        Field("options", optional(list_of(OPTION)), None),
    ),
)
SHAPE = Shape("RequestUserInputArgs", (Field("questions", list_of(QUESTION)),))


class RequestUserInput:
    name = NAME
    parallel = False
    kinds = (FUNCTION_CALL,)

    def spec(self, turn: TurnContext) -> ToolSpec:
        modes = "Plan or Default" if FEATURE in turn.features else "Plan"
        option = spec.record(
            {
                "label": spec.text("What the user picks, in one to five words."),
                "description": spec.text("What follows from picking it, in one sentence."),
            },
            required=("label", "description"),
        )
        question = spec.record(
            {
                "id": spec.text("Name of the question in the answer, in snake_case."),
                "header": spec.text("Heading of at most 12 characters."),
                "question": spec.text("The question, in one sentence."),
                "options": spec.list_of(
                    option,
                    'Two or three answers that exclude each other, the one you advise first, marked "(Recommended)". '
                    "The user can always write an answer of their own, so do not offer one for that.",
                ),
            },
            required=("id", "header", "question", "options"),
        )
        return spec.function(
            NAME,
            "Asks the user up to three short questions and waits for the answers. Only for what you cannot find out "
            f"yourself. Works in {modes} mode only.",
            {"questions": spec.list_of(question, "The questions, best only one; at most three.")},
            required=("questions",),
        )

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        if scope.turn.mode != PLAN_MODE and FEATURE not in scope.turn.features:
            raise ModelFacing(f"{NAME} is unavailable in Default mode")
        questions = parse(call.arguments, SHAPE)["questions"]
        if not all(question["options"] for question in questions):
            raise ModelFacing(f"{NAME} requires non-empty options for every question")
        asked = tuple({**_in_order(question), "isOther": True} for question in questions)
        question = Question(call_id=call.call_id, turn_id=scope.turn.turn_id, questions=asked)
        try:
            answers = _answers(await scope.answer_to(call.call_id, lambda: scope.emit(question)))
        except Unanswered:
            answers = None
        if answers is None:
            raise ModelFacing(CANCELLED)
        return ToolAnswer(json.dumps({"answers": answers}, ensure_ascii=False, separators=(",", ":")))


def _in_order(question: dict[str, Any]) -> dict[str, Any]:
    return {each.name: question[each.name] for each in QUESTION.fields}


def _answers(value: object) -> dict[str, dict[str, list[str]]] | None:
    """By the ids of the questions; None if whoever was asked gave no answer that could be passed on."""
    given = value.get("answers") if isinstance(value, dict) else None
    if not isinstance(given, dict) or not all(map(_is_answer, given.values())):
        return None
    return {str(name): {"answers": list(each["answers"])} for name, each in given.items()}


def _is_answer(given: object) -> bool:
    texts = given.get("answers") if isinstance(given, dict) else None
    return isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts)
