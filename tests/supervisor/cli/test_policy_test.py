"""`pycodex policy test` tries rules on what past sessions have run."""

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pycodex.supervisor.cli import policy_test
from pycodex.supervisor.model.scripted import Reply, serve_script
from support import rollouts
from support.cli import Ended, run_cli
from support.engine import Place, open_place, run
from support.exec_runs import run_exec
from support.rollouts import Line

Call = Callable[..., Ended]

OTHER_ID = "01950000-0000-7000-8000-0000000000bb"
OWN = 'prefix_rule(["git", "push"], decision="prompt")\n'
NEW = """\
# To be tried.
prefix_rule(["npm", "install"])
prefix_rule(["make", "deploy"], decision="forbidden", justification="by the release job")
"""
ESCALATED = {"sandbox_permissions": "require_escalated"}


def stamped(lines: list[Line], *, days_ago: float = 1) -> list[Line]:
    at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - days_ago * 86_400))
    return [{**line, "timestamp": at} for line in lines]


def called(name: str, call_id: str, **arguments: Any) -> Line:
    payload = {"type": "function_call", "name": name, "arguments": json.dumps(arguments), "call_id": call_id}
    return rollouts.item(payload)


def ran(command: str, times: int = 1, **more: Any) -> list[Line]:
    return [called("exec_command", f"{command} {number}", cmd=command, **more) for number in range(times)]


@pytest.fixture
def session(home: Path, workspace: Path) -> None:
    """One of an interactive interface, and one of `exec`."""
    terms = {"cwd": str(workspace), "sandbox_policy": {"type": "workspace-write"}}
    asking = rollouts.turn_context("t", approval_policy="on-request", **terms)
    lines = [
        *(rollouts.meta(), asking),
        *(*ran("git push origin main", 2), *ran("npm install", 3, **ESCALATED), *ran("git status")),
        called("shell", "s", command=["make", "deploy"]),
        called("shell_command", "sc", command="make deploy"),
        called("update_plan", "p", plan=[]),
    ]
    place(home, rollouts.THREAD_ID, [*stamped(lines), "{broken"])
    never = rollouts.turn_context("t", approval_policy="never", **terms)
    place(home, OTHER_ID, stamped([rollouts.meta(OTHER_ID), never, *ran("git push origin main")]))


def place(home: Path, thread_id: str, lines: list[Any]) -> str:
    return rollouts.place(home, thread_id, lines, stamp=time.strftime("%Y-%m-%dT%H-%M-%S"))


@pytest.fixture
def tried(pycodex: Call, home: Path, workspace: Path) -> Call:
    """`policy test` of NEW.rules, beside rules of the user's own."""
    (home / "rules").mkdir()
    (home / "rules" / "default.rules").write_text(OWN)
    (workspace / "NEW.rules").write_text(NEW)

    def call(*arguments: str) -> Ended:
        return pycodex("policy", "test", *arguments, "NEW.rules")

    return call


def lines_of(ended: Ended) -> list[str]:
    assert (ended.code, ended.err) == (0, "")
    return ended.out.splitlines()


@pytest.mark.usefixtures("session")
def test_what_would_change_is_counted_and_told(tried: Call) -> None:
    head, *rest = lines_of(tried())
    assert head.startswith("2 sessions since ")
    assert head.endswith(": 9 commands, 4 different")
    assert rest == [
        "",
        "                          before   after",
        "asks the person                5       2   3 saved",
        "refused                        1       3   2 more",
        "runs outside the sandbox       0       3   3 more",
        "runs in the sandbox            3       1   2 fewer",
        "",
        "3 x  npm install  asks -> runs outside the sandbox  NEW.rules:2",
        "2 x  make deploy  runs in the sandbox -> refused    NEW.rules:3",
    ]


@pytest.mark.usefixtures("session")
def test_new_rules_may_replace_the_users_own(tried: Call, home: Path) -> None:
    gone = f"without {home}/rules/default.rules:1"
    assert lines_of(tried("--replace"))[-4:] == [
        "3 x  npm install           asks -> runs outside the sandbox  NEW.rules:2",
        f"2 x  git push origin main  asks -> runs in the sandbox       {gone}",
        "2 x  make deploy           runs in the sandbox -> refused    NEW.rules:3",
        f"1 x  git push origin main  refused -> runs in the sandbox    {gone}",
    ]


@pytest.mark.usefixtures("session")
def test_policy_can_be_set_for_all(tried: Call) -> None:
    told = json.loads(tried("--json", "-a", "never").out)
    # What asks to leave the sandbox is refused before any rule is looked at.
    assert told["before"] == {"in-sandbox": 3, "outside": 0, "no-sandbox": 0, "asks": 0, "refused": 6}
    assert [change["command"] for change in told["changes"]] == [["make", "deploy"]]


@pytest.mark.usefixtures("session")
def test_json(tried: Call) -> None:
    told = json.loads(tried("--json").out)
    assert list(told) == [
        *("since", "sessions", "leftOut", "commands", "distinct", "before", "after"),
        *("promptsSaved", "promptsAdded", "changes", "changesNotKept"),
    ]
    assert (told["sessions"], told["promptsSaved"], told["promptsAdded"]) == (2, 3, 0)
    assert told["changes"][0] == {
        "count": 3,
        "command": ["npm", "install"],
        "before": "asks",
        "after": "outside",
        "file": "NEW.rules",
        "line": 2,
        "removed": False,
    }


@pytest.mark.usefixtures("session")
def test_rules_that_change_nothing(tried: Call, workspace: Path) -> None:
    call = tried
    (workspace / "NEW.rules").write_text("")
    assert lines_of(call())[-1] == "Nothing would change."


@pytest.mark.parametrize(
    ("since", "commands"), [("1h", 0), ("2d", 1), ("1w", 2), ("52w", 3), ("2001-01-01", 3), ("2001-01-01T10:00", 3)]
)
def test_period(since: str, commands: int, tried: Call, home: Path) -> None:
    terms = rollouts.turn_context("t", approval_policy="on-request")
    lines = stamped([rollouts.meta(), terms])
    for days_ago in (1, 4, 90):
        lines += stamped(ran(f"make {days_ago}"), days_ago=days_ago)
    place(home, rollouts.THREAD_ID, lines)
    assert json.loads(tried("--json", "--since", since).out)["commands"] == commands


def test_without_sessions_there_is_nothing_to_try(tried: Call, home: Path) -> None:
    (line,) = lines_of(tried())
    assert line.startswith("No commands to try the rules on: no session since ")
    assert line.endswith(f" in {home} ran one.")


def test_commands_whose_terms_nobody_knows_are_left_out(tried: Call, home: Path) -> None:
    terms: list[dict[str, Any]] = [
        {"approval_policy": "sometimes"},
        {"approval_policy": {"reject": {}}},
        {"approval_policy": "never", "sandbox_policy": {"type": "soft"}},
        {"approval_policy": "never", "sandbox_policy": None},
        {"approval_policy": "never", "cwd": "here"},
        {"approval_policy": "never", "sandbox_policy": {"mode": "read-only"}},
    ]
    lines = [rollouts.meta()]
    for number, each in enumerate(terms):
        lines += [rollouts.turn_context(str(number), **each), *ran(f"make {number}")]
    place(home, rollouts.THREAD_ID, stamped(lines))
    told = json.loads(tried("--json").out)
    assert (told["commands"], told["leftOut"]) == (1, 5)
    assert "5 commands left out: " in tried().out


def test_directory_whose_rules_cannot_be_used_is_left_out_and_named(tried: Call, home: Path, workspace: Path) -> None:
    project = workspace / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".codex" / "rules").mkdir(parents=True)
    (project / ".codex" / "rules" / "p.rules").write_text('prefix_rule(["a"], "nope")\n')
    (home / "config.toml").write_text(f'[projects."{project}"]\ntrust_level = "trusted"\n')
    terms = rollouts.turn_context("t", cwd=str(project))
    place(home, rollouts.THREAD_ID, stamped([rollouts.meta(), terms, *ran("make")]))
    ended = tried("--json")
    assert (ended.code, json.loads(ended.out)["leftOut"]) == (0, 1)
    assert ended.err.startswith(f"warning: the commands of {project} are left out: ")


@pytest.mark.parametrize("left", ["", "/gone", "/gone" * 1000, "/\0"])
def test_directory_that_is_gone_has_the_rules_of_what_is_left(
    left: str, tried: Call, home: Path, workspace: Path
) -> None:
    (workspace / ".git").mkdir()
    (workspace / ".codex" / "rules").mkdir(parents=True)
    (workspace / ".codex" / "rules" / "p.rules").write_text('prefix_rule(["make"], "prompt")\n')
    (home / "config.toml").write_text(f'[projects."{workspace}"]\ntrust_level = "trusted"\n')
    terms = rollouts.turn_context("t", approval_policy="on-request", cwd=f"{workspace}{left}")
    place(home, rollouts.THREAD_ID, stamped([rollouts.meta(), terms, *ran("make x")]))
    told = json.loads(tried("--json").out)
    assert (told["before"]["asks"], told["leftOut"]) == (1, 0)


def test_new_rules_that_cannot_be_used_are_told_as_execpolicy_tells_them(
    tried: Call, pycodex: Call, workspace: Path
) -> None:
    (workspace / "NEW.rules").write_text('prefix_rule(["a"], decision="nope")\n')
    ended = tried()
    assert ended == pycodex("execpolicy", "check", "-r", "NEW.rules", "x")
    assert ended.code == 1
    assert " --> NEW.rules:1:1" in ended.err


def test_own_rules_that_cannot_be_used_end_it(tried: Call, home: Path) -> None:
    path = home / "rules" / "default.rules"
    path.write_text('prefix_rule(["a"], decision="nope")\n')
    ended = tried()
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"Error loading rules:\n{path}:1: error: invalid decision: nope")


@pytest.mark.usefixtures("session")
def test_no_session_is_written_or_changed(tried: Call, home: Path) -> None:
    def files() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in (home / "sessions").rglob("*.jsonl")}

    before = files()
    tried()
    assert files() == before


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Place]:
    with open_place(tmp_path) as opened:
        yield opened


async def test_session_of_our_own_is_understood(engine: Place) -> None:
    async with serve_script([Reply(parts=run("echo one && touch x")), Reply(parts=run("rm -rf y"))]) as server:
        engine.point_at(server.base_url)
        assert (await run_exec(engine, "go")).code == 0
    rules = engine.workspace / "NEW.rules"
    rules.write_text('prefix_rule(["echo"], "forbidden")\n')
    ended = run_cli("policy", "test", "--json", str(rules), cwd=engine.workspace, env=engine.env)
    told = json.loads(ended.out)
    assert (ended.code, ended.err, told["sessions"], told["commands"]) == (0, "", 1, 2)
    assert (told["before"]["in-sandbox"], told["before"]["refused"], told["after"]["refused"]) == (1, 1, 2)
    (change,) = told["changes"]
    assert (change["command"][2], change["file"], change["line"]) == ("echo one && touch x", str(rules), 1)


@pytest.mark.parametrize(("is_late", "said"), [(True, b"\r1 of 2 sessions\r2 of 2 sessions\r\x1b[K"), (False, b"")])
def test_progress_is_told_on_a_terminal_when_it_takes_longer(
    is_late: bool, said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    master, terminal = os.openpty()
    monkeypatch.setattr(policy_test, "STDERR", terminal)
    monkeypatch.setattr(policy_test, "_QUIET_SECONDS", 0 if is_late else 3600)
    monkeypatch.setattr(policy_test, "_BETWEEN_SECONDS", 0)
    with policy_test.Progress(2) as progress:
        progress.one_more()
        progress.one_more()
    # Whatever was written lies before this.
    os.write(terminal, b".")
    shown = b""
    while not shown.endswith(b"."):
        shown += os.read(master, 1000)
    os.close(terminal)
    os.close(master)
    assert shown == said + b"."
