"""Nobody sits in front of `exec`: whatever asks gets an answer at once."""

import pytest

from pycodex.protocol.events.dynamic_tool import DynamicToolCallRequest
from pycodex.protocol.events.mcp import ElicitationRequest
from pycodex.protocol.events.message import AgentMessage
from pycodex.protocol.events.question import RequestUserInput
from pycodex.protocol.events.union import AnyEvent
from pycodex.protocol.ops import Answer
from pycodex.supervisor.frontends.exec.refusal import refusal_of

FAILED = {"type": "inputText", "text": "dynamic tool request failed"}


@pytest.mark.parametrize(
    ("event", "answer"),
    [
        (RequestUserInput(call_id="c", turn_id="t", questions=()), {"answers": {}}),
        (
            DynamicToolCallRequest(call_id="c", turn_id="t", tool="x", arguments={}),
            {"contentItems": [FAILED], "success": False},
        ),
        (ElicitationRequest(turn_id="t", server_name="s", id="c", request={}), {"action": "cancel"}),
    ],
)
def test_question_is_answered(event: AnyEvent, answer: object) -> None:
    assert refusal_of(event) == Answer(request_id="c", value=answer)


def test_other_events_ask_nothing() -> None:
    assert refusal_of(AgentMessage(message="Which?")) is None
