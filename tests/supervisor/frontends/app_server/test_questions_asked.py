"""What clients answer, in the engine's words."""

from typing import Any

import pytest

from pycodex.protocol.events.approval import ExecApprovalRequest
from pycodex.supervisor.frontends.app_server.questions_asked import (
    COMMAND_APPROVAL,
    ELICITATION,
    PATCH_APPROVAL,
    TOOL_CALL,
    USER_INPUT,
    command_approval,
    engine_answer,
    engine_answer_to_failure,
)
from pycodex.supervisor.frontends.app_server.telling import Question, Telling

AMENDED = {"approved_execpolicy_amendment": {"proposed_execpolicy_amendment": ["touch", "a"]}}


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"decision": "accept"}, "approved"),
        ({"decision": "acceptForSession"}, "approved_for_session"),
        ({"decision": "decline"}, "denied"),
        ({"decision": "cancel"}, "abort"),
        ({"decision": {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["touch", "a"]}}}, AMENDED),
        ({"decision": {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": [1]}}}, "denied"),
        ({"decision": "approved"}, "denied"),
        ({}, "denied"),
        (None, "denied"),
        ([], "denied"),
    ],
)
def test_decisions(result: Any, expected: Any) -> None:
    assert engine_answer(COMMAND_APPROVAL, result) == expected


def test_other_answers_are_passed_on() -> None:
    answers = {"answers": {"q": {"answers": ["A"]}}}
    assert engine_answer(USER_INPUT, answers) is answers
    assert engine_answer_to_failure(USER_INPUT) == {"answers": {}}
    assert engine_answer_to_failure(ELICITATION) == {"action": "cancel"}
    assert engine_answer_to_failure(PATCH_APPROVAL) == "denied"
    assert engine_answer_to_failure(TOOL_CALL)["success"] is False


def test_question_offers_what_the_engine_offers() -> None:
    event = ExecApprovalRequest(
        call_id="c",
        turn_id="t",
        command=("touch", "a b"),
        cwd="/ws",
        available_decisions=("approved", AMENDED, "abort"),
        parsed_cmd=({"type": "unknown", "cmd": "touch a"},),
        proposed_execpolicy_amendment=("touch", "a"),
    )
    (question,) = command_approval(Telling("thread"), event)
    assert isinstance(question, Question)
    amendment = {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["touch", "a"]}}
    assert question.params == {
        "threadId": "thread",
        "turnId": "t",
        "itemId": "c",
        "command": "touch 'a b'",
        "cwd": "/ws",
        "commandActions": [{"type": "unknown", "command": "touch a"}],
        "proposedExecpolicyAmendment": ["touch", "a"],
        "availableDecisions": ["accept", amendment, "cancel"],
    }
