"""The question about a command, as the terms of a turn make it."""

import pytest

from pycodex.supervisor.policy.decision import Refuse
from pycodex.supervisor.policy.escalation import REQUIRE_ESCALATED, USE_DEFAULT
from pycodex.supervisor.policy.questions import (
    ASKS,
    IN_SANDBOX,
    NO_SANDBOX,
    OUTSIDE,
    REFUSED,
    Terms,
    outcome_of,
    question_about,
    verdict_on,
)
from pycodex.supervisor.policy.rules import PrefixRule, Rules

RULES = Rules(
    prefix_rules=(
        PrefixRule(program="cp"),
        PrefixRule(program="ship", decision="prompt"),
        PrefixRule(program="curl", decision="forbidden"),
    )
)


@pytest.mark.parametrize(
    ("command", "policy", "mode", "outcome"),
    [
        ("ls", "on-request", "read-only", IN_SANDBOX),
        ("touch x", "on-request", "workspace-write", IN_SANDBOX),
        ("touch x", "untrusted", "workspace-write", ASKS),
        ("touch x", "never", "danger-full-access", NO_SANDBOX),
        ("touch x", "never", "external-sandbox", NO_SANDBOX),
        ("cp a b", "never", "read-only", OUTSIDE),
        ("cp a b", "never", "danger-full-access", NO_SANDBOX),
        ("cp a b && touch x", "never", "read-only", IN_SANDBOX),
        ("ship it", "on-request", "read-only", ASKS),
        ("ship it", "never", "read-only", REFUSED),
        ("curl x", "on-request", "danger-full-access", REFUSED),
    ],
)
def test_outcome_in_one_word(command: str, policy: str, mode: str, outcome: str) -> None:
    question = question_about(("/bin/bash", "-lc", command), rules=RULES, terms=Terms(policy, mode, "/bin/bash"))
    assert outcome_of(verdict_on(question), question) == outcome


@pytest.mark.parametrize(
    ("policy", "asked", "is_refused"),
    [
        ("on-request", REQUIRE_ESCALATED, False),
        ("never", REQUIRE_ESCALATED, True),
        ("untrusted", REQUIRE_ESCALATED, True),
        ("never", USE_DEFAULT, False),
    ],
)
def test_who_must_not_ask_for_more_is_told_so_first(policy: str, asked: str, is_refused: bool) -> None:
    question = question_about(("cp", "a"), rules=RULES, terms=Terms(policy, "read-only", ""), asked=asked)
    verdict = verdict_on(question, verb="should not")
    assert isinstance(verdict, Refuse) is is_refused
    if isinstance(verdict, Refuse):
        assert "reject command — you should not ask for escalated permissions" in verdict.text
