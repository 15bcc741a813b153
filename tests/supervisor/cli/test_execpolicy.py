"""`pycodex execpolicy check` answers as the reference does, byte for byte."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support.cli import Ended

Call = Callable[..., Ended]

GIT = """\
prefix_rule(pattern=["git", ["push", "fetch"]], decision="prompt", justification="ask first")
prefix_rule(pattern=["git"], decision="allow")
prefix_rule(pattern=["git", "push", "--force"], decision="forbidden")
"""
RESOLVE = "--resolve-host-executables"
NONE = '{"matchedRules":[]}\n'
MORE = "\n\nFor more information, try '--help'.\n"


@pytest.fixture
def check(pycodex: Call, workspace: Path) -> Call:
    """`check` with rules in r.rules; `more` are further files."""

    def call(text: str, *arguments: str, **more: str) -> Ended:
        for name, content in {"r": text, **more}.items():
            (workspace / f"{name}.rules").write_text(content)
        return pycodex("execpolicy", "check", *arguments)

    return call


def answer(decision: str, *matches: str) -> str:
    listed = ",".join(f'{{"prefixRuleMatch":{match}}}' for match in matches)
    return f'{{"matchedRules":[{listed}],"decision":"{decision}"}}\n'


ASKED = '{"matchedPrefix":["git","push"],"decision":"prompt","justification":"ask first"}'
ALLOWED = '{"matchedPrefix":["git"],"decision":"allow"}'
FORCED = '{"matchedPrefix":["git","push","--force"],"decision":"forbidden"}'
RESOLVED = '{"matchedPrefix":["git"],"decision":"allow","resolvedProgram":"/usr/bin/git"}'


@pytest.mark.parametrize(
    ("rules", "arguments", "out"),
    [
        (GIT, "git push --force x", answer("forbidden", ASKED, ALLOWED, FORCED)),
        (GIT, "git fetch", answer("prompt", ASKED.replace("push", "fetch"), ALLOWED)),
        (GIT, "ls", NONE),
        (GIT, "git --pretty", answer("allow", ALLOWED)),
        (GIT, "git -h", answer("allow", ALLOWED)),
        (GIT, "-- git", answer("allow", ALLOWED)),
        (GIT, "bash -lc git", NONE),
        (GIT, "/usr/bin/git status", NONE),
        (GIT, f"{RESOLVE} /usr/bin/git status", answer("allow", RESOLVED)),
        (GIT, f"{RESOLVE} ./git status", NONE),
        (GIT + 'host_executable("git", ["/opt/git/bin/git"])\n', f"{RESOLVE} /usr/bin/git status", NONE),
        (
            'prefix_rule(["/usr/bin/git"], "forbidden")\nprefix_rule(["git"])\n',
            f"{RESOLVE} /usr/bin/git x",
            answer("forbidden", '{"matchedPrefix":["/usr/bin/git"],"decision":"forbidden"}'),
        ),
        (
            'prefix_rule([["bash", "sh"], ["-c", "-l"]])\n',
            "sh -l x",
            answer("allow", '{"matchedPrefix":["sh","-l"],"decision":"allow"}'),
        ),
        ('prefix_rule(["git"], match=["/usr/bin/git x"])\n', "git", answer("allow", ALLOWED)),
        (
            'prefix_rule(["git"], justification="söme\\x1f\\"")\n',
            "git",
            answer("allow", '{"matchedPrefix":["git"],"decision":"allow","justification":"söme\\u001f\\""}'),
        ),
    ],
)
def test_answer_is_one_line_of_json(rules: str, arguments: str, out: str, check: Call) -> None:
    assert check(rules, "--rules", "r.rules", *arguments.split()) == Ended(0, out, "")


def test_pretty_answer_has_lines(check: Call) -> None:
    assert check(GIT, "-r", "r.rules", "--pretty", "ls").out == '{\n  "matchedRules": []\n}\n'
    ended = check(GIT, "--pretty", "-r", "r.rules", "git", "status")
    assert ended.out == json.dumps(json.loads(answer("allow", ALLOWED)), indent=2) + "\n"


def test_several_files_count_in_their_order(check: Call) -> None:
    arguments = ("--rules=more.rules", "-r", "r.rules", "git", "status")
    out = check('prefix_rule(["git"])\n', *arguments, more='prefix_rule(["git", "status"], "prompt")\n').out
    assert out == answer("prompt", '{"matchedPrefix":["git","status"],"decision":"prompt"}', ALLOWED)


@pytest.mark.parametrize("flag", ["-r", "--rules", "-p", "--policy"])
def test_files_may_be_named_as_in_older_versions(flag: str, check: Call) -> None:
    assert check('prefix_rule(["git"])\n', flag, "r.rules", "git").out == answer("allow", ALLOWED)


@pytest.mark.parametrize("word", ["--nope", "-x", "--pretyt", "-", "-V", "-rx", "-r=r.rules"])
def test_command_begins_with_the_first_word_that_is_no_flag(word: str, check: Call) -> None:
    rules = f'prefix_rule(["{word}", "--pretty"])\n'
    matched = f'{{"matchedPrefix":["{word}","--pretty"],"decision":"allow"}}'
    assert check(rules, "--rules", "r.rules", word, "--pretty").out == answer("allow", matched)


def test_empty_word_and_dashes_are_words_of_a_command(check: Call) -> None:
    rules = 'prefix_rule([""])\nprefix_rule(["--"])\n'
    assert '"matchedPrefix":[""]' in check(rules, "--rules", "r.rules", "").out
    assert '"matchedPrefix":["--"]' in check(rules, "--rules", "r.rules", "--", "--", "x").out


def test_rules_may_come_from_a_pipe(pycodex: Call, workspace: Path) -> None:
    assert pycodex("execpolicy", "check", "-r", "/dev/stdin", "git", stdin=GIT).out == answer("allow", ALLOWED)


def test_broken_rules_are_shown_with_their_cause(check: Call) -> None:
    assert check('prefix_rule(["a"], "deny")\n', "--rules", "r.rules", "x") == Ended(
        1,
        "",
        "Error: failed to parse policy at r.rules\n"
        "\n"
        "Caused by:\n"
        "    starlark error: Traceback (most recent call last):\n"
        "      * r.rules:1, in <module>\n"
        '          prefix_rule(["a"], "deny")\n'
        "    error: invalid decision: deny\n"
        "     --> r.rules:1:1\n"
        "      |\n"
        '    1 | prefix_rule(["a"], "deny")\n'
        "      | ^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "      |\n"
        "    \n",
    )


def test_broken_example_is_shown_in_one_line(check: Call) -> None:
    ended = check(GIT, "-r", "r.rules", "-r", "b.rules", "x", b='prefix_rule(["git"], not_match=["git status"])\n')
    assert ended == Ended(
        1,
        "",
        "Error: failed to parse policy at b.rules\n\nCaused by:\n    expected example to not match rule "
        '`PrefixRuleMatch { matched_prefix: ["git"], decision: Allow, resolved_program: None, justification: None }`: '
        "git status\n",
    )


@pytest.mark.parametrize(
    ("path", "cause"),
    [
        ("missing.rules", "No such file or directory (os error 2)"),
        ("/", "Is a directory (os error 21)"),
        ("/dev/zero", "larger than 1048576 bytes (os error 27)"),
        ("binary.rules", "stream did not contain valid UTF-8"),
    ],
)
def test_file_that_cannot_be_read_is_told(path: str, cause: str, pycodex: Call, workspace: Path) -> None:
    (workspace / "binary.rules").write_bytes(b"\xff")
    ended = pycodex("execpolicy", "check", "--rules", path, "x")
    assert ended == Ended(1, "", f"Error: failed to read policy at {path}\n\nCaused by:\n    {cause}\n")


@pytest.mark.parametrize(
    ("arguments", "missing", "given"),
    [
        ("", "\n  --rules <PATH>\n  <COMMAND>...", ""),
        ("x", "\n  --rules <PATH>", ""),
        ("-rr.rules x", "\n  --rules <PATH>", ""),
        ("--rules r.rules", "\n  <COMMAND>...", ""),
        ("-p r.rules --rules r.rules --", "\n  <COMMAND>...", ""),
        ("--pretty --rules r.rules", "\n  <COMMAND>...", "--pretty "),
        (
            "-c a=b -c b=c --enable undo --pretty",
            "\n  --rules <PATH>\n  <COMMAND>...",
            "--config <key=value> --enable <FEATURE> --pretty ",
        ),
    ],
)
def test_missing_arguments_are_told(arguments: str, missing: str, given: str, check: Call) -> None:
    usage = f"Usage: pycodex execpolicy check --rules <PATH> {given}<COMMAND>..."
    error = f"error: the following required arguments were not provided:{missing}\n\n{usage}{MORE}"
    assert check(GIT, *arguments.split()) == Ended(2, "", error)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        *(
            (arguments, f"error: a value is required for '--rules <PATH>' but none was supplied{MORE}")
            for arguments in (("--rules",), ("--rules", "", "x"), ("--rules=", "x"), ("--rules", "--pretty", "x"))
        ),
        (("-r", "r.rules", "-c"), f"error: a value is required for '--config <key=value>' but none was supplied{MORE}"),
        (
            ("-r", "r.rules", "--pretty", "--pretty", "x"),
            (
                "error: the argument '--pretty' cannot be used multiple times\n\n"
                f"Usage: pycodex execpolicy check [OPTIONS] --rules <PATH> <COMMAND>...{MORE}"
            ),
        ),
        (
            ("-r", "r.rules", os.fsdecode(b"\xff")),
            (
                "error: invalid UTF-8 was detected in one or more arguments\n\n"
                f"Usage: pycodex execpolicy check [OPTIONS] --rules <PATH> <COMMAND>...{MORE}"
            ),
        ),
    ],
)
def test_wrong_usage_is_told(arguments: tuple[str, ...], error: str, check: Call) -> None:
    assert check(GIT, *arguments) == Ended(2, "", error)


def test_configuration_has_no_say_but_unknown_features_are_refused(check: Call, home: Path) -> None:
    (home / "config.toml").write_text("model = \n")
    assert check(GIT, "-c", "bad", "--rules", "r.rules", "ls").out == NONE
    assert check(GIT, "--rules", "r.rules", "--enable", "nope", "ls") == Ended(
        1, "", "Error: Unknown feature flag: nope\n"
    )


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((), "Try out rule files\n"),
        (("nope",), "error: unrecognized subcommand 'nope'\n\nUsage: "),
        (("chek",), "error: unrecognized subcommand 'chek'\n\n  tip: a similar subcommand exists: 'check'\n\nUsage: "),
        (("help", "nope"), "error: unrecognized subcommand 'nope'\n"),
        (("--nope", "check"), "error: unexpected argument '--nope' found\n\nUsage: pycodex execpolicy [OPTIONS]"),
    ],
)
def test_wrong_subcommand_is_told(arguments: tuple[str, ...], error: str, pycodex: Call) -> None:
    ended = pycodex("execpolicy", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(error)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("execpolicy", "--help"), "Try out rule files"),
        (("execpolicy", "help"), "Try out rule files"),
        (("help", "execpolicy"), "Try out rule files"),
        (("execpolicy", "help", "check"), "Usage: pycodex execpolicy check"),
        (("execpolicy", "check", "--pretty", "-h"), "Usage: pycodex execpolicy check"),
    ],
)
def test_help_is_an_answer(arguments: tuple[str, ...], shown: str, pycodex: Call) -> None:
    ended = pycodex(*arguments)
    assert (ended.code, ended.err) == (0, "")
    assert shown in ended.out
