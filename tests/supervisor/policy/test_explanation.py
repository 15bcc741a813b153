"""What is told of a decision is what was decided, and by whom."""

from dataclasses import replace
from typing import Any

import pytest

from pycodex.supervisor.policy.decision import WITHOUT_SANDBOX, Ask, Refuse, Run, decide
from pycodex.supervisor.policy.escalation import REQUIRE_ESCALATED
from pycodex.supervisor.policy.explanation import Explanation, explain
from pycodex.supervisor.policy.located_rules import LocatedRules
from pycodex.supervisor.policy.questions import Terms, question_about
from pycodex.supervisor.policy.rule_language import Source
from pycodex.supervisor.policy.rule_process import evaluated_with_calls

TEXT = """\
prefix_rule(["cp"])
prefix_rule(["git"], "prompt", justification="look first")
prefix_rule(["git", "push"], "forbidden")
host_executable("cp", ["/opt/cp"])
prefix_rule(["mv"])
"""


@pytest.fixture(scope="module")
def located() -> LocatedRules:
    sources = (Source(path="r.rules", text=TEXT),)
    rules, calls = evaluated_with_calls(sources)
    return LocatedRules(rules, sources, ("user",), calls)


def explained(
    located: LocatedRules, command: str | tuple[str, ...], policy: str = "on-request", **more: Any
) -> Explanation:
    argv = ("/bin/bash", "-lc", command) if isinstance(command, str) else command
    terms = Terms(policy, more.pop("mode", "workspace-write"), "/bin/bash")
    question = question_about(argv, rules=located.rules, terms=terms, **more)
    explanation = explain(question, located)
    if not isinstance(explanation.verdict, Refuse) or question.asked != REQUIRE_ESCALATED:
        assert explanation.verdict == decide(question)
    return explanation


def words(explanation: Explanation) -> list[list[tuple[str, str, int | None, bool]]]:
    """Of each part: decision, ground, line of the rule, and whether it has the last word."""
    return [
        [
            (each.word.decision, each.word.ground, each.origin.line if each.origin else None, each.decides)
            for each in part.said
        ]
        for part in explanation.parts
    ]


def test_every_part_has_its_words_and_their_lines(located: LocatedRules) -> None:
    explanation = explained(located, "ls && git push && cp a b && rm -rf x")
    assert words(explanation) == [
        [("allow", "safe", None, False)],
        [("prompt", "rule", 2, False), ("forbidden", "rule", 3, True)],
        [("allow", "rule", 1, False)],
        [("prompt", "dangerous", None, False)],
    ]
    assert explanation.outcome == "refused"


@pytest.mark.parametrize(
    ("command", "form"),
    [
        ("ls && pwd", "plain"),
        ("ls > x", "opaque"),
        ("for x in a; do ls; done", "opaque"),
        ("cat <<E\na\nE", "fed"),
        (("ls", "-l"), "no-script"),
    ],
)
def test_form_of_a_command(command: Any, form: str, located: LocatedRules) -> None:
    assert explained(located, command).form == form


@pytest.mark.parametrize(
    ("command", "policy", "more", "outcome", "on_denial"),
    [
        ("touch x", "on-request", {}, "in-sandbox", "fails"),
        ("touch x", "on-failure", {}, "in-sandbox", "asks"),
        ("touch x", "untrusted", {}, "asks", "asks"),
        ("touch x", "on-request", {"asked": REQUIRE_ESCALATED}, "asks", None),
        ("touch x", "never", {"asked": REQUIRE_ESCALATED}, "refused", None),
        ("touch x", "on-failure", {"mode": "danger-full-access"}, "no-sandbox", None),
        ("cp a b", "on-failure", {}, "outside", None),
    ],
)
def test_outcome_and_what_follows_from_a_denial(
    command: str, policy: str, more: dict[str, Any], outcome: str, on_denial: str | None, located: LocatedRules
) -> None:
    explanation = explained(located, command, policy, **more)
    assert (explanation.outcome, explanation.on_denial) == (outcome, on_denial)


@pytest.mark.parametrize(
    ("command", "why", "line"),
    [
        ("mv <<E > x\na\nE", "does-more", 5),
        (("/usr/bin/mv", "a"), "namesake", 5),
        (("./bash", "-c", "mv a b"), "strange-shell", 5),
    ],
)
def test_rule_that_does_not_count_is_told_with_the_reason(
    command: Any, why: str, line: int, located: LocatedRules
) -> None:
    explanation = explained(located, command)
    (part,) = explanation.parts
    (passed,) = part.passed_over
    assert passed.origin is not None
    assert (passed.why, passed.origin.line) == (why, line)
    assert explanation.outcome == "in-sandbox"


def test_program_that_is_known_by_its_path_is_freed(located: LocatedRules) -> None:
    explanation = explained(located, ("/opt/cp", "a"))
    assert (explanation.outcome, explanation.parts[0].passed_over) == ("outside", ())


def test_what_runs_in_the_end_is_what_a_yes_leads_to(located: LocatedRules) -> None:
    asked = explained(located, "touch x", asked=REQUIRE_ESCALATED)
    assert isinstance(asked.verdict, Ask)
    assert asked.run == Run(unconfined_because="approved by the user")
    assert explained(located, "git push").run is None


def test_form_for_machines(located: LocatedRules) -> None:
    plain = explained(located, "git status").to_plain()
    rule = {
        "matchedPrefix": ["git"],
        "resolvedProgram": None,
        "justification": "look first",
        "file": "r.rules",
        "line": 2,
        "level": "user",
    }
    assert plain == {
        "command": ["/bin/bash", "-lc", "git status"],
        "approvalPolicy": "on-request",
        "sandboxPermissions": "use_default",
        "script": "plain",
        "segments": [
            {
                "command": ["git", "status"],
                "words": [{"decision": "prompt", "by": "rule", "decides": True, "rule": rule}],
                "passedOver": [],
            }
        ],
        "outcome": "asks",
        "refusal": None,
        "ask": {"reason": "`/bin/bash -lc 'git status'` requires approval: look first", "amendment": None},
        "unconfinedBecause": None,
        "onDenial": "fails",
        "retryAsk": None,
    }


def test_person_who_has_let_it_out_for_the_session_is_not_asked_again(located: LocatedRules) -> None:
    question = question_about(("touch", "x"), rules=located.rules, terms=Terms("on-failure", "read-only", ""))
    question = replace(question, key="k", granted={("k", WITHOUT_SANDBOX)})
    assert explain(question, located).on_denial == "repeats"


def test_question_after_a_denial_is_told_for_machines(located: LocatedRules) -> None:
    plain = explained(located, "touch x", "on-failure").to_plain()
    assert plain["retryAsk"] == {"reason": "command failed; retry without sandbox?", "amendment": ["touch", "x"]}
