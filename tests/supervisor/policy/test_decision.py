"""The table of decisions: what rules, lists and the approval policy make of a command."""

from collections.abc import Sequence
from typing import Any

import pytest

from pycodex.protocol.turn_context import ApprovalPolicy
from pycodex.supervisor.policy.command_line import segments_of
from pycodex.supervisor.policy.decision import Ask, Question, Refuse, Run, Verdict, decide
from pycodex.supervisor.policy.rules import PrefixRule, Rules

SAFE, PLAIN, DANGEROUS = "ls -l", "touch x", "rm -rf x"
ASKS = {"granular": {"sandbox_approval": True, "rules": True, "mcp_elicitations": True}}
REFUSES = {"granular": {"sandbox_approval": False, "rules": False, "mcp_elicitations": True}}
RUN, ASK = Run(), Ask()
NO_ASKS = Refuse("approval required by policy, but AskForApproval::Granular.sandbox_approval is false")

RULES = Rules(
    prefix_rules=(
        PrefixRule(program="cp"),
        PrefixRule(program="touch"),
        PrefixRule(program="python3"),
        PrefixRule(program="deploy", decision="prompt", justification="ask the owner"),
        PrefixRule(program="ship", decision="prompt"),
        PrefixRule(program="git", rest=(("push", "fetch"),), decision="forbidden", justification="no network here"),
        PrefixRule(program="git", rest=(("push",), ("--force",)), decision="forbidden", justification="never force"),
        PrefixRule(program="curl", decision="forbidden"),
    )
)


def verdict_on(
    command: str | Sequence[str],
    policy: ApprovalPolicy = "never",
    *,
    rules: Rules | None = None,
    restricted: bool = True,
    escalates: bool = False,
) -> Verdict:
    argv = ("/bin/bash", "-lc", command) if isinstance(command, str) else tuple(command)
    question = Question(
        argv=argv,
        segments=segments_of(argv),
        rules=rules or Rules(),
        policy=policy,
        restricted=restricted,
        escalates=escalates,
    )
    return decide(question)


def blocked(command: str) -> Refuse:
    return Refuse(f"`/bin/bash -lc '{command}'` rejected: blocked by policy")


@pytest.mark.parametrize("restricted", [True, False])
@pytest.mark.parametrize(
    ("policy", "plain", "dangerous"),
    [
        ("untrusted", ASK, ASK),
        ("on-failure", RUN, ASK),
        ("on-request", RUN, ASK),
        ("never", RUN, blocked(DANGEROUS)),
        (ASKS, RUN, ASK),
        (REFUSES, RUN, NO_ASKS),
    ],
    ids=["untrusted", "on-failure", "on-request", "never", "granular", "granular without asks"],
)
def test_without_rules(policy: Any, plain: Verdict, dangerous: Verdict, *, restricted: bool) -> None:
    assert verdict_on(SAFE, policy, restricted=restricted) == RUN
    assert verdict_on(PLAIN, policy, restricted=restricted) == plain
    assert verdict_on(DANGEROUS, policy, restricted=restricted) == dangerous
    assert verdict_on(f"{SAFE} && {PLAIN}", policy, restricted=restricted) == plain


@pytest.mark.parametrize("command", [SAFE, PLAIN])
def test_whoever_wants_to_leave_the_sandbox_is_asked_about_also_if_it_is_safe(command: str) -> None:
    assert verdict_on(command, "on-request", escalates=True) == ASK
    assert verdict_on(command, "on-request", escalates=True, restricted=False) == RUN


@pytest.mark.parametrize("policy", ["untrusted", "on-failure", "on-request", "never", ASKS, REFUSES])
def test_rule_that_allows_frees_from_the_sandbox_under_every_policy(policy: Any) -> None:
    freed = Run(freed_by_rules=True)
    assert verdict_on("touch ../x", policy, rules=RULES) == freed
    assert verdict_on("cp a b && touch ../x", policy, rules=RULES) == freed
    assert verdict_on(("touch", "x"), policy, rules=RULES) == freed


@pytest.mark.parametrize(
    "command",
    [
        "cp a b && dd of=/outside",
        "cp a b; ls",
        "cp a b > /outside",
        "touch $X",
        "python3 - <<'PY' > /outside\nprint(1)\nPY",
        "FOO=1 touch x",
        "./touch x",
        "bin/touch x",
    ],
)
def test_rule_frees_nothing_that_it_does_not_speak_of(command: str) -> None:
    assert verdict_on(command, rules=RULES) == RUN


def test_rule_about_one_part_does_not_save_another_from_being_asked_about() -> None:
    assert verdict_on("touch x && dd of=/outside", "untrusted", rules=RULES) == ASK
    assert verdict_on("touch x && rm -rf y", rules=RULES) == blocked("touch x && rm -rf y")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("git push origin", "no network here"),
        ("git push --force", "never force"),
        ("ls && git fetch", "no network here"),
        ("touch x && curl y", "policy forbids commands starting with `curl`"),
        ("/usr/bin/curl y", "policy forbids commands starting with `curl`"),
        ("curl x && git push", "no network here"),
    ],
)
@pytest.mark.parametrize("policy", ["on-request", "never", ASKS])
def test_rule_that_forbids_is_told_with_its_reason(command: str, why: str, policy: Any) -> None:
    assert verdict_on(command, policy, rules=RULES) == Refuse(f"`/bin/bash -lc '{command}'` rejected: {why}")


@pytest.mark.parametrize(
    ("policy", "deploy", "ship"),
    [
        (
            "on-request",
            Ask("`/bin/bash -lc 'deploy now'` requires approval: ask the owner"),
            Ask("`/bin/bash -lc 'ship it'` requires approval by policy"),
        ),
        *(
            (policy, Refuse(text), Refuse(text))
            for policy, text in (
                ("never", "approval required by policy, but AskForApproval is set to Never"),
                (REFUSES, "approval required by policy rule, but AskForApproval::Granular.rules is false"),
            )
        ),
    ],
)
def test_rule_that_asks(policy: Any, deploy: Verdict, ship: Verdict) -> None:
    assert verdict_on("deploy now", policy, rules=RULES) == deploy
    assert verdict_on("ship it", policy, rules=RULES) == ship
