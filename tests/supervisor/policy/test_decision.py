"""The table of decisions: what rules, lists, the approval policy and a person's word make of a command."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.turn_context import ApprovalPolicy
from pycodex.supervisor.policy import escalation
from pycodex.supervisor.policy.command_line import segments_of
from pycodex.supervisor.policy.decision import (
    TOO_LONG_REASON,
    WITHOUT_SANDBOX,
    Ask,
    Question,
    Refuse,
    Run,
    Verdict,
    decide,
)
from pycodex.supervisor.policy.rules import HostExecutable, PrefixRule, Rules
from support.tool_calls import make_turn

DEFAULT, ESCALATED, ADDITIONAL = "use_default", "require_escalated", "with_additional_permissions"
SAFE, PLAIN, DANGEROUS = "ls -l", "touch x", "rm -rf x"


def granular(*, sandbox_approval: bool, rules: bool) -> ApprovalPolicy:
    return {"granular": {"sandbox_approval": sandbox_approval, "rules": rules, "mcp_elicitations": True}}


ASKS = granular(sandbox_approval=True, rules=True)
REFUSES = granular(sandbox_approval=False, rules=False)
POLICIES: dict[str, ApprovalPolicy] = {
    "untrusted": "untrusted",
    "on-failure": "on-failure",
    "on-request": "on-request",
    "never": "never",
    "granular": ASKS,
    "granular without asks": REFUSES,
}

LET_OUT = Run(unconfined_because="approved by the user")
FREED = Run(unconfined_because="rules of the user allow every part of it")
CONFINED = Run()
SILENT_RETRY = Run(retries=True)
NEVER_ASKS = Refuse("approval required by policy, but AskForApproval is set to Never")
NO_ASKS = Refuse("approval required by policy, but AskForApproval::Granular.sandbox_approval is false")
NO_RULE_ASKS = Refuse("approval required by policy rule, but AskForApproval::Granular.rules is false")


def retry(*amendment: str) -> Run:
    """In the sandbox, and without it if that stops the command and the person says yes."""
    reason = "command failed; retry without sandbox?"
    asked = Ask(reason=reason, amendment=amendment or None, key=(None, WITHOUT_SANDBOX), then=LET_OUT)
    return Run(retries=True, ask_first=asked)


def ask(*amendment: str, then: Run = CONFINED, reason: str | None = None) -> Ask:
    return Ask(reason=reason, amendment=amendment or None, then=then)


def shell(script: str) -> tuple[str, ...]:
    return ("/bin/bash", "-lc", script)


def rejected(script: str, why: str) -> Refuse:
    return Refuse(f"`/bin/bash -lc '{script}'` rejected: {why}")


def question(command: str | Sequence[str], policy: ApprovalPolicy, **more: Any) -> Question:
    argv = shell(command) if isinstance(command, str) else tuple(command)
    terms: dict[str, Any] = {"rules": Rules(), "restricted": True} | more
    return Question(argv=argv, segments=segments_of(argv), policy=policy, **terms)


def verdict_on(command: str | Sequence[str], policy: ApprovalPolicy = "never", **more: Any) -> Verdict:
    return decide(question(command, policy, **more))


def allow(*words: str) -> PrefixRule:
    return rule("allow", *words)


def rule(decision: str, program: str, *rest: str, justification: str | None = None) -> PrefixRule:
    alternatives = tuple((word,) for word in rest)
    return PrefixRule(program=program, rest=alternatives, decision=decision, justification=justification)


def rules(*prefix_rules: PrefixRule, **hosts: tuple[str, ...]) -> Rules:
    executables = tuple(HostExecutable(name=name, paths=paths) for name, paths in hosts.items())
    return Rules(prefix_rules=prefix_rules, host_executables=executables)


# Without rules

GUARD = "told that it may not ask"
LIST, TOUCH, REMOVE = ("ls", "-l"), ("touch", "x"), ("rm", "-rf", "x")
BLOCKED = rejected(DANGEROUS, "blocked by policy")
# Of each policy: a safe, a plain, a dangerous, an escalated plain and an escalated safe command.
RESTRICTED = {
    "untrusted": (
        retry(*LIST),
        ask(*TOUCH, then=retry(*TOUCH)),
        ask(*REMOVE, then=retry(*REMOVE)),
        GUARD,
        GUARD,
    ),
    "on-failure": (retry(*LIST), retry(*TOUCH), ask(*REMOVE, then=retry(*REMOVE)), GUARD, GUARD),
    "on-request": (CONFINED, CONFINED, ask(*REMOVE), ask(*TOUCH, then=LET_OUT), ask(*LIST, then=LET_OUT)),
    "never": (CONFINED, CONFINED, BLOCKED, GUARD, GUARD),
    "granular": (retry(*LIST), retry(*TOUCH), ask(*REMOVE, then=retry(*REMOVE)), GUARD, GUARD),
    "granular without asks": (CONFINED, CONFINED, NO_ASKS, GUARD, GUARD),
}
FULL_ACCESS = {
    "untrusted": (CONFINED, ask(*TOUCH), ask(*REMOVE), GUARD, GUARD),
    "on-failure": (CONFINED, CONFINED, ask(*REMOVE), GUARD, GUARD),
    "on-request": (CONFINED, CONFINED, ask(*REMOVE), CONFINED, CONFINED),
    "never": (CONFINED, CONFINED, BLOCKED, GUARD, GUARD),
    "granular": (CONFINED, CONFINED, ask(*REMOVE), GUARD, GUARD),
    "granular without asks": (CONFINED, CONFINED, NO_ASKS, GUARD, GUARD),
}
COLUMNS = ((SAFE, DEFAULT), (PLAIN, DEFAULT), (DANGEROUS, DEFAULT), (PLAIN, ESCALATED), (SAFE, ESCALATED))


def outcome_of_call(command: str, policy: ApprovalPolicy, *, asked: str, restricted: bool) -> Verdict | str:
    """As tools go about it: first whether the model may ask at all."""
    try:
        escalation.check(make_turn(approval_policy=policy), asked=asked, additional=None, verb="cannot")
    except ModelFacing:
        return GUARD
    return verdict_on(command, policy, asked=asked, restricted=restricted)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("restricted", "table"), [(True, RESTRICTED), (False, FULL_ACCESS)])
def test_table_without_rules(policy: str, *, restricted: bool, table: dict[str, tuple[Verdict | str, ...]]) -> None:
    found = tuple(
        outcome_of_call(command, POLICIES[policy], asked=asked, restricted=restricted) for command, asked in COLUMNS
    )
    assert found == table[policy]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("command", [SAFE, PLAIN, DANGEROUS])
@pytest.mark.parametrize("asked", [ESCALATED, ADDITIONAL])
def test_whoever_gets_past_the_guard_is_not_let_out_unasked(policy: str, command: str, asked: str) -> None:
    verdict = verdict_on(command, POLICIES[policy], asked=asked)
    assert not (isinstance(verdict, Run) and verdict.unconfined_because)


@pytest.mark.parametrize("policy", ["on-request", "never", ASKS], ids=["on-request", "never", "granular"])
def test_strictest_word_about_any_part_counts(policy: ApprovalPolicy) -> None:
    dangerous = verdict_on(DANGEROUS, policy)
    for script in (f"{SAFE} && {DANGEROUS}", f"{DANGEROUS} | {PLAIN}", f"{PLAIN}; {DANGEROUS}; {SAFE}"):
        assert type(verdict_on(script, policy)) is type(dangerous)
    assert isinstance(verdict_on(f"{SAFE}; {PLAIN}", "untrusted"), Ask)


def test_more_inside_of_the_sandbox_is_asked_about_and_stays_inside() -> None:
    for command in (PLAIN, SAFE, f"{SAFE} && {PLAIN}"):
        assert verdict_on(command, "on-request", asked=ADDITIONAL) == ask()
        assert verdict_on(command, "on-request", asked=ADDITIONAL, restricted=False) == CONFINED


def test_where_reads_cannot_be_held_to_reading_only_what_is_safe_runs_unasked() -> None:
    assert verdict_on(SAFE, "on-request", unprotected=True) == CONFINED
    assert verdict_on(PLAIN, "on-request", unprotected=True) == ask(*TOUCH)
    assert verdict_on(PLAIN, "never", unprotected=True) == rejected(PLAIN, "blocked by policy")
    assert verdict_on(PLAIN, REFUSES, unprotected=True) == NO_ASKS
    assert verdict_on(PLAIN, "never", unprotected=True, rules=rules(allow("touch"))) == FREED


@pytest.mark.parametrize("script", ["find . -delet\\e", "find . {-delete,}", 'find . "-delet\\\ne"', "rg --pr\\e=x y"])
def test_option_that_the_shell_puts_together_is_asked_about(script: str) -> None:
    assert isinstance(verdict_on(script, "untrusted"), Ask)


# What the person has said already


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("command", [SAFE, PLAIN, DANGEROUS, f"{SAFE} && {PLAIN}"])
@pytest.mark.parametrize("restricted", [True, False])
@pytest.mark.parametrize("asked", [DEFAULT, ESCALATED])
def test_what_is_allowed_for_the_session_is_not_asked_again(
    policy: str, command: str, *, restricted: bool, asked: str
) -> None:
    terms: dict[str, Any] = {"restricted": restricted, "asked": asked, "key": "k"}
    before = verdict_on(command, POLICIES[policy], **terms)
    allowed = verdict_on(command, POLICIES[policy], **terms, granted={"k"})
    assert allowed == (before.then if isinstance(before, Ask) else before)
    assert not isinstance(before, Ask) or before.key == "k"
    assert verdict_on(command, POLICIES[policy], **terms, granted={"another"}) == before


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("command", [SAFE, PLAIN, DANGEROUS])
def test_to_let_a_command_run_is_not_to_let_it_out(policy: str, command: str) -> None:
    """Whatever it says of itself, it may have failed on purpose: that it may leave is allowed apart."""

    before = verdict_on(command, POLICIES[policy], key="k")
    after = verdict_on(command, POLICIES[policy], key="k", granted={("k", WITHOUT_SANDBOX)})
    run = before.then if isinstance(before, Ask) else before
    if isinstance(run, Refuse) or not run.retries:
        assert after == before
        return
    assert run.ask_first is not None
    assert run.ask_first.key == ("k", WITHOUT_SANDBOX)
    assert after == (replace(before, then=SILENT_RETRY) if isinstance(before, Ask) else SILENT_RETRY)


PADDED = f"{'ls; ' * 2000}curl x"


@pytest.mark.parametrize("decision", ["forbidden", "prompt"])
@pytest.mark.parametrize("script", [PADDED, f"bash -c {shlex.quote(PADDED)}", f"eval {shlex.quote(PADDED)}"])
def test_script_that_is_too_long_to_be_read_does_not_slip_past_rules(script: str, decision: str) -> None:
    by_rules = rules(rule(decision, "curl"))
    assert verdict_on(script, "on-request", rules=by_rules) == ask(reason=TOO_LONG_REASON)
    refused = verdict_on(script, rules=by_rules)
    assert refused == Refuse("the script is too long to be checked against the rules; run it in smaller parts")
    assert verdict_on(script, "on-request", rules=rules(allow("curl"))) == CONFINED


def test_long_document_does_not_make_a_script_unreadable() -> None:
    script = f"cat > notes <<'EOF'\n{'about curl and plums' * 1000}\nEOF"
    assert verdict_on(script, "on-request", rules=rules(rule("forbidden", "curl"))) == CONFINED
    quoted_text = f"git commit -m '{'about curl and plums ' * 1000}'"
    assert verdict_on(quoted_text, "on-request", rules=rules(rule("forbidden", "curl"))) == CONFINED


def test_word_of_the_person_does_not_undo_a_rule_that_forbids() -> None:
    forbidding = rules(rule("forbidden", "touch", justification="no"))
    assert verdict_on(PLAIN, "on-request", rules=forbidding, key="k", granted={"k"}) == rejected(PLAIN, "no")
    prompting = rules(rule("prompt", "touch"))
    assert verdict_on(PLAIN, "on-request", rules=prompting, key="k", granted={"k"}) == CONFINED
    assert verdict_on(PLAIN, "never", rules=prompting, key="k", granted={"k"}) == NEVER_ASKS


# Rules that allow

ALLOWING = rules(allow("cp"), allow("touch"), allow("python3"), allow("git"))


@pytest.mark.parametrize("policy", POLICIES)
def test_rule_that_allows_frees_from_the_sandbox_under_every_policy(policy: str) -> None:
    for command in ("touch ../x", "cp a b && touch ../x", ("touch", "x"), "cp a b | cp c d; touch e || touch f"):
        assert verdict_on(command, POLICIES[policy], rules=ALLOWING) == FREED
        assert verdict_on(command, POLICIES[policy], rules=ALLOWING, restricted=False) == CONFINED
        assert verdict_on(command, POLICIES[policy], rules=ALLOWING, asked=ESCALATED) == FREED


def test_rule_that_allows_spares_even_the_dangerous() -> None:
    assert verdict_on(DANGEROUS, "never", rules=rules(allow("rm", "-rf"))) == FREED


def test_one_allowed_part_does_not_free_the_whole_chain() -> None:
    for script in ("cp a b && dd of=/outside", "dd of=/outside; cp a b", "cp a b; ls", "ls | cp a b"):
        assert verdict_on(script, "never", rules=ALLOWING) == CONFINED
        assert verdict_on(script, "on-request", rules=ALLOWING) == CONFINED
        assert verdict_on(script, "on-failure", rules=ALLOWING) == retry()


def test_one_allowed_part_does_not_save_another_from_being_asked_about() -> None:
    asked = verdict_on("cp a b && dd of=/outside", "untrusted", rules=ALLOWING)
    assert asked == ask("dd", "of=/outside", then=retry())
    assert verdict_on("touch x && rm -rf y", rules=ALLOWING) == rejected("touch x && rm -rf y", "blocked by policy")


@pytest.mark.parametrize(
    "script",
    [
        "python3 - <<'PY' > /outside\nprint(1)\nPY",
        "python3 - > /outside <<'PY'\nprint(1)\nPY",
        "python3 - <<'PY' >> /outside\nprint(1)\nPY",
        "python3 - <<'PY' 2> /outside\nprint(1)\nPY",
        "PYTHONPATH=/evil python3 - <<'PY'\nprint(1)\nPY",
        "python3 - <<PY\n$HOME\nPY",
    ],
)
def test_rule_about_a_fed_command_does_not_cover_a_redirection(script: str) -> None:
    assert verdict_on(script, "never", rules=ALLOWING) == CONFINED
    assert isinstance(verdict_on(script, "untrusted", rules=ALLOWING), Ask)
    for decision, kind in (("prompt", Ask), ("forbidden", Refuse)):
        strict = rules(rule(decision, "python3"))
        assert isinstance(verdict_on(script, "on-request", rules=strict), kind)


def test_rule_about_a_fed_command_covers_its_document() -> None:
    assert verdict_on("python3 - <<'PY'\nprint(1)\nPY", "never", rules=ALLOWING) == FREED


@pytest.mark.parametrize(
    "script",
    ["touch $X", "touch x > /outside", "FOO=1 touch x", "(touch x)", "touch x &", "python3 - <<PY\n$(id)\nPY"],
)
def test_rule_says_nothing_of_a_script_that_does_more(script: str) -> None:
    assert verdict_on(script, "never", rules=ALLOWING) == CONFINED


def test_safe_command_that_wants_out_is_asked_about() -> None:
    for command in ("ls", "git status", "cat /etc/passwd | head", ("ls",)):
        verdict = verdict_on(command, "on-request", asked=ESCALATED)
        assert isinstance(verdict, Ask)
        assert verdict.then == LET_OUT


PATHS = ("/tmp/evil/git", "/usr/bin/git", "//usr//bin/git")


@pytest.mark.parametrize("path", PATHS)
def test_rule_about_a_name_does_not_free_a_path_that_nobody_has_named(path: str) -> None:
    assert verdict_on(f"{path} status", "never", rules=ALLOWING) == CONFINED
    assert verdict_on((path, "push"), "untrusted", rules=ALLOWING) == ask(path, "push", then=retry(path, "push"))


def test_rule_about_a_name_frees_the_paths_that_are_named() -> None:
    listing = rules(allow("git"), git=("/opt/git", "/usr/bin/git"))
    for path in ("/usr/bin/git", "/opt/git", "//usr//bin/./git"):
        assert verdict_on(f"{path} push", "never", rules=listing) == FREED
    for path in ("/tmp/evil/git", "/usr/bin/../evil/git", "/usr/x/../bin/git"):
        assert verdict_on(f"{path} push", "never", rules=listing) == CONFINED
    assert verdict_on("/tmp/evil/git push", "never", rules=rules(allow("/tmp/evil/git"))) == FREED


def test_path_that_is_named_for_one_name_does_not_stand_for_another() -> None:
    named_otherwise = rules(allow("git"), allow("cp"), cp=("/usr/bin/cp",))
    assert verdict_on("/usr/bin/git push", "never", rules=named_otherwise) == CONFINED


@pytest.mark.parametrize("path", [*PATHS, "/usr/x/../bin/git"])
def test_rule_that_asks_or_forbids_speaks_of_every_path_with_its_name(path: str) -> None:
    assert isinstance(verdict_on(f"{path} push", rules=rules(rule("forbidden", "git"))), Refuse)
    assert isinstance(verdict_on(f"{path} push", "on-request", rules=rules(rule("prompt", "git", "push"))), Ask)


@pytest.mark.parametrize("path", ["./git", "bin/git", "../git", "./../git"])
@pytest.mark.parametrize("decision", ["allow", "prompt", "forbidden"])
def test_rule_never_speaks_of_a_relative_path(path: str, decision: str) -> None:
    known = rules(rule(decision, "git"), git=("/usr/bin/git", "/git"))
    assert verdict_on(f"{path} push", "never", rules=known) == CONFINED


@pytest.mark.parametrize("path", ["./bash", "bin/sh", "/tmp/evil/bash", "../bin/bash", "/bin/../tmp/bash"])
def test_program_that_is_only_called_like_a_shell_is_not_trusted_with_a_script(path: str) -> None:
    for script in ("touch x", "python3 - <<'PY'\nx\nPY"):
        assert verdict_on((path, "-lc", script), "never", rules=ALLOWING) == CONFINED
    assert isinstance(verdict_on((path, "-lc", "ls"), "untrusted"), Ask)
    assert isinstance(verdict_on((path, "-lc", "touch x"), rules=rules(rule("forbidden", "touch"))), Refuse)


def test_shell_of_the_person_is_trusted_wherever_it_lies() -> None:
    argv = ("/opt/own/zsh", "-lc", "touch x")
    assert verdict_on(argv, "never", rules=ALLOWING, shell="/opt/own/zsh") == FREED
    assert verdict_on(argv, "never", rules=ALLOWING, shell="/bin/zsh") == CONFINED


# Rules that forbid or ask

STRICT = rules(
    allow("touch"),
    rule("prompt", "deploy", justification="ask the owner"),
    rule("prompt", "ship"),
    PrefixRule(program="git", rest=(("push", "fetch"),), decision="forbidden", justification="no network here"),
    rule("forbidden", "git", "push", "--force", justification="never force"),
    rule("forbidden", "curl"),
    rule("forbidden", "wget", "-q"),
    rule("forbidden", "dd", justification="first"),
    rule("forbidden", "dd", justification="last"),
)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("git push origin", "no network here"),
        ("git push --force", "never force"),
        ("ls && git fetch", "no network here"),
        ("touch x && curl y", "policy forbids commands starting with `curl`"),
        ("wget -q z", "policy forbids commands starting with `wget -q`"),
        ("/usr/bin/curl y", "policy forbids commands starting with `curl`"),
        ("curl x && git push", "no network here"),
        ("git push && curl x", "no network here"),
        ("dd x", "last"),
        ("deploy && dd x", "last"),
        ("rm -rf x && curl y", "policy forbids commands starting with `curl`"),
    ],
)
@pytest.mark.parametrize("policy", POLICIES)
def test_rule_that_forbids_is_told_by_its_longest_prefix_and_last_line(command: str, why: str, policy: str) -> None:
    assert verdict_on(command, POLICIES[policy], rules=STRICT) == rejected(command, why)
    assert verdict_on(command, POLICIES[policy], rules=STRICT, restricted=False) == rejected(command, why)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("deploy now", "requires approval: ask the owner"),
        ("ship it", "requires approval by policy"),
        ("ship it && deploy now", "requires approval: ask the owner"),
        ("deploy now && ship it", "requires approval by policy"),
        ("touch x && ship it", "requires approval by policy"),
        ("mkdir x; ship it", "requires approval by policy"),
    ],
)
def test_rule_that_asks_gives_its_reason_and_offers_nothing(command: str, reason: str) -> None:
    reason = f"`/bin/bash -lc '{command}'` {reason}"
    assert verdict_on(command, "on-request", rules=STRICT) == ask(reason=reason)
    assert verdict_on(command, "on-request", rules=STRICT, asked=ESCALATED) == ask(reason=reason, then=LET_OUT)
    for policy in ("untrusted", "on-failure", ASKS):
        assert verdict_on(command, policy, rules=STRICT) == ask(reason=reason, then=retry())
        assert verdict_on(command, policy, rules=STRICT, restricted=False) == ask(reason=reason)
    assert verdict_on(command, "never", rules=STRICT) == NEVER_ASKS


def test_longest_prefix_gives_the_reason_for_asking() -> None:
    known = rules(rule("prompt", "a", "b", justification="long"), rule("prompt", "a", justification="short"))
    reason = "`/bin/bash -lc 'a b'` requires approval: long"
    assert verdict_on("a b", "on-request", rules=known) == ask(reason=reason)
    tied = rules(rule("prompt", "a", justification="first"), rule("prompt", "a", justification="last"))
    assert verdict_on(("a", "b"), "on-request", rules=tied) == ask(reason="`a b` requires approval: last")


@pytest.mark.parametrize("sandbox_approval", [True, False])
@pytest.mark.parametrize("by_rules", [True, False])
def test_questions_by_rules_and_others_are_switched_apart(*, sandbox_approval: bool, by_rules: bool) -> None:
    policy = granular(sandbox_approval=sandbox_approval, rules=by_rules)
    then = retry() if sandbox_approval else CONFINED
    for_rule = ask(reason="`/bin/bash -lc ship` requires approval by policy", then=then) if by_rules else NO_RULE_ASKS
    assert verdict_on("ship", policy, rules=STRICT) == for_rule
    other = ask(*REMOVE, then=retry(*REMOVE)) if sandbox_approval else NO_ASKS
    assert verdict_on(DANGEROUS, policy, rules=STRICT) == other


# What may be allowed for good


def offered(verdict: Verdict) -> tuple[str, ...] | None:
    asked = verdict.ask_first if isinstance(verdict, Run) else verdict
    assert isinstance(asked, Ask)
    return asked.amendment


@pytest.mark.parametrize(
    ("script", "wish", "found"),
    [
        ("touch x", (), ("touch", "x")),
        ("touch x", ("touch",), ("touch",)),
        ("ls && touch x", ("touch",), ("touch",)),
        ("touch x && touch y", ("touch",), ("touch",)),
        # Not what would settle it
        ("touch x", ("cp",), ("touch", "x")),
        ("touch x", ("touch", "y"), ("touch", "x")),
        ("touch x && mkdir y", ("touch",), ("touch", "x")),
        ("ls && mkdir y", ("ls",), ("mkdir", "y")),
        # Too much
        ("git push", ("git",), ("git", "push")),
        ("python3 -c 1", ("python3", "-c"), ("python3", "-c", "1")),
        ("bash -c 'touch x'", ("bash",), ("bash", "-c", "touch x")),
        ("env", ("env",), None),
        ("env", (), None),
        ("rm -rf foo", ("rm",), ("rm", "-rf", "foo")),
        ("rm -rf foo", ("rm", "-rf", "foo"), ("rm", "-rf", "foo")),
        # A script that is fed a document
        ("python3 - <<'PY'\nx\nPY", (), None),
        ("python3 a <<'PY'\nx\nPY", ("python3", "a"), ("python3", "a")),
        ("python3 - <<'PY'\nx\nPY", ("python3", "-"), None),
        ("python3 a <<'PY' > f\nx\nPY", ("python3", "a"), None),
        # A script of which nothing is known
        ("touch $X", (), shell("touch $X")),
        ("touch $X", ("touch",), shell("touch $X")),
        ("touch $X", ("/bin/bash", "-lc"), shell("touch $X")),
        ("touch $X", shell("touch $X"), shell("touch $X")),
    ],
)
def test_words_that_are_offered_with_a_question(
    script: str, wish: tuple[str, ...], found: tuple[str, ...] | None
) -> None:
    assert offered(verdict_on(script, "untrusted", prefix_rule=wish)) == found


def test_wish_needs_no_escalation_and_may_come_with_it() -> None:
    assert offered(verdict_on("rm -rf foo", "on-request", prefix_rule=("rm", "-rf", "foo"))) == ("rm", "-rf", "foo")
    assert offered(verdict_on("touch x", "on-request", asked=ESCALATED, prefix_rule=("touch",))) == ("touch",)


@pytest.mark.parametrize("word", ["a\x1b[31mb", "a\u202eb", "a\u200bb", "x" * 4000])
def test_nothing_is_offered_that_cannot_be_read(word: str) -> None:
    assert offered(verdict_on(("touch", word), "untrusted")) is None
    assert offered(verdict_on(("touch", word), "untrusted", prefix_rule=("touch", word))) is None
    assert offered(verdict_on(("touch", word), "untrusted", prefix_rule=("touch",))) == ("touch",)


def test_nothing_is_offered_where_a_rule_asks() -> None:
    assert offered(verdict_on("ship it", "on-request", rules=STRICT, prefix_rule=("ship",))) is None
    assert offered(verdict_on("rm -rf x && ship it", "on-request", rules=STRICT)) is None


def test_wish_of_the_model_does_not_count_beside_rules() -> None:
    script = "touch x && mkdir y"
    assert offered(verdict_on(script, "untrusted", rules=STRICT, prefix_rule=("mkdir",))) == ("mkdir", "y")
    assert offered(verdict_on(script, "untrusted", prefix_rule=("mkdir",))) == ("touch", "x")


def test_nothing_is_offered_for_more_inside_of_the_sandbox() -> None:
    assert offered(verdict_on("touch x", "on-request", asked=ADDITIONAL, prefix_rule=("touch",))) is None


def test_what_is_offered_would_settle_the_same_question() -> None:
    for script, wish in (("touch x", ("touch",)), ("touch x", ()), ("ls && touch x", ("touch",)), ("touch $X", ())):
        words = offered(verdict_on(script, "untrusted", prefix_rule=wish))
        assert words is not None
        assert isinstance(verdict_on(script, "untrusted", rules=Rules().amended(words)), Run)


@pytest.mark.parametrize(
    ("script", "known", "found"),
    [
        ("touch x", Rules(), ("touch", "x")),
        ("ls", Rules(), ("ls",)),
        ("touch $X", Rules(), shell("touch $X")),
        ("sleep 1; touch x", Rules(), None),
        ("ls | head", Rules(), None),
        ("cp a b; touch x", rules(allow("cp")), None),
        ("env", Rules(), None),
        ("git", Rules(), None),
        ("python3 - <<'PY'\nx\nPY", Rules(), None),
        ("python3 - <<'PY' > f\nx\nPY", Rules(), None),
        ("/usr/bin/git push", rules(allow("git")), ("/usr/bin/git", "push")),
    ],
)
@pytest.mark.parametrize("policy", ["on-failure", ASKS], ids=["on-failure", "granular"])
def test_words_that_are_offered_before_a_retry(
    script: str, known: Rules, found: tuple[str, ...] | None, policy: ApprovalPolicy
) -> None:
    """Only those of a single part: to allow one of several would not free the command the next time."""
    verdict = verdict_on(script, policy, rules=known)
    assert verdict == retry(*(found or ()))


# What must hold for any command


def strictness(verdict: Verdict) -> tuple[int, int]:
    """The larger, the less can happen without a person. A question counts by what a yes leads to, too."""
    if isinstance(verdict, Refuse):
        return (5, 0)
    if isinstance(verdict, Ask):
        return (4, strictness(verdict.then)[0])
    if verdict.unconfined_because:
        return (0, 0)
    if not verdict.retries:
        return (3, 0)
    return (1, 0) if verdict.ask_first is None else (2, 0)


def quoted(words: Sequence[str]) -> str:
    """A plain command of exactly these words. The program stays bare: a quoted one makes the script opaque."""
    return " ".join([words[0], *(f"'{word}'" if "'" not in word else shlex.quote(word) for word in words[1:])])


ARGUMENTS = ("status", "push", "-rf", "-l", "x", "a b", "it's", "é", "$X", "")
NAMES = ("touch", "git", "ls", "rm")
PROGRAMS = (*NAMES, "/usr/bin/git", "/opt/git", "./git")
DECISIONS = ("allow", "allow", "prompt", "forbidden")

words_after = st.lists(st.sampled_from(ARGUMENTS), max_size=3)
commands = st.builds(lambda program, rest: (program, *rest), st.sampled_from(PROGRAMS), words_after)


def made_rules(programs: Sequence[str], decisions: Sequence[str]) -> st.SearchStrategy[PrefixRule]:
    alternatives = st.lists(st.sampled_from(ARGUMENTS), min_size=1, max_size=2).map(tuple)
    return st.builds(
        lambda program, rest, decision: PrefixRule(program=program, rest=tuple(rest), decision=decision),
        st.sampled_from(programs),
        st.just([]) | st.lists(alternatives, max_size=2),
        st.sampled_from(decisions),
    )


def rule_sets(decisions: Sequence[str] = DECISIONS) -> st.SearchStrategy[Rules]:
    listed = st.lists(st.sampled_from(("/usr/bin/git", "/opt/git")), max_size=2, unique=True)
    return st.builds(
        lambda known, hosts: rules(*known, **({} if hosts is None else {"git": tuple(hosts)})),
        st.lists(made_rules([*NAMES, "/usr/bin/git"], decisions), max_size=5),
        st.none() | listed,
    )


@st.composite
def scripts(draw: st.DrawFn) -> tuple[list[tuple[str, ...]], str]:
    """Commands, and a script that runs them."""
    chain = draw(st.lists(commands, min_size=1, max_size=3))
    text = quoted(chain[0])
    for command in chain[1:]:
        text += draw(st.sampled_from([" && ", " || ", "; ", " | ", "\n"])) + quoted(command)
    return chain, text


fed = st.sampled_from(["{} x <<'E'\ny\nE", "{} x <<'E' > f\ny\nE", "FOO=1 {} x <<'E'\ny\nE", "{} x <<E\n$X\nE"])
any_argv = st.one_of(
    commands,
    scripts().map(lambda made: shell(made[1])),
    st.builds(lambda frame, program: shell(frame.format(program)), fed, st.sampled_from(PROGRAMS)),
    st.sampled_from([shell("git $X"), shell("git push > f"), shell("if rm -rf x; then ls; fi")]),
)


@st.composite
def circumstances(draw: st.DrawFn) -> dict[str, Any]:
    """All of a question but the command and the rules; as the guard lets it through."""
    policy = draw(st.sampled_from([*POLICIES.values(), granular(sandbox_approval=True, rules=False)]))
    asked = draw(st.sampled_from([DEFAULT, ESCALATED, ADDITIONAL])) if policy == "on-request" else DEFAULT
    return {
        "policy": policy,
        "asked": asked,
        "restricted": draw(st.sampled_from([True, True, False])),
        "prefix_rule": draw(st.sampled_from([(), ("touch",), ("git", "push"), ("rm",)])),
        "key": "k",
        "granted": draw(st.frozensets(st.sampled_from(["k", ("k", WITHOUT_SANDBOX)]))),
    }


Scale = Callable[[int, int], int]


def test_rule_that_asks_or_forbids_never_loosens_a_decision(scale: Scale) -> None:
    """The added rule is about a name: one about a path takes the place of those about its name.

    Nor is there a policy that lets only rules ask: there, such a rule is what makes a question possible.
    """

    @settings(max_examples=scale(200, 5_000), deadline=None)
    @given(any_argv, rule_sets(), made_rules(NAMES, ("prompt", "forbidden")), st.integers(0, 5), circumstances())
    def check(argv: tuple[str, ...], known: Rules, added: PrefixRule, place: int, terms: dict[str, Any]) -> None:
        more = (*known.prefix_rules[:place], added, *known.prefix_rules[place:])
        before = verdict_on(argv, rules=known, **terms)
        after = verdict_on(argv, rules=known.replace(prefix_rules=more), **terms)
        assert strictness(after) >= strictness(before), (before, after)
        if isinstance(before, Ask) and isinstance(after, Ask):
            assert after.amendment in (None, before.amendment)

    check()


def test_shell_around_a_command_never_loosens_a_decision(scale: Scale) -> None:
    @settings(max_examples=scale(200, 5_000), deadline=None)
    @given(commands, rule_sets(), circumstances())
    def check(words: tuple[str, ...], known: Rules, terms: dict[str, Any]) -> None:
        plain = strictness(verdict_on(words, rules=known, **terms))
        script = quoted(words)
        for argv in (("bash", "-lc", script), ("/bin/sh", "-c", f"\n{script};\n")):
            assert strictness(verdict_on(argv, rules=known, **terms)) == plain, argv
        for longer in (f"{script} && true", f"true && {script}", f"true | {script}", f"{script}; true"):
            assert strictness(verdict_on(longer, rules=known, **terms)) >= plain, longer

    check()


@pytest.mark.parametrize(
    "wrapper",
    [("env", "X=1"), ("sudo",), ("nohup", "nice", "-n", "5"), ("timeout", "10"), ("bash", "-c"), ("eval",)],
    ids=" ".join,
)
def test_wrapper_around_a_command_never_loosens_a_decision(wrapper: tuple[str, ...], scale: Scale) -> None:
    @settings(max_examples=scale(100, 5_000), deadline=None)
    @given(commands, rule_sets(), circumstances())
    def check(words: tuple[str, ...], known: Rules, terms: dict[str, Any]) -> None:
        plain = strictness(verdict_on(words, rules=known, **terms))
        wrapped = (*wrapper, quoted(words)) if wrapper[0] in ("bash", "eval") else (*wrapper, *words)
        for argv in (wrapped, shell(quoted(wrapped)), shell(f"if true; then {quoted(wrapped)}; fi")):
            assert strictness(verdict_on(argv, rules=known, **terms)) >= plain, argv

    check()


def speaks_of(known: Rules, words: tuple[str, ...]) -> bool:
    """Whether some rule allows this very program with these very words."""
    programs = {words[0], *(host.name for host in known.host_executables if words[0] in host.paths)}
    return any(
        each.decision == "allow"
        and each.program in programs
        and len(words) > len(each.rest)
        and all(word in alternatives for word, alternatives in zip(words[1:], each.rest, strict=False))
        for each in known.prefix_rules
    )


def test_nothing_is_freed_unless_each_of_its_commands_is_allowed(scale: Scale) -> None:
    @settings(max_examples=scale(300, 5_000), deadline=None)
    @given(scripts(), rule_sets(("allow", "allow", "allow", "prompt")), circumstances())
    def check(made: tuple[list[tuple[str, ...]], str], known: Rules, terms: dict[str, Any]) -> None:
        chain, script = made
        if verdict_on(script, rules=known, **terms) == FREED:
            assert all(speaks_of(known, words) for words in chain)
            assert terms["restricted"]

    check()
