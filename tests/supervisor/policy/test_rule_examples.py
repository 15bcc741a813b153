"""Examples that rules do not live up to, in the form in which the reference shows both."""

from pycodex.supervisor.policy.rule_arguments import prefix_rule
from pycodex.supervisor.policy.rule_examples import broken_claim
from pycodex.supervisor.policy.rules import HostExecutable

UNMATCHED = "expected every example to match at least one rule. rules: "


def problem(pattern: list[object], *hosts: HostExecutable, **more: object) -> str | None:
    return broken_claim(prefix_rule((pattern,), more), hosts)


def test_examples_that_hold_are_no_problem() -> None:
    assert problem(["git", ["push", "fetch"]], match=["git push", ["git", "fetch", "x"]], not_match=["git"]) is None


def test_unmatched_examples_are_shown_with_all_rules_of_the_call() -> None:
    assert problem([["a", "b"], "c"], decision="forbidden", match=["x", ["a b", "c'd"], "a c", ["a"]]) == (
        UNMATCHED + r'["PrefixRule { pattern: PrefixPattern { first: \"a\", rest: [Single(\"c\")] }, '
        r"decision: Forbidden, justification: None }"
        r'", "PrefixRule { pattern: PrefixPattern { first: \"b\", rest: [Single(\"c\")] }, '
        r'decision: Forbidden, justification: None }"]; unmatched examples: ["x", "'
        r"""'a b' \"c'd\"", "a"]"""
    )


def test_alternatives_and_justifications_are_escaped_twice() -> None:
    text = problem(["git", ["push", 'a"b']], match=["x"], justification="söme\n\\ \u200b")
    assert text == (
        UNMATCHED + r'["PrefixRule { pattern: PrefixPattern { first: \"git\", rest: [Alts([\"push\", \"a\\\"b\"])] }, '
        r'decision: Allow, justification: Some(\"söme\\n\\\\ \\u{200b}\") }"]; unmatched examples: ["x"]'
    )
    assert 'rest: [Single(\\"push\\")]' in (problem(["git", ["push"]], match=["x"]) or "")


def test_example_that_matches_against_its_word_is_told_before_those_that_do_not() -> None:
    assert problem(["git"], match=["ls"], not_match=["ls", "git status"]) == (
        'expected example to not match rule `PrefixRuleMatch { matched_prefix: ["git"], decision: Allow, '
        "resolved_program: None, justification: None }`: git status"
    )


def test_examples_go_by_the_path_of_a_program() -> None:
    assert problem(["git"], match=["/usr/bin/git x"]) is None
    assert problem(["git"], not_match=["/usr/bin/git x"], justification='j"q') == (
        'expected example to not match rule `PrefixRuleMatch { matched_prefix: ["git"], decision: Allow, '
        'resolved_program: Some(AbsolutePathBuf("/usr/bin/git")), justification: Some("j\\"q") }`: /usr/bin/git x'
    )
    assert problem(["git"], match=["./git"]) is not None


def test_examples_heed_which_paths_are_listed() -> None:
    listed = HostExecutable(name="git", paths=("/opt/git",))
    assert problem(["git"], listed, match=["/opt/git"], not_match=["/usr/bin/git"]) is None
    assert problem(["git"], listed, match=["/usr/bin/git x"]) == (
        UNMATCHED + r'["PrefixRule { pattern: PrefixPattern { first: \"git\", rest: [] }, decision: Allow, '
        r'justification: None }"]; unmatched examples: ["/usr/bin/git x"]'
    )
