"""A command is decided about, asked about, confined, run, judged and run again, in this order and whatever the tool."""

import os
import re
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from pycodex.protocol.confinement import Confinement, Limits
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.permissions import Permissions
from pycodex.supervisor.policy.approvals import Approvals
from pycodex.supervisor.policy.decision import ALLOWED_BY_RULES, APPROVED_BY_USER, LEAVES_REASON, RETRY_REASON
from pycodex.supervisor.policy.rules import PrefixRule, Rules
from pycodex.supervisor.tools.asking import Declined
from pycodex.supervisor.tools.exec_runs import run_for
from pycodex.supervisor.tools.orchestrator import LONG_SCRIPT_CHARS, Attempt, Command, NotCleared, orchestrated
from support.approvals import (
    BEGIN,
    COMPLETED,
    DECLINED,
    EXEC,
    FAILED,
    LOCAL_SHELL,
    REQUEST,
    SHELL,
    SHELL_COMMAND,
    TTY,
    WAYS,
    Desk,
    amending,
    declined_text,
    granular,
    in_order,
    let_go,
    make_fifo,
    refused_text,
    result_of,
    silent,
    thinking,
    unattended,
)
from support.orders import signal_all
from support.pools import Pools, workers_of
from support.tool_calls import FULL_ACCESS, READ_ONLY, WORKSPACE_WRITE, Bench, make_turn, open_bench
from support.waiting import eventually_async

ANY_WAY = pytest.mark.parametrize("way", WAYS)
ESCALATING = pytest.mark.parametrize("way", [SHELL, SHELL_COMMAND, EXEC, TTY])
ONE_OF_EACH = pytest.mark.parametrize("way", [SHELL, EXEC])
RETRYING = pytest.mark.parametrize(
    "policy", ["on-failure", granular(sandbox_approval=True)], ids=["on-failure", "granular"]
)

ESCALATED: dict[str, Any] = {"sandbox_permissions": "require_escalated"}
FEATURES = frozenset({"shell_tool", "unified_exec", "exec_permission_approvals"})
# It says whether it came to an end, and how often it was run.
WRITES_OUTSIDE = "echo ran >> runs; echo x > ../made && echo through"

Opened = Callable[..., AbstractAsyncContextManager[Desk]]


@pytest.fixture
def opened(real_pools: Pools, workspace: Path, home: Path) -> Opened:
    @asynccontextmanager
    async def opened(
        policy: str | dict[str, Any],
        permissions: Permissions = WORKSPACE_WRITE,
        *rules: PrefixRule,
        turn: dict[str, Any] | None = None,
        **services: Any,
    ) -> AsyncIterator[Desk]:
        made = make_turn(cwd=str(workspace), permissions=permissions, approval_policy=policy, **(turn or {}))
        approvals = Approvals(Rules(prefix_rules=rules))
        async with real_pools.open() as pool, open_bench(pool, home, made, approvals=approvals, **services) as bench:
            yield Desk(bench)

    return opened


def shown(script: str) -> str:
    return f"/bin/bash -c '{script}'"


def runs(workspace: Path) -> int:
    """How often a script has said that it ran."""
    path = workspace / "runs"
    return path.read_text().count("ran") if path.exists() else 0


# The order of things, without any tool


class Attempts:
    """What a tool was told to run in, and what came of it."""

    def __init__(self, *results: str) -> None:
        self.made: list[tuple[str, bool]] = []
        self.confinements: list[Confinement] = []
        self._results = list(results)

    def attempt(self) -> Attempt[str]:
        return Attempt(self._run, lambda result: result == "denied")

    async def _run(self, confined: Confinement, may_retry: bool) -> str:
        await trio.lowlevel.checkpoint()
        self.made.append((confined.unconfined_because, may_retry))
        self.confinements.append(confined)
        return self._results.pop(0)


@pytest.fixture
async def fake_bench(fake_pools: Pools, workspace: Path, home: Path) -> AsyncIterator[Bench]:
    turn = make_turn(cwd=str(workspace), permissions=WORKSPACE_WRITE)
    async with fake_pools.open() as pool, open_bench(pool, home, turn) as bench:
        yield bench


def wanting(bench: Bench, *argv: str) -> Command:
    return Command(argv=argv, cwd=bench.turn.cwd, call_id="c", family=EXEC)


TWICE = [("", True), (APPROVED_BY_USER, False)]


@pytest.mark.parametrize(
    ("policy", "program", "decisions", "results", "made"),
    [
        ("never", "make", [], ["denied"], [("", False)]),
        ("on-request", "make", [], ["denied"], [("", False)]),
        ("on-failure", "make", [], ["ok"], [("", True)]),
        ("on-failure", "make", ["approved"], ["denied", "ok"], TWICE),
        ("on-failure", "make", ["approved"], ["denied", "denied"], TWICE),
        ("on-failure", "allowed", [], ["denied"], [(ALLOWED_BY_RULES, False)]),
        ("untrusted", "make", ["approved", "approved"], ["denied", "ok"], TWICE),
        ("untrusted", "make", ["approved"], ["ok"], [("", True)]),
        ("untrusted", "ls", ["approved"], ["denied", "ok"], TWICE),
        (granular(rules=True), "make", [], ["denied"], [("", False)]),
    ],
)
async def test_attempts_are_made_under_the_terms_that_were_agreed_on(
    fake_bench: Bench,
    *,
    policy: str | dict[str, Any],
    program: str,
    decisions: list[object],
    results: list[str],
    made: list[tuple[str, bool]],
) -> None:
    bench, attempts = fake_bench, Attempts(*results)
    bench.turn = replace(bench.turn, approval_policy=policy)
    bench.services.approvals.amend(["allowed"])
    bench.decisions += decisions
    assert await orchestrated(wanting(bench, program), bench.scope, attempts.attempt()) == results[-1]
    assert attempts.made == made
    assert bench.decisions == []
    assert len(bench.told(REQUEST)) == len(decisions)


@pytest.mark.parametrize(
    ("argv", "policy", "error"),
    [
        (("rm", "-rf", "x"), "never", NotCleared),
        (("rm", "-rf", "x"), "on-request", Declined),
        (("make",), "untrusted", Declined),
        (("bash", "-lc", "make"), "untrusted", Declined),
        (("rm", "-rf", "x" * LONG_SCRIPT_CHARS), "never", NotCleared),
    ],
)
async def test_what_is_not_cleared_is_not_attempted(
    fake_bench: Bench, argv: tuple[str, ...], policy: str, error: type[Exception]
) -> None:
    attempts = Attempts()
    fake_bench.turn = replace(fake_bench.turn, approval_policy=policy)
    with pytest.raises(error) as caught:
        await orchestrated(wanting(fake_bench, *argv), fake_bench.scope, attempts.attempt())
    assert type(caught.value) is error
    assert attempts.made == []


async def test_anything_else_runs_as_the_turn_allows(fake_bench: Bench) -> None:
    attempts = Attempts("ok")
    await orchestrated(wanting(fake_bench, "make"), fake_bench.scope, attempts.attempt())
    (confined,) = attempts.confinements
    assert confined.unconfined_because == ""
    assert fake_bench.turn.cwd in {entry.path for entry in confined.entries if entry.access == "write"}


async def test_others_go_on_while_a_long_script_is_read(fake_bench: Bench) -> None:
    steps: list[str] = []

    async def other() -> None:
        await trio.lowlevel.checkpoint()
        steps.append("other")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        script = "ls; " * LONG_SCRIPT_CHARS
        await orchestrated(wanting(fake_bench, "bash", "-lc", script), fake_bench.scope, Attempts("ok").attempt())
        steps.append("run")
    assert steps == ["other", "run"]


async def test_refusal_of_the_sandbox_is_no_denial(fake_bench: Bench) -> None:
    bench = fake_bench
    bench.turn = replace(bench.turn, approval_policy="on-failure")
    shell = await bench.call("shell", command=["refuse"])
    with pytest.raises(ModelFacing) as caught:
        await run_for(wanting(bench, "refuse"), bench.scope, wait_s=30)
    assert bench.told(REQUEST) == []
    assert "no user namespaces here" in shell
    assert "so nothing was run: no user namespaces here" in str(caught.value)


# Rules


@ANY_WAY
@pytest.mark.parametrize("policy", ["never", "untrusted", "on-request"])
async def test_what_rules_allow_runs_outside_of_the_sandbox_and_nobody_is_asked(
    opened: Opened, workspace: Path, way: str, policy: str
) -> None:
    async with opened(policy, READ_ONLY, PrefixRule(program="touch")) as desk:
        code, _ = result_of(way, await desk.run(way, "touch ../made"))
        assert desk.told() == [BEGIN, COMPLETED]
    assert code == 0
    assert (workspace.parent / "made").exists()


@ANY_WAY
async def test_rule_about_one_part_of_a_script_frees_no_other(opened: Opened, workspace: Path, way: str) -> None:
    async with opened("never", WORKSPACE_WRITE, PrefixRule(program="touch")) as desk:
        code, _ = result_of(way, await desk.run(way, "touch inside && cp inside ../made"))
    assert (code, (workspace / "inside").exists()) == (1, True)
    assert not (workspace.parent / "made").exists()


@ANY_WAY
@pytest.mark.parametrize("permissions", [WORKSPACE_WRITE, FULL_ACCESS], ids=["confined", "unconfined"])
async def test_what_is_forbidden_is_not_run_and_told_in_the_manner_of_each_tool(
    opened: Opened, workspace: Path, way: str, permissions: Permissions
) -> None:
    forbids = PrefixRule(program="touch", decision="forbidden", justification="no")
    async with opened("on-request", permissions, forbids) as desk:
        answer = await desk.run(way, "touch made")
        assert desk.told() == ([] if way in (EXEC, TTY) else [BEGIN, FAILED])
        codes = [end["exit_code"] for end in desk.bench.told("exec_command_end")]
    assert answer == refused_text(way, shown("touch made"), f"`{shown('touch made')}` rejected: no")
    assert codes in ([], [-1])
    assert not (workspace / "made").exists()


@pytest.mark.parametrize("way", [SHELL, EXEC])
@pytest.mark.parametrize(
    ("policy", "script", "reason"),
    [
        ("never", "rm -rf x", "`/bin/bash -c 'rm -rf x'` rejected: blocked by policy"),
        ("never", "deploy x", "approval required by policy, but AskForApproval is set to Never"),
        (
            granular(rules=True),
            "rm -rf x",
            "approval required by policy, but AskForApproval::Granular.sandbox_approval is false",
        ),
        (
            granular(sandbox_approval=True),
            "deploy x",
            "approval required by policy rule, but AskForApproval::Granular.rules is false",
        ),
    ],
)
async def test_what_may_not_be_asked_about_is_refused(
    opened: Opened, workspace: Path, way: str, policy: str | dict[str, Any], script: str, reason: str
) -> None:
    (workspace / "x").mkdir()
    async with opened(policy, WORKSPACE_WRITE, PrefixRule(program="deploy", decision="prompt")) as desk:
        answer = await desk.run(way, script)
        assert desk.asked() == []
    assert answer == refused_text(way, shown(script), reason)
    assert (workspace / "x").exists()


async def test_rule_that_wants_a_question_is_its_reason(opened: Opened) -> None:
    asks = PrefixRule(program="touch", decision="prompt", justification="count the files")
    async with opened("on-request", WORKSPACE_WRITE, asks) as desk:
        await desk.run(EXEC, "touch made", justification="mine")
        (request,) = desk.asked()
    assert request["reason"] == "`/bin/bash -c 'touch made'` requires approval: count the files"
    assert "proposed_execpolicy_amendment" not in request


async def test_rule_does_not_hide_that_the_sandbox_would_be_left(opened: Opened) -> None:
    asks = PrefixRule(program="touch", decision="prompt", justification="count the files")
    async with opened("on-request", WORKSPACE_WRITE, asks) as desk:
        await desk.run(EXEC, "touch made", **ESCALATED, justification="mine")
        (request,) = desk.asked()
    assert request["reason"].endswith(f" requires approval: count the files {LEAVES_REASON}")


async def test_command_does_not_run_in_another_directory_than_the_person_was_asked_about(
    opened: Opened, workspace: Path
) -> None:
    (workspace / "build").mkdir()
    victim = workspace.parent / "victim"
    victim.mkdir()

    def swap() -> None:
        (workspace / "build").rename(workspace / "old")
        (workspace / "build").symlink_to(victim)

    async with opened("on-request", WORKSPACE_WRITE) as desk:
        desk.bench.decisions += ["approved"]
        scope = thinking(desk.bench, swap)
        answer = await desk.run(EXEC, "touch made", **ESCALATED, workdir="build", scope=scope)
    assert "Not a directory" in answer
    assert list(victim.iterdir()) == []


# Answers


@ANY_WAY
@pytest.mark.parametrize(
    "decision", ["approved", "approved_for_session", amending("touch")], ids=["once", "session", "rule"]
)
async def test_approved_command_is_run(opened: Opened, workspace: Path, way: str, decision: object) -> None:
    async with opened("untrusted") as desk:
        desk.bench.decisions += [decision]
        code, output = result_of(way, await desk.run(way, "touch made"))
        assert desk.told() == in_order(way, COMPLETED)
    assert (code, output) == (0, "")
    assert (workspace / "made").exists()


@ANY_WAY
@pytest.mark.parametrize(
    "decision",
    [
        "denied",
        "maybe",
        None,
        {"approved_execpolicy_amendment": {"proposed_execpolicy_amendment": ["touch", 7]}},
    ],
    ids=["no", "unknown", "nothing", "odd rule"],
)
async def test_any_other_answer_is_a_refusal(opened: Opened, workspace: Path, way: str, decision: object) -> None:
    async with opened("untrusted") as desk:
        desk.bench.decisions += [decision]
        assert await desk.run(way, "touch made") == declined_text(way, shown("touch made"))
        assert desk.told() == in_order(way, DECLINED)
        assert desk.bench.notes == []
        assert not desk.bench.interrupted.is_set()
        # It holds for this once.
        desk.forget()
        desk.bench.decisions += ["approved"]
        assert result_of(way, await desk.run(way, "touch other")) == (0, "")
    assert [(workspace / name).exists() for name in ("made", "other")] == [False, True]


@ANY_WAY
async def test_no_answer_is_a_refusal(opened: Opened, workspace: Path, way: str) -> None:
    async with opened("untrusted") as desk:
        answer = await desk.run(way, "touch made", scope=unattended(desk.bench))
        assert desk.told() == in_order(way, DECLINED)
    assert answer == declined_text(way, shown("touch made"))
    assert not (workspace / "made").exists()


@ANY_WAY
async def test_abort_ends_the_turn_after_the_end_was_told(opened: Opened, workspace: Path, way: str) -> None:
    async with opened("untrusted") as desk:
        desk.bench.decisions += ["abort"]
        await desk.stopped(way, "touch made")
        assert desk.bench.interrupted.is_set()
        assert desk.told() == in_order(way, DECLINED)
    assert not (workspace / "made").exists()


@ANY_WAY
async def test_interrupt_while_asked_runs_nothing_and_takes_the_question_back(
    opened: Opened, workspace: Path, way: str
) -> None:
    async with opened("untrusted") as desk:
        with trio.CancelScope() as turn:
            async with trio.open_nursery() as nursery:

                @nursery.start_soon
                async def interrupt() -> None:
                    await desk.bench.until_told(REQUEST)
                    turn.cancel()

                await desk.run(way, "touch made", scope=silent(desk.bench))
        assert turn.cancelled_caught
        assert desk.bench.pending.answer("call-1", "approved") is False
        assert FAILED not in desk.told()
        assert COMPLETED not in desk.told()
    assert not (workspace / "made").exists()


@ANY_WAY
async def test_end_of_a_declined_command_tells_the_command(opened: Opened, workspace: Path, way: str) -> None:
    async with opened("untrusted") as desk:
        await desk.run(way, "touch made")
        (begin,), (end,) = desk.bench.told(BEGIN), desk.bench.told("exec_command_end")
    described = {
        "call_id": "call-1",
        "turn_id": "turn-1",
        "command": ["/bin/bash", "-c", "touch made"],
        "cwd": str(workspace),
        "parsed_cmd": [{"type": "unknown", "cmd": "touch made"}],
    }
    assert begin == {**begin, **described}
    assert end == {**end, **described, "exit_code": -1, "stdout": "", "duration": {"secs": 0, "nanos": 0}}


# What is remembered


@ANY_WAY
async def test_command_allowed_for_the_session_is_not_asked_about_again_however_it_is_quoted(
    opened: Opened, workspace: Path, way: str
) -> None:
    async with opened("untrusted") as desk:
        desk.bench.decisions += ["approved_for_session"]
        await desk.run(way, "touch made")
        (workspace / "made").unlink()
        await desk.run(way, "touch   'made'")
        assert len(desk.asked()) == 1
        await desk.run(way, "touch other")
        assert len(desk.asked()) == 2
    assert [(workspace / name).exists() for name in ("made", "other")] == [True, False]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ((EXEC, {}), (EXEC, {"workdir": "sub"})),
        ((EXEC, {}), (TTY, {})),
        ((EXEC, {}), (SHELL_COMMAND, {})),
        ((SHELL, {}), (EXEC, {})),
        ((SHELL, {}), (SHELL, {"workdir": "sub"})),
    ],
    ids=["directory", "terminal", "to shells", "from shells", "directory of a shell"],
)
async def test_command_on_other_terms_is_asked_about(
    opened: Opened, workspace: Path, first: tuple[str, dict[str, Any]], then: tuple[str, dict[str, Any]]
) -> None:
    (workspace / "sub").mkdir()
    async with opened("untrusted") as desk:
        desk.bench.decisions += ["approved_for_session"]
        for way, arguments in (first, then, first):
            await desk.run(way, "touch made", **arguments)
        assert [request["call_id"] for request in desk.asked()] == ["call-1", "call-2"]


@ONE_OF_EACH
async def test_directory_is_the_same_by_any_name_and_another_once_its_name_leads_elsewhere(
    opened: Opened, workspace: Path, way: str
) -> None:
    for name in ("sub", "other"):
        (workspace / name).mkdir()
    link = workspace / "link"
    link.symlink_to("sub")
    async with opened("untrusted") as desk:
        desk.bench.decisions += ["approved_for_session"]
        for workdir in ("sub", "./sub", "link", str(workspace / "sub")):
            assert result_of(way, await desk.run(way, "touch made", workdir=workdir)) == (0, "")
        assert [request["cwd"] for request in desk.asked()] == [str(workspace / "sub")]
        link.unlink()
        link.symlink_to("other")
        await desk.run(way, "touch made", workdir="link")
        assert desk.asked()[-1]["cwd"] == str(workspace / "other")
    assert not (workspace / "other" / "made").exists()


async def test_shells_of_one_family_share_what_was_allowed(opened: Opened) -> None:
    async with opened("untrusted") as desk:
        desk.bench.decisions += ["approved_for_session"]
        for way in (SHELL, SHELL_COMMAND, LOCAL_SHELL):
            assert result_of(way, await desk.run(way, "touch made")) == (0, "")
        assert len(desk.asked()) == 1


async def test_command_allowed_in_the_sandbox_is_not_allowed_out_of_it(opened: Opened, workspace: Path) -> None:
    async with opened("on-request") as desk:
        desk.bench.decisions += ["approved_for_session"]
        await desk.run(EXEC, "rm -rf ../x")
        await desk.run(EXEC, "rm -rf ../x", **ESCALATED)
        assert len(desk.asked()) == 2


async def test_approval_for_once_is_for_once(opened: Opened) -> None:
    async with opened("untrusted") as desk:
        desk.bench.decisions += ["approved", "approved"]
        for _ in range(3):
            await desk.run(EXEC, "touch made")
        assert len(desk.asked()) == 3


# Leaving the sandbox


@ESCALATING
async def test_escalation_leaves_the_sandbox_once_it_is_approved_and_only_then(
    opened: Opened, workspace: Path, way: str
) -> None:
    outside = workspace.parent / "made"
    async with opened("on-request") as desk:
        answer = await desk.run(way, "touch ../made", **ESCALATED, justification="May I?")
        assert answer == declined_text(way, shown("touch ../made"))
        assert not outside.exists()
        desk.forget()
        desk.bench.decisions += ["approved"]
        assert result_of(way, await desk.run(way, "touch ../made", **ESCALATED, justification="May I?")) == (0, "")
        (request,) = desk.asked()
        assert (request["reason"], desk.told()) == ("May I?", in_order(way, COMPLETED))
        assert outside.exists()
        outside.unlink()
        code, _ = result_of(way, await desk.run(way, "touch ../made"))
        assert (code, outside.exists(), len(desk.asked())) == (1, False, 1)


@ESCALATING
async def test_escalation_without_a_word_from_the_model_is_told_as_such(opened: Opened, way: str) -> None:
    async with opened("on-request") as desk:
        await desk.run(way, "touch ../made", **ESCALATED)
        (request,) = desk.asked()
    assert request["reason"] == LEAVES_REASON == "Run it outside of the sandbox?"


@ESCALATING
async def test_escalation_approved_for_the_session_holds_for_escalation(
    opened: Opened, workspace: Path, way: str
) -> None:
    outside = workspace.parent / "made"
    async with opened("on-request") as desk:
        desk.bench.decisions += ["approved_for_session"]
        for _ in range(2):
            assert result_of(way, await desk.run(way, "touch ../made", **ESCALATED)) == (0, "")
            outside.unlink()
        await desk.run(way, "touch ../made")
        assert (len(desk.asked()), outside.exists()) == (1, False)


@ONE_OF_EACH
async def test_approved_danger_stays_in_the_sandbox(opened: Opened, workspace: Path, way: str) -> None:
    victim = workspace.parent / "victim"
    victim.mkdir()
    async with opened("on-request") as desk:
        desk.bench.decisions += ["approved"]
        code, _ = result_of(way, await desk.run(way, "rm -rf ../victim"))
        assert desk.told() == in_order(way, FAILED)
    assert (code, victim.exists()) == (1, True)


@ONE_OF_EACH
async def test_nothing_is_escalated_where_nothing_confines(opened: Opened, workspace: Path, way: str) -> None:
    async with opened("on-request", FULL_ACCESS) as desk:
        assert result_of(way, await desk.run(way, "touch ../made", **ESCALATED)) == (0, "")
        assert desk.told() == [BEGIN, COMPLETED]


def adding(**permissions: object) -> dict[str, Any]:
    return {"sandbox_permissions": "with_additional_permissions", "additional_permissions": permissions}


@ESCALATING
@pytest.mark.parametrize(
    ("permissions", "writable"),
    [(WORKSPACE_WRITE, ["ws", "named"]), (READ_ONLY, ["named"])],
    ids=["workspace-write", "read-only"],
)
async def test_additional_permission_opens_the_path_that_it_names_and_nothing_else(
    opened: Opened, workspace: Path, way: str, permissions: Permissions, writable: list[str]
) -> None:
    folders = [workspace.parent / name for name in ("ws", "named", "beside", "ws/.git")]
    for folder in folders[1:]:
        folder.mkdir()
    script = "for d in . ../named ../beside .git; do touch $d/made; done; echo $CODEX_SANDBOX_NETWORK_DISABLED"
    extra = adding(file_system={"write": ["../named"]})

    def written() -> list[str]:
        return [folder.name for folder in folders if (folder / "made").exists()]

    async with opened("on-request", permissions, turn={"features": FEATURES}) as desk:
        assert await desk.run(way, script, **extra) == declined_text(way, shown(script))
        assert written() == []
        desk.bench.decisions += ["approved"]
        _, output = result_of(way, await desk.run(way, script, **extra))
        assert desk.asked()[-1]["available_decisions"] == ["approved", "abort"]
        assert written() == writable
        assert "1" in output.splitlines()
        # It was for that once.
        (workspace.parent / "named" / "made").unlink()
        await desk.run(way, script)
        assert "named" not in written()


@ONE_OF_EACH
async def test_additional_permission_for_the_session_is_for_the_paths_that_were_named(
    opened: Opened, workspace: Path, way: str
) -> None:
    for name in ("one", "two"):
        (workspace.parent / name).mkdir()
    script = "touch ../one/made; touch ../two/made"
    async with opened("on-request", turn={"features": FEATURES}) as desk:
        desk.bench.decisions += ["approved_for_session"]
        for paths in (["../one"], ["../one"], ["../one", "../two"]):
            await desk.run(way, script, **adding(file_system={"write": paths}))
        await desk.run(way, script, **adding(file_system={"write": ["../one"]}, network={"enabled": True}))
        await desk.run(way, script)
        assert [request["call_id"] for request in desk.asked()] == ["call-1", "call-3", "call-4"]
    assert [(workspace.parent / name / "made").exists() for name in ("one", "two")] == [True, False]


async def test_question_tells_what_is_to_be_opened(opened: Opened, workspace: Path) -> None:
    (workspace.parent / "link").symlink_to("/usr/local")
    extra = adding(file_system={"write": ["../named", "../link"]}, network={"enabled": True})
    async with opened("on-request", turn={"features": FEATURES}) as desk:
        await desk.run(EXEC, "make", **extra, justification="Please.")
        (request,) = desk.asked()
    paths = [f"{workspace.parent}/named", "/usr/local"]
    assert request["additional_permissions"]["network"] == {"enabled": True}
    assert request["additional_permissions"]["file_system"]["write"] == paths
    assert request["reason"].endswith(" Please.")
    assert all(path in request["reason"] for path in (*paths, "network"))


@pytest.fixture
def port() -> Iterator[int]:
    """Somebody listens there."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@ONE_OF_EACH
@pytest.mark.parametrize("permissions", [WORKSPACE_WRITE, READ_ONLY], ids=["workspace-write", "read-only"])
async def test_network_is_there_if_it_was_asked_for(
    opened: Opened, workspace: Path, port: int, way: str, permissions: Permissions
) -> None:
    script = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected; touch ../made"
    async with opened("on-request", permissions, turn={"features": FEATURES}) as desk:
        desk.bench.decisions += ["approved", "approved"]
        found = []
        for extra in ({"file_system": {"write": ["elsewhere"]}}, {"network": {"enabled": True}}):
            _, output = result_of(way, await desk.run(way, script, **adding(**extra)))
            found.append("connected" in output)
        assert len(desk.asked()) == 2
    assert found == [False, True]
    assert not (workspace.parent / "made").exists()


# What the sandbox stopped


@ANY_WAY
@RETRYING
async def test_what_the_sandbox_stopped_is_run_again_without_it_once_that_is_approved(
    opened: Opened, workspace: Path, way: str, policy: str | dict[str, Any]
) -> None:
    async with opened(policy) as desk:
        desk.bench.decisions += ["approved"]
        assert result_of(way, await desk.run(way, WRITES_OUTSIDE)) == (0, "through\n")
        assert desk.told() == [BEGIN, REQUEST, COMPLETED]
        (request,) = desk.asked()
        (end,) = desk.bench.told("exec_command_end")
    assert request["reason"] == RETRY_REASON == "command failed; retry without sandbox?"
    assert end["aggregated_output"].replace("\r\n", "\n") == "through\n"
    assert ((workspace.parent / "made").exists(), runs(workspace)) == (True, 2)


@ANY_WAY
@pytest.mark.parametrize("policy", ["on-failure", granular(sandbox_approval=True)], ids=["on-failure", "granular"])
async def test_what_shall_not_be_run_again_was_rejected(
    opened: Opened, workspace: Path, way: str, policy: str | dict[str, Any]
) -> None:
    async with opened(policy) as desk:
        answer = await desk.run(way, WRITES_OUTSIDE)
        assert desk.told() == [BEGIN, REQUEST, DECLINED]
    assert answer == declined_text(way, shown(WRITES_OUTSIDE))
    assert ((workspace.parent / "made").exists(), runs(workspace)) == (False, 1)


@ANY_WAY
async def test_abort_of_another_run_ends_the_turn_after_the_end_was_told(
    opened: Opened, workspace: Path, way: str
) -> None:
    async with opened("on-failure") as desk:
        desk.bench.decisions += ["abort"]
        await desk.stopped(way, WRITES_OUTSIDE)
        assert desk.told() == [BEGIN, REQUEST, DECLINED]
        assert desk.bench.interrupted.is_set()
    assert runs(workspace) == 1


@ANY_WAY
async def test_result_of_the_second_run_is_final(opened: Opened, workspace: Path, way: str) -> None:
    """It fails in the same words, and there is no sandbox any more that could be meant."""
    async with opened("on-failure") as desk:
        desk.bench.decisions += ["approved", "approved"]
        code, output = result_of(way, await desk.run(way, "echo ran >> runs; echo Permission denied; exit 5"))
        assert desk.told() == [BEGIN, REQUEST, FAILED]
    assert (code, output) == (5, "Permission denied\n")
    assert runs(workspace) == 2


@ANY_WAY
async def test_safe_command_that_the_sandbox_stopped_is_asked_about_where_nothing_is_trusted(
    opened: Opened, workspace: Path, way: str
) -> None:
    async with opened("untrusted") as desk:
        desk.bench.decisions += ["approved"]
        scope = thinking(desk.bench, lambda: (workspace / "sandbox").write_text("found\n"))
        assert result_of(way, await desk.run(way, "cat sandbox", scope=scope)) == (0, "found\n")
        assert desk.told() == [BEGIN, REQUEST, COMPLETED]
        assert desk.asked()[0]["reason"] == RETRY_REASON


@ANY_WAY
@pytest.mark.parametrize(
    "policy", ["never", "on-request", granular(rules=True)], ids=["never", "on-request", "granular"]
)
async def test_what_the_sandbox_stopped_stays_so_where_policy_does_not_ask(
    opened: Opened, workspace: Path, way: str, policy: str | dict[str, Any]
) -> None:
    async with opened(policy) as desk:
        code, output = result_of(way, await desk.run(way, WRITES_OUTSIDE))
        assert desk.told() == [BEGIN, FAILED]
    assert code == 1
    assert re.search("Read-only file system|Permission denied", output)
    assert runs(workspace) == 1


@ANY_WAY
@pytest.mark.parametrize("decision", ["approved", "approved_for_session"], ids=["once", "session"])
async def test_command_that_was_approved_leaves_the_sandbox_only_if_that_is_approved_too(
    opened: Opened, workspace: Path, way: str, decision: str
) -> None:
    asked = in_order(way, REQUEST)
    async with opened("untrusted") as desk:
        desk.bench.decisions += [decision]
        assert await desk.run(way, WRITES_OUTSIDE) == declined_text(way, shown(WRITES_OUTSIDE))
        assert desk.told() == [*asked, DECLINED]
        assert ((workspace.parent / "made").exists(), runs(workspace)) == (False, 1)
        desk.forget()
        desk.bench.decisions += ["approved"] * (1 if decision == "approved_for_session" else 2)
        assert result_of(way, await desk.run(way, WRITES_OUTSIDE)) == (0, "through\n")
        assert desk.told() == [*(asked if decision == "approved" else [BEGIN, REQUEST]), COMPLETED]
        assert desk.asked()[-1]["reason"] == RETRY_REASON
    assert ((workspace.parent / "made").exists(), runs(workspace)) == (True, 3)


@ONE_OF_EACH
async def test_retry_allowed_for_the_session_is_not_asked_about_again(
    opened: Opened, workspace: Path, way: str
) -> None:
    async with opened("on-failure") as desk:
        desk.bench.decisions += ["approved_for_session"]
        for _ in range(2):
            assert result_of(way, await desk.run(way, WRITES_OUTSIDE)) == (0, "through\n")
        assert desk.told() == [BEGIN, REQUEST, COMPLETED, BEGIN, COMPLETED]
    # It is still tried inside first.
    assert runs(workspace) == 4


@ONE_OF_EACH
async def test_amendment_at_a_retry_frees_the_next_command_at_once(opened: Opened, workspace: Path, way: str) -> None:
    async with opened("on-failure") as desk:
        desk.bench.decisions += [amending("touch")]
        await desk.run(way, "touch ../one")
        assert desk.asked()[0]["proposed_execpolicy_amendment"] == ["touch", "../one"]
        await desk.run(way, "touch ../two")
        assert desk.told() == [BEGIN, REQUEST, COMPLETED, BEGIN, COMPLETED]
    assert {"one", "two"} <= set(os.listdir(workspace.parent))


# What is no denial


@ANY_WAY
async def test_failure_in_other_words_is_not_asked_about(opened: Opened, way: str) -> None:
    async with opened("on-failure") as desk:
        assert result_of(way, await desk.run(way, "echo no such thing; exit 3")) == (3, "no such thing\n")
        assert result_of(way, await desk.run(way, "echo permission denied")) == (0, "permission denied\n")
        assert desk.asked() == []


@pytest.mark.parametrize("way", [SHELL, SHELL_COMMAND, LOCAL_SHELL])
async def test_timeout_is_no_denial(opened: Opened, workspace: Path, way: str) -> None:
    async with opened("on-failure") as desk:
        answer = await desk.run(way, "echo ran >> runs; echo permission denied; sleep 1000", timeout_ms=1000)
        assert result_of(way, answer)[0] == 124
        assert desk.told() == [BEGIN, FAILED]
    assert runs(workspace) == 1


@ANY_WAY
async def test_limit_is_no_denial(opened: Opened, workspace: Path, way: str) -> None:
    script = "echo ran >> runs; echo sandbox; head -c 1G /dev/zero | tail -n 1 | wc -c; sleep 1000"
    arguments: dict[str, Any] = {"timeout_ms": 20_000} if way not in (EXEC, TTY) else {"yield_time_ms": 20_000}
    async with opened("on-failure", limits=Limits(memory_bytes=64 << 20)) as desk:
        answer = await desk.run(way, script, **arguments)
        assert "Ended early" in answer
        assert desk.told() == [BEGIN, FAILED]
    assert runs(workspace) == 1


@ANY_WAY
async def test_lost_worker_is_no_denial(opened: Opened, workspace: Path, way: str) -> None:
    async with opened("on-failure") as desk, trio.open_nursery() as nursery:

        @nursery.start_soon
        async def kill_worker() -> None:
            await desk.bench.until_told("exec_command_output_delta")
            signal_all(workers_of(await desk.bench.services.pool.ready()), signal.SIGKILL)

        answer = await desk.run(way, "echo ran >> runs; echo permission denied; sleep 1000")
        assert "lost without a result" in answer
        assert desk.told() == [BEGIN, FAILED]
    assert runs(workspace) == 1


# Commands that take longer


async def test_denial_that_comes_late_is_judged_as_one_that_comes_at_once(opened: Opened, workspace: Path) -> None:
    fifo = make_fifo(workspace, "f")
    async with opened("on-failure") as desk, trio.open_nursery() as nursery:
        desk.bench.decisions += ["approved"]

        @nursery.start_soon
        async def end_both() -> None:
            await eventually_async(desk.bench.services.processes.kept, what="a process that counts as kept")
            await let_go(fifo)
            await desk.bench.until_told(REQUEST)
            await let_go(fifo)

        answer = await desk.run(EXEC, f"cat f; {WRITES_OUTSIDE}", yield_time_ms=30_000)
        assert result_of(EXEC, answer) == (0, "through\n")
        assert desk.told() == [BEGIN, REQUEST, COMPLETED]
        assert desk.bench.services.processes.kept() == ()
    assert runs(workspace) == 2


async def test_command_that_goes_on_after_its_call_is_not_run_again(opened: Opened, workspace: Path) -> None:
    fifo = make_fifo(workspace, "f")
    async with opened("on-failure") as desk:
        desk.bench.decisions += ["approved"]
        answer = await desk.run(EXEC, f"cat f; {WRITES_OUTSIDE}", yield_time_ms=250)
        assert "Process running with session ID" in answer
        await let_go(fifo)
        await desk.bench.until_told("exec_command_end")
        assert desk.told() == [BEGIN, FAILED]
    assert ((workspace.parent / "made").exists(), runs(workspace)) == (False, 1)


async def test_second_run_may_go_on_after_its_call(opened: Opened, workspace: Path) -> None:
    fifo = make_fifo(workspace, "f")
    async with opened("on-failure") as desk:
        desk.bench.decisions += ["approved"]
        answer = await desk.run(EXEC, "touch ../made || exit; cat f; echo end", yield_time_ms=1000)
        found = re.search(r"session ID (\d+)", answer)
        assert found is not None, answer
        assert [str(process.process_id) for process in desk.bench.services.processes.kept()] == [found[1]]
        await let_go(fifo)
        (end,) = await desk.bench.until_told("exec_command_end")
        assert desk.told() == [BEGIN, REQUEST, COMPLETED]
    assert end["aggregated_output"] == "end\n"
