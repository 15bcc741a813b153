"""New rules on old commands: what differs, how often, and by which rule."""

from collections.abc import Sequence

import pytest

from pycodex.protocol.turn_context import ApprovalPolicy
from pycodex.supervisor.policy import back_test
from pycodex.supervisor.policy.back_test import BackTest, Change, PastCommand
from pycodex.supervisor.policy.located_rules import LocatedRules, Origin
from pycodex.supervisor.policy.questions import Terms
from pycodex.supervisor.policy.rule_language import Source
from pycodex.supervisor.policy.rule_pairs import RulePair
from pycodex.supervisor.policy.rule_process import evaluated_with_calls

OLD = 'prefix_rule(["git", "push"], "prompt")\nprefix_rule(["curl"], "forbidden")\n'
NEW = '\nprefix_rule(["npm"])\nprefix_rule(["make"], "forbidden")\nprefix_rule(["ls"], "prompt")\n'


def located(*texts: tuple[str, str, str]) -> LocatedRules:
    sources = tuple(Source(path=path, text=text) for path, text, _ in texts)
    rules, calls = evaluated_with_calls(sources)
    return LocatedRules(rules, sources, tuple(level for _, _, level in texts), calls)


@pytest.fixture(scope="module")
def added() -> RulePair:
    old = ("old.rules", OLD, "user")
    return RulePair(located(old), located(old, ("new.rules", NEW, "tried")))


@pytest.fixture(scope="module")
def replaced() -> RulePair:
    return RulePair(located(("old.rules", OLD, "user")), located(("new.rules", NEW, "tried")))


def past(
    command: str | tuple[str, ...], policy: ApprovalPolicy = "on-request", asked: str = "use_default"
) -> PastCommand:
    argv = ("/bin/bash", "-lc", command) if isinstance(command, str) else command
    return PastCommand(argv, Terms(policy, "workspace-write", "/bin/bash"), asked, (), "cannot")


def tried(commands: Sequence[PastCommand], pair: RulePair) -> BackTest:
    test = BackTest()
    for command in commands:
        test.take(command, pair)
    return test


NPM = past("npm install", asked="require_escalated")


def test_changes_are_counted_and_ordered_by_how_often_they_occur(added: RulePair) -> None:
    commands = [past("make x"), NPM, NPM, NPM, past("git push"), past("touch x"), past("ls"), past("ls")]
    report = tried(commands, added).report()
    assert (report.commands, report.distinct) == (8, 5)
    assert report.changes == (
        Change(3, ("npm", "install"), "asks", "outside", Origin("new.rules", 2, "tried"), False),
        Change(2, ("ls",), "in-sandbox", "asks", Origin("new.rules", 4, "tried"), False),
        Change(1, ("make", "x"), "in-sandbox", "refused", Origin("new.rules", 3, "tried"), False),
    )
    assert (report.prompts_saved, report.prompts_added) == (3, 2)
    assert report.before == {"asks": 4, "in-sandbox": 4}
    assert report.after == {"asks": 3, "in-sandbox": 1, "outside": 3, "refused": 1}


def test_rule_that_is_gone_is_named(replaced: RulePair) -> None:
    (change,) = tried([past("git push")], replaced).report().changes
    assert change == Change(1, ("git", "push"), "asks", "in-sandbox", Origin("old.rules", 1, "user"), True)


def test_same_command_counts_once_however_it_was_quoted(added: RulePair) -> None:
    commands = [past("make x"), past('make "x"'), past(("make", "x")), past(("sh", "-c", "make   x"))]
    report = tried(commands, added).report()
    assert report.distinct == 1
    assert [change.count for change in report.changes] == [4]


def test_scripts_of_several_commands_are_told_whole(added: RulePair) -> None:
    (change,) = tried([past("cd a && make x")], added).report().changes
    assert change.command == ("/bin/bash", "-lc", "cd a && make x")


def test_same_command_under_other_policies_is_decided_anew(added: RulePair) -> None:
    granular = {"granular": {"sandbox_approval": False, "rules": True, "mcp_elicitations": True}}
    report = tried([past("ls"), past("ls", "never"), past("ls", granular)], added).report()
    assert sorted((change.after, change.count) for change in report.changes) == [("asks", 2), ("refused", 1)]


def test_model_that_must_not_ask_is_refused_before_and_after(added: RulePair) -> None:
    report = tried([past("npm install", "never", "require_escalated")], added).report()
    assert (report.before, report.changes) == ({"refused": 1}, ())


def test_what_is_kept_is_bounded(added: RulePair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(back_test, "MOST_CHANGES_KEPT", 2)
    monkeypatch.setattr(back_test, "_MOST_REMEMBERED", 1)
    report = tried([past(f"make {number}") for number in (1, 2, 3, 1)], added).report()
    assert [(change.command[1], change.count) for change in report.changes] == [("1", 2), ("2", 1)]
    assert (report.changes_not_kept, report.after["refused"]) == (1, 4)


def test_long_scripts_are_decided_whole_and_kept_short(added: RulePair) -> None:
    (change,) = tried([past(("make", "x" * 10_000))], added).report().changes
    assert change.command == ("make", "x" * 2000)


def test_form_for_machines(added: RulePair) -> None:
    plain = tried([past("make x")], added).report().to_plain()
    assert plain == {
        "commands": 1,
        "distinct": 1,
        "before": {"in-sandbox": 1, "outside": 0, "no-sandbox": 0, "asks": 0, "refused": 0},
        "after": {"in-sandbox": 0, "outside": 0, "no-sandbox": 0, "asks": 0, "refused": 1},
        "promptsSaved": 0,
        "promptsAdded": 0,
        "changes": [
            {
                "count": 1,
                "command": ["make", "x"],
                "before": "in-sandbox",
                "after": "refused",
                "file": "new.rules",
                "line": 3,
                "removed": False,
            }
        ],
        "changesNotKept": 0,
    }
