"""A person's answer is read as it was meant, and as a refusal where it cannot be read."""

import pytest

from pycodex.protocol.approvals import ABORT, APPROVED, APPROVED_FOR_SESSION, DENIED, Decision


@pytest.mark.parametrize("answer", [APPROVED, APPROVED_FOR_SESSION, DENIED, ABORT])
def test_plain_answers_are_what_they_say(answer: str) -> None:
    decision = Decision.of_wire(answer)
    assert (decision.answer, decision.amendment, decision.to_wire()) == (answer, None, answer)


def test_an_amendment_approves_and_names_its_words() -> None:
    wire = {"approved_execpolicy_amendment": {"proposed_execpolicy_amendment": ["git", "push"]}}
    decision = Decision.of_wire(wire)
    assert decision.approves
    assert decision.amendment == ("git", "push")
    assert decision.to_wire() == wire


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "maybe",
        "APPROVED",
        1,
        True,
        [],
        ["approved"],
        {},
        {"approved": True},
        {"approved_execpolicy_amendment": None},
        {"approved_execpolicy_amendment": {"proposed_execpolicy_amendment": "git"}},
        {"approved_execpolicy_amendment": {"proposed_execpolicy_amendment": ["git", 1]}},
    ],
)
def test_whatever_is_no_answer_is_a_refusal(value: object) -> None:
    decision = Decision.of_wire(value)
    assert decision == Decision(answer=DENIED)
    assert not decision.approves
