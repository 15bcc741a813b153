"""Which rules match which command."""

from typing import Any

import pytest

from pycodex.supervisor.policy.rules import (
    ALLOW,
    FORBIDDEN,
    PROMPT,
    HostExecutable,
    NetworkRule,
    PrefixRule,
    RuleMatch,
    Rules,
    strictest,
)

ASKED = PrefixRule(program="git", rest=(("push", "fetch"),), decision=PROMPT, justification="ask first")
ALLOWED = PrefixRule(program="git")
FORCED = PrefixRule(program="git", rest=(("push",), ("--force",)), decision=FORBIDDEN)
GIT = Rules(prefix_rules=(ASKED, ALLOWED, FORCED))


def rules(*prefix_rules: PrefixRule, **hosts: tuple[str, ...]) -> Rules:
    executables = tuple(HostExecutable(name=name, paths=paths) for name, paths in hosts.items())
    return Rules(prefix_rules=prefix_rules, host_executables=executables)


def match(*prefix: str, decision: str = ALLOW, **more: Any) -> RuleMatch:
    return RuleMatch(matched_prefix=prefix, decision=decision, **more)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (
            "git push --force x",
            [
                match("git", "push", decision=PROMPT, justification="ask first"),
                match("git"),
                match("git", "push", "--force", decision=FORBIDDEN),
            ],
        ),
        ("git fetch", [match("git", "fetch", decision=PROMPT, justification="ask first"), match("git")]),
        ("git", [match("git")]),
        ("git x push", [match("git")]),
        ("gitx", []),
        ("GIT", []),
        ("ls git", []),
        ("/usr/bin/git status", []),
    ],
)
def test_prefixes_match_in_the_order_of_the_rules(command: str, expected: list[RuleMatch]) -> None:
    assert GIT.matches(command.split()) == expected


def test_nothing_matches_an_empty_command() -> None:
    assert GIT.matches([], resolve_hosts=True) == []
    assert Rules().matches(["git"], resolve_hosts=True) == []


def test_the_same_rule_twice_matches_twice() -> None:
    assert len(rules(ALLOWED, ALLOWED).matches(["git"])) == 2


@pytest.mark.parametrize(
    ("program", "resolved"),
    [
        ("/usr/bin/git", "/usr/bin/git"),
        ("/git", "/git"),
        ("//usr//bin/./git/", "/usr/bin/git"),
    ],
)
def test_rule_of_a_name_speaks_of_an_absolute_path_where_hosts_are_resolved(program: str, resolved: str) -> None:
    assert rules(ALLOWED).matches([program, "x"], resolve_hosts=True) == [match("git", resolved_program=resolved)]
    assert rules(ALLOWED).matches([program, "x"]) == []


@pytest.mark.parametrize("program", ["./git", "bin/git", "../git", "~/git", "/", "/usr/bin/git/x", "/usr/bin/gitx", ""])
def test_rule_of_a_name_does_not_speak_of_other_paths(program: str) -> None:
    assert rules(ALLOWED).matches([program], resolve_hosts=True) == []


def test_way_up_is_never_enough_to_allow() -> None:
    forbidden = PrefixRule(program="git", decision=FORBIDDEN)
    resolved = rules(ALLOWED, forbidden, git=("/usr/bin/git",))
    assert resolved.matches(["/ws/link/../../usr/bin/git"], resolve_hosts=True) == [
        match("git", decision=FORBIDDEN, resolved_program="/usr/bin/git")
    ]


def test_only_listed_paths_go_by_a_listed_name() -> None:
    listed = rules(ALLOWED, git=("/opt/git/bin/git",), cat=())
    assert listed.matches(["/usr/bin/git"], resolve_hosts=True) == []
    assert listed.matches(["/opt/git/bin/git"], resolve_hosts=True) == [
        match("git", resolved_program="/opt/git/bin/git")
    ]
    assert listed.matches(["git"], resolve_hosts=True) == [match("git")]
    blocked = rules(PrefixRule(program="cat"), cat=())
    assert blocked.matches(["/bin/cat"], resolve_hosts=True) == []


def test_rule_of_the_path_itself_comes_before_those_of_its_name() -> None:
    path = PrefixRule(program="/usr/bin/git", decision=FORBIDDEN)
    assert rules(path, ALLOWED).matches(["/usr/bin/git", "x"], resolve_hosts=True) == [
        match("/usr/bin/git", decision=FORBIDDEN)
    ]
    narrow = PrefixRule(program="/usr/bin/git", rest=(("y",),), decision=FORBIDDEN)
    assert rules(narrow, ALLOWED).matches(["/usr/bin/git", "x"], resolve_hosts=True) == [
        match("git", resolved_program="/usr/bin/git")
    ]


def test_strictest_decision_counts() -> None:
    assert strictest([ALLOW]) == ALLOW
    assert strictest([PROMPT, ALLOW]) == PROMPT
    assert strictest([ALLOW, FORBIDDEN, PROMPT]) == FORBIDDEN


def test_rules_go_through_plain_data_unchanged() -> None:
    network = NetworkRule(host="a", protocol="https", decision=FORBIDDEN)
    all_kinds = GIT.replace(
        network_rules=(network,), host_executables=(HostExecutable(name="git", paths=("/usr/bin/git",)),)
    )
    assert Rules.from_plain(all_kinds.to_plain()) == all_kinds
