"""`pycodex policy explain` tells what a session here would do with a command, and runs nothing."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.cli import Ended

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox of Linux")

Call = Callable[..., Ended]

RULES = """\
# What I have settled.
prefix_rule(pattern=["git", "push"], decision="prompt", justification="pushing needs a look")
prefix_rule(pattern=["git", "fetch"], decision="allow")
prefix_rule(pattern=["curl"], decision="forbidden", justification="use the mirror")
"""


@pytest.fixture
def rules(home: Path) -> Path:
    path = home / "rules" / "default.rules"
    path.parent.mkdir()
    path.write_text(RULES)
    return path


@pytest.fixture
def explain(pycodex: Call, rules: Path) -> Call:
    del rules

    def call(*arguments: str, **options: object) -> Ended:
        return pycodex("policy", "explain", *arguments, **options)

    return call


def rows(ended: Ended) -> dict[str, list[str]]:
    """The values of each label, in order."""
    assert (ended.code, ended.err) == (0, "")
    found: dict[str, list[str]] = {}
    label = ""
    for line in filter(None, ended.out.splitlines()):
        label = line[:14].strip() or label
        found.setdefault(label, []).append(line[16:])
    return found


def plain(ended: Ended) -> dict[str, Any]:
    assert (ended.code, ended.err) == (0, "")
    told: dict[str, Any] = json.loads(ended.out)
    return told


def test_script_is_taken_apart_and_every_part_says_who_decides(explain: Call, rules: Path, workspace: Path) -> None:
    shown = rows(explain("git status && git push origin main"))
    assert shown["command"][0].endswith(" -lc 'git status && git push origin main'")
    assert shown["directory"] == [str(workspace)]
    assert shown["terms"] == ["approval policy on-request, sandbox read-only"]
    assert shown["part 1"] == ["git status            allow      known to change nothing"]
    assert shown["part 2"] == [
        f"git push origin main  prompt     rule {rules}:2 on `git push`: pushing needs a look",
    ]
    assert shown["verdict"] == ["asks the person"]
    assert shown["reason"][0].endswith("requires approval: pushing needs a look")
    assert shown["offered"] == ["yes, once", "no, and stop"]
    assert shown["after a yes"] == ["runs in the sandbox"]
    assert shown["if denied"] == ["it fails, and the model is told; nobody is asked"]
    assert shown["writable"] == ["none"]


def test_what_is_forbidden_says_what_the_model_is_told(explain: Call, rules: Path) -> None:
    shown = rows(explain("curl", "-O", "http://x"))
    assert shown["part"] == [f"curl -O http://x  forbidden  rule {rules}:4 on `curl`: use the mirror"]
    assert shown["verdict"] == ["is refused"]
    assert shown["model is told"] == ["`curl -O http://x` rejected: use the mirror"]
    assert "writable" not in shown


def test_what_rules_allow_runs_outside(explain: Call) -> None:
    shown = rows(explain("git", "fetch"))
    assert shown["verdict"] == ["runs outside the sandbox: rules of the user allow every part of it"]
    assert shown["sandbox"] == ["off (rules of the user allow every part of it): every file and the network are open"]


def test_unknown_command_under_untrusted_is_offered_for_good(explain: Call, workspace: Path) -> None:
    shown = rows(explain("-a", "untrusted", "-s", "workspace-write", "make", "test"))
    assert shown["part"] == ["make test  prompt     approval policy untrusted"]
    assert shown["offered"][1] == 'yes, and for good: prefix_rule(pattern=["make", "test"], decision="allow")'
    assert shown["if denied"][0] == "the person is asked whether to run it again without the sandbox"
    assert str(workspace) in shown["writable"]


def test_escalation(explain: Call) -> None:
    asked = rows(explain("--escalated", "npm install"))
    assert asked["part"] == ["npm install  prompt     asks to leave the sandbox"]
    assert asked["reason"] == ["what the model says for it, else: Run it outside of the sandbox?"]
    assert asked["after a yes"] == ["runs outside the sandbox: approved by the user"]
    refused = rows(explain("--escalated", "-a", "never", "npm install"))
    assert refused["verdict"] == ["is refused"]
    assert refused["model is told"][0].startswith("approval policy is Never; reject command")


def test_script_that_cannot_be_taken_apart_says_so(explain: Call) -> None:
    shown = rows(explain("-a", "on-failure", "git fetch > y"))
    assert "cannot be taken apart" in shown["script"][0]
    assert "no rule frees it by a program in it" in shown["script"][1]
    assert shown["verdict"] == ["runs in the sandbox"]
    assert shown["if denied"][0] == "the person is asked whether to run it again without the sandbox"


def test_what_is_forbidden_inside_of_something_else_is_found(explain: Call, rules: Path) -> None:
    for script in ("curl x > y", "for x in a b; do curl $x; done", "timeout 5 curl x", "bash -c 'curl x'"):
        shown = rows(explain(script))
        assert shown["part"][0].endswith(f"forbidden  rule {rules}:4 on `curl`: use the mirror")
        assert shown["verdict"] == ["is refused"]


def test_here_document_and_a_rule_that_does_not_count(explain: Call, rules: Path) -> None:
    shown = rows(explain("git fetch <<E > x\na\nE"))
    assert "here-document" in shown["script"][0]
    assert shown["command"][0].endswith(r"-lc 'git fetch <<E > x\na\nE'")
    assert f"rule {rules}:3 does not count: the script also opens files" in shown["part"][1]


def test_full_access_has_no_sandbox(explain: Call) -> None:
    assert rows(explain("-s", "danger-full-access", "make"))["verdict"] == ["runs; there is no sandbox"]


@pytest.mark.parametrize("command", [("apply_patch", "x"), ("apply_patch <<'E'\n*** Begin Patch\n*** End Patch\nE",)])
def test_patches_go_another_way(command: tuple[str, ...], explain: Call) -> None:
    assert rows(explain(*command))["verdict"][0] == "is not run but applied, as the tool apply_patch would do it"
    assert plain(explain("--json", *command))["outcome"] == "patch"


def test_patch_that_is_no_command_is_refused(explain: Call) -> None:
    patch = "*** Begin Patch\n*** Add File: a\n+a\n*** End Patch"
    assert "patch detected without explicit call" in rows(explain(patch))["model is told"][0]


@pytest.mark.parametrize(
    ("words", "script"), [(("ls -l",), True), (("ls;pwd",), True), (("ls", "-l"), False), (("ls",), False)]
)
def test_one_word_that_is_more_than_a_name_is_a_script(words: tuple[str, ...], script: bool, explain: Call) -> None:
    command = plain(explain("--json", "--", *words))["command"]
    assert command[-1] == words[-1]
    assert (len(command) == 3 and command[1] == "-lc") is script


def test_shell_does_not_log_in_where_that_is_off(explain: Call) -> None:
    assert plain(explain("--json", "-c", "allow_login_shell=false", "ls -l"))["command"][1] == "-c"


def test_configuration_of_the_directory_counts(explain: Call, home: Path, workspace: Path) -> None:
    project = workspace / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".codex" / "rules").mkdir(parents=True)
    theirs = project / ".codex" / "rules" / "p.rules"
    theirs.write_text('prefix_rule(["make"], "forbidden")\n')
    assert plain(explain("--json", "-C", "project", "make"))["outcome"] == "in-sandbox"
    (home / "config.toml").write_text(f'[projects."{project}"]\ntrust_level = "trusted"\n')
    told = plain(explain("--json", "--cwd", "project", "make"))
    assert (told["outcome"], told["sandboxMode"], told["cwd"]) == ("refused", "workspace-write", str(project))
    (word,) = told["segments"][0]["words"]
    assert (word["rule"]["file"], word["rule"]["line"], word["rule"]["level"]) == (str(theirs), 1, "project")


def test_json_is_the_same_for_machines(explain: Call) -> None:
    told = plain(explain("--json", "-s", "workspace-write", "ls"))
    assert list(told) == [
        *("command", "cwd", "sandboxMode", "approvalPolicy", "sandboxPermissions", "script", "segments", "outcome"),
        *("refusal", "ask", "unconfinedBecause", "onDenial", "retryAsk", "confinement"),
    ]
    assert told["segments"] == [
        {"command": ["ls"], "words": [{"decision": "allow", "by": "safe", "decides": True}], "passedOver": []}
    ]
    assert (told["confinement"]["network"], told["confinement"]["base"]) == (False, "read")


def test_nothing_is_run_and_nothing_kept(explain: Call, home: Path, workspace: Path) -> None:
    explain("-s", "danger-full-access", "-a", "never", f"touch {workspace}/x")
    assert list(workspace.iterdir()) == []
    assert not (home / "sessions").exists()


def test_rules_that_cannot_be_used_end_it(explain: Call, rules: Path) -> None:
    rules.write_text('prefix_rule(["a"], decision="nope")\n')
    text = f"Error loading rules:\n{rules}:1: error: invalid decision: nope (problem is on or around line 1)\n"
    assert explain("ls") == Ended(1, "", text)


def test_directory_that_is_not_there_ends_it(explain: Call) -> None:
    assert explain("-C", "nowhere", "ls") == Ended(1, "", "Error: No such file or directory (os error 2)\n")


def test_names_do_not_speak_to_the_terminal(explain: Call, rules: Path) -> None:
    rules.write_text('prefix_rule(["a"], "prompt", justification="\\x1b[31mred")\n')
    assert "\x1b" not in explain("a", "\x1b[2J").out
