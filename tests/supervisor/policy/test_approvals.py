"""What a person has allowed is known again, and nothing else is taken for it."""

from itertools import combinations

import pytest

from pycodex.supervisor.policy.approvals import Approvals, command_key, file_key
from pycodex.supervisor.policy.rules import PrefixRule, Rules

FAMILY, CWD, ASKED, EXTRA, TTY = "shell", "/ws", "use_default", None, False
TERMS = (FAMILY, CWD, ASKED, EXTRA, TTY)


@pytest.mark.parametrize(
    "argv",
    [
        ("/bin/bash", "-lc", "touch 'a b'"),
        ("/bin/bash", "-lc", 'touch "a b"'),
        ("/bin/bash", "-lc", "  touch   'a b' ;\n"),
        ("/bin/bash", "-lc", "touch a' 'b"),
        ("/bin/bash", "-c", "touch 'a b'"),
        ("/bin/sh", "-lc", "touch 'a b'"),
        ("/bin/sh", "-c", "touch 'a b'"),
        ("zsh", "-c", "touch 'a b'"),
        ("touch", "a b"),
    ],
)
def test_one_plain_command_is_known_by_its_words(argv: tuple[str, ...]) -> None:
    assert command_key(argv, *TERMS) == command_key(("/bin/bash", "-lc", "touch 'a b'"), *TERMS)


DIFFERENT = [
    ("/bin/bash", "-lc", "touch a b"),
    ("/bin/bash", "-lc", "touch 'a b'"),
    ("/bin/bash", "-lc", "touch 'a b' c"),
    ("/bin/bash", "-lc", "touch 'A b'"),
    ("/bin/bash", "-lc", "/bin/touch 'a b'"),
    ("/bin/bash", "-lc", "touch a; touch b"),
    ("/bin/bash", "-lc", "touch a;  touch b"),
    ("/bin/bash", "-lc", "touch a && touch b"),
    ("/bin/bash", "-c", "touch a && touch b"),
    ("/bin/bash", "-lc", "touch $X"),
    ("/bin/bash", "-c", "touch $X"),
    ("/bin/bash", "-lc", "touch  $X"),
    ("/bin/bash", "-lc", "touch $X # again"),
    ("/bin/bash", "-lc", "cat <<E\nx\nE"),
    ("/bin/bash", "-lc", "cat <<E\ny\nE"),
    ("/bin/bash", "-lc", "cat"),
    ("bash", "-l", "-c", "touch 'a b'"),
    ("dash", "-c", "touch 'a b'"),
]


@pytest.mark.parametrize(("one", "other"), list(combinations(DIFFERENT, 2)))
def test_different_commands_are_not_taken_for_each_other(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert command_key(one, *TERMS) != command_key(other, *TERMS)


@pytest.mark.parametrize("script", ["touch a && touch b", "touch $X", "cat <<E\nx\nE", "ls *.py", "ls ~", "ls a\\ b"])
def test_other_scripts_are_known_by_all_there_is(script: str) -> None:
    key = command_key(("/bin/bash", "-lc", script), *TERMS)
    assert command_key(("/bin/bash", "-lc", script), *TERMS) == key
    for other in (("/bin/sh", "-lc", script), ("/bin/bash", "-c", script), ("/bin/bash", "-lc", f"{script} ")):
        assert command_key(other, *TERMS) != key


@pytest.mark.parametrize("word", ["*", "a?", "[ab]", "{a,b}", "~", "!x"])
def test_what_a_shell_expands_is_not_what_it_leaves_as_it_is(word: str) -> None:
    bare, quoted = ("/bin/bash", "-lc", f"ls {word}"), ("/bin/bash", "-lc", f"ls '{word}'")
    keys = {command_key(argv, *TERMS) for argv in (bare, quoted, ("ls", word))}
    assert len(keys) == 3


@pytest.mark.parametrize("path", ["./bash", "bin/bash", "/ws/bash"])
@pytest.mark.parametrize("script", ["touch x", "touch $X"])
def test_program_that_is_only_called_like_a_shell_is_another_command(path: str, script: str) -> None:
    assert command_key((path, "-lc", script), *TERMS) != command_key(("/bin/bash", "-lc", script), *TERMS)


@pytest.mark.parametrize(
    "terms",
    [
        ("unified", CWD, ASKED, EXTRA, TTY),
        (FAMILY, "/ws/", ASKED, EXTRA, TTY),
        (FAMILY, ".", ASKED, EXTRA, TTY),
        (FAMILY, CWD, "require_escalated", EXTRA, TTY),
        (FAMILY, CWD, ASKED, ("/x",), TTY),
        (FAMILY, CWD, ASKED, EXTRA, True),
    ],
)
def test_yes_holds_only_on_the_terms_it_was_given_on(terms: tuple[object, ...]) -> None:
    approvals = Approvals()
    approvals.grant([command_key(("touch", "x"), *TERMS)])
    assert command_key(("touch", "x"), *TERMS) in approvals
    assert command_key(("touch", "x"), *terms) not in approvals


def test_file_is_no_command() -> None:
    approvals = Approvals()
    approvals.grant([file_key("/a")])
    assert file_key("/a") in approvals
    assert file_key("/a/") not in approvals
    assert command_key(("/a",)) not in approvals
    assert command_key(("file", "/a")) not in approvals


def test_all_files_of_a_patch_must_be_allowed() -> None:
    approvals = Approvals()
    approvals.grant(map(file_key, ("/a", "/b")))
    approvals.grant([file_key("/c")])
    assert approvals.has_all([file_key("/a"), file_key("/c")])
    assert not approvals.has_all([file_key("/a"), file_key("/d")])
    assert approvals.has_all([])


def test_sessions_know_nothing_of_each_other() -> None:
    one, other = Approvals(), Approvals()
    one.grant(["k"])
    one.amend(["touch"])
    assert "k" not in other
    assert other.rules == Rules()


def test_amended_rule_is_added_once_behind_the_others() -> None:
    known = Rules(prefix_rules=(PrefixRule(program="touch", decision="prompt"),))
    approvals = Approvals(known)
    approvals.amend(["touch", "x"])
    approvals.amend(("touch", "x"))
    added = PrefixRule(program="touch", rest=(("x",),))
    assert approvals.rules == Rules(prefix_rules=(*known.prefix_rules, added))
    approvals.amend(["touch"])
    assert approvals.rules.prefix_rules == (*known.prefix_rules, added, PrefixRule(program="touch"))
