"""What a command gets to see of our environment."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pycodex.supervisor.config.shell_environment import ShellEnvironmentPolicy, command_environment, policy_from

ENV = {
    "PATH": "/bin",
    "HOME": "/h",
    "MY_API_KEY": "k",
    "my_secret_x": "s",
    "GH_TOKEN": "t",
    "EDITOR": "vi",
    "LANG": "C",
}


@pytest.mark.parametrize(
    ("table", "names"),
    [
        ({}, set(ENV)),
        ({"inherit": "none"}, set()),
        ({"inherit": "core"}, {"PATH", "HOME"}),
        ({"ignore_default_excludes": False}, {"PATH", "HOME", "EDITOR", "LANG"}),
        ({"exclude": ["*KEY", "la?g"]}, {"PATH", "HOME", "my_secret_x", "GH_TOKEN", "EDITOR"}),
        ({"exclude": ["KEY"]}, set(ENV)),
        ({"inherit": "none", "set": {"A": "1"}}, {"A"}),
        ({"exclude": ["A"], "set": {"A": "1"}, "inherit": "none"}, {"A"}),
        ({"ignore_default_excludes": False, "inherit": "none", "set": {"A_TOKEN": "1"}}, {"A_TOKEN"}),
        ({"include_only": ["path", "E*"], "set": {"A": "1"}}, {"PATH", "EDITOR"}),
        ({"include_only": ["*"], "set": {"A": "1"}}, {*ENV, "A"}),
        ({"include_only": ["x"]}, set()),
    ],
)
def test_policy_decides_which_names_pass(table: dict[str, object], names: set[str]) -> None:
    assert set(command_environment(policy_from(table), ENV, None)) == names


def test_set_beats_what_is_inherited() -> None:
    policy = ShellEnvironmentPolicy(set={"PATH": "/mine"})
    assert command_environment(policy, ENV, None)["PATH"] == "/mine"


def test_our_own_key_is_not_inherited() -> None:
    env = {**ENV, "CODEX_API_KEY": "ours"}
    assert command_environment(ShellEnvironmentPolicy(), env, None) == ENV
    asked_for = ShellEnvironmentPolicy(include_only=("CODEX_API_KEY",))
    assert command_environment(asked_for, env, None) == {}
    given = ShellEnvironmentPolicy(inherit="none", set={"CODEX_API_KEY": "theirs"})
    assert command_environment(given, env, None) == {"CODEX_API_KEY": "theirs"}


def test_thread_is_named_whatever_the_policy() -> None:
    policy = ShellEnvironmentPolicy(inherit="none", include_only=("A",))
    assert command_environment(policy, ENV, "t1") == {"CODEX_THREAD_ID": "t1"}


def test_the_given_environment_is_not_changed() -> None:
    before = dict(ENV)
    command_environment(ShellEnvironmentPolicy(set={"X": "1"}, exclude=("P*",)), before, "t")
    assert before == ENV


def matches_slowly(pattern: str, name: str) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "*":
        return matches_slowly(pattern[1:], name) or bool(name and matches_slowly(pattern, name[1:]))
    return bool(name) and pattern[0] in ("?", name[0]) and matches_slowly(pattern[1:], name[1:])


@settings(database=None)
@given(st.text(alphabet="AB*?", max_size=7), st.text(alphabet="AB", min_size=1, max_size=7))
def test_wildcards_match_what_they_say(pattern: str, name: str) -> None:
    policy = ShellEnvironmentPolicy(include_only=(pattern,))
    assert (name in command_environment(policy, {name: ""}, None)) == matches_slowly(pattern, name)


def test_pattern_of_many_stars_does_not_take_forever() -> None:
    policy = ShellEnvironmentPolicy(exclude=("*A" * 50 + "*B",))
    assert command_environment(policy, {"A" * 2000: ""}, None) == {"A" * 2000: ""}
