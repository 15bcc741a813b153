"""`pycodex policy` says what it can do, and does what its page says."""

import json
import re
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pycodex.supervisor.context.environment import user_shell
from support import rollouts
from support.cli import Ended
from support.tree import ROOT

Call = Callable[..., Ended]


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        (("policy", "--help"), "Show what becomes of a command, and what a file of rules would change"),
        (("policy", "help"), "Show what becomes of a command, and what a file of rules would change"),
        (("help", "policy"), "Show what becomes of a command, and what a file of rules would change"),
        (("policy", "help", "explain"), "Show whether a command would run"),
        (("policy", "explain", "-h"), "Show whether a command would run"),
        (("policy", "help", "test"), "Try new rules on the commands of past sessions"),
        (("policy", "test", "--help"), "Try new rules on the commands of past sessions"),
    ],
)
def test_help(arguments: tuple[str, ...], start: str, pycodex: Call) -> None:
    ended = pycodex(*arguments)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(start)


def test_without_a_subcommand_help_comes_on_stderr(pycodex: Call) -> None:
    ended = pycodex("policy")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == pycodex("policy", "--help").out


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("tests",), "error: unrecognized subcommand 'tests'\n\n  tip: a similar subcommand exists: 'test'\n"),
        (("--nope",), "error: unexpected argument '--nope' found\n"),
        (("explain",), "error: the following required arguments were not provided:\n  <COMMAND>...\n"),
        (("explain", "-a", "nope", "ls"), "error: invalid value 'nope' for '--ask-for-approval <POLICY>'\n"),
        (("explain", "-s", "nope", "ls"), "error: invalid value 'nope' for '--sandbox <MODE>'\n"),
        (("test",), "error: the following required arguments were not provided:\n  <NEW_RULES>\n"),
        (("test", "a", "b"), "error: unexpected argument 'b' found\n"),
        (("test", "--since", "3x", "a"), "error: invalid value '3x' for '--since <TIME>'\n"),
        (("test", "--since", "1234567d", "a"), "error: invalid value '1234567d' for '--since <TIME>'\n"),
    ],
)
def test_wrong_arguments(arguments: tuple[str, ...], error: str, pycodex: Call) -> None:
    ended = pycodex("policy", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(error)


PAGE = ROOT / "docs" / "policy.md"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.fixture
def as_on_the_page(pycodex: Call, home: Path, workspace: Path) -> Callable[[str], str]:
    """Call what stands behind a prompt, in a place like that of the page; gives what it prints in the page's terms."""
    own, new = blocks("python")
    (home / "rules").mkdir()
    (home / "rules" / "default.rules").write_text(own)
    (workspace / "NEW.rules").write_text(new)
    commands = [*["npm install"] * 12, *["git push"] * 3, *["make deploy"] * 2, *["git status"] * 3]
    asked = {"npm install": {"sandbox_permissions": "require_escalated"}}
    terms = rollouts.turn_context("t", approval_policy="on-request", cwd=str(workspace))
    lines = [rollouts.meta(), terms]
    for number, command in enumerate(commands):
        arguments = json.dumps({"cmd": command, **asked.get(command, {})})
        lines.append(rollouts.item({**rollouts.call(str(number)), "arguments": arguments}))
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    rollouts.place(home, rollouts.THREAD_ID, [{**line, "timestamp": now} for line in lines])

    def call(line: str) -> str:
        ended = pycodex(*shlex.split(line)[1:])
        assert (ended.code, ended.err) == (0, "")
        said = ended.out.replace(str(workspace), "/home/me/shop").replace(str(home), "/home/me/.codex")
        said = said.replace(user_shell().path, "/bin/bash")
        return re.sub(r"since \S+ \S+:", "since 2026-01-17 10:00:", said, count=1)

    return call


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox of Linux")
@pytest.mark.parametrize("block", blocks("console"))
def test_examples_of_the_page_are_true(block: str, as_on_the_page: Callable[[str], str]) -> None:
    command, _, expected = block.removeprefix("$ ").partition("\n")
    said = as_on_the_page(command)
    if expected.endswith("...\n"):
        expected = expected.removesuffix("...\n")
        said = said[: len(expected)]
    assert said == expected
