"""A question tells what it is about and what may be answered, and each answer has its effect."""

import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import trio

from pycodex.supervisor.policy.decision import Ask, Run
from pycodex.supervisor.policy.rule_files import MOST_FILE_BYTES
from pycodex.supervisor.tools.asking import Declined, ask_about_command, ask_about_patch
from support.approvals import EXEC, PATCH_REQUEST, REQUEST, Desk, amending, ending, result_of, unattended
from support.pools import Pools
from support.tool_calls import WORKSPACE_WRITE, Bench, make_turn, open_bench

CHANGES = {"/w/a.txt": {"type": "add", "content": "x\n"}}
SAVED = 'Approved command prefix saved:\n- ["touch", "a1"]'
FAILURE = "Failed to apply execpolicy amendment: "


@pytest.fixture
async def bench(fake_pools: Pools, workspace: Path, home: Path) -> AsyncIterator[Bench]:
    async with fake_pools.open() as pool, open_bench(pool, home, make_turn(cwd=str(workspace))) as opened:
        yield opened


@pytest.fixture
async def desk(real_pools: Pools, workspace: Path, home: Path) -> AsyncIterator[Desk]:
    """Everything is asked about, and runs once it is allowed."""
    turn = make_turn(cwd=str(workspace), permissions=WORKSPACE_WRITE, approval_policy="untrusted")
    async with real_pools.open() as pool, open_bench(pool, home, turn) as opened:
        yield Desk(opened)


def rules_in(home: Path) -> str:
    return (home / "rules" / "default.rules").read_text(encoding="utf-8")


async def ask(bench: Bench, *, reason: str | None = None, amendment: tuple[str, ...] | None = None) -> None:
    question = Ask(reason=reason, amendment=amendment, key="key", then=Run())
    argv = ("/bin/bash", "-lc", "cat a.txt")
    await ask_about_command(question, argv, cwd="/w", call_id="c", scope=bench.scope)


async def ask_patch(bench: Bench, *keys: str, reason: str | None = None) -> None:
    await ask_about_patch(CHANGES, reason=reason, call_id="c", keys=keys, scope=bench.scope)


# Questions


async def test_question_about_a_command_tells_all_of_it(bench: Bench) -> None:
    bench.decisions += ["approved"]
    await ask(bench, reason="why", amendment=("cat", "a.txt"))
    assert bench.told(REQUEST) == [
        {
            "type": REQUEST,
            "call_id": "c",
            "turn_id": "turn-1",
            "command": ["/bin/bash", "-lc", "cat a.txt"],
            "cwd": "/w",
            "reason": "why",
            "proposed_execpolicy_amendment": ["cat", "a.txt"],
            "available_decisions": [
                "approved",
                {"approved_execpolicy_amendment": {"proposed_execpolicy_amendment": ["cat", "a.txt"]}},
                "abort",
            ],
            "parsed_cmd": [{"type": "read", "cmd": "cat a.txt", "name": "a.txt", "path": "a.txt"}],
        }
    ]


async def test_question_tells_what_more_shall_be_allowed(bench: Bench) -> None:
    bench.decisions += ["approved"]
    extra = {"network": {"enabled": True}}
    await ask_about_command(
        Ask(then=Run()), ("make",), cwd="/w", call_id="c", scope=bench.scope, additional_permissions=extra
    )
    assert bench.told(REQUEST)[0]["additional_permissions"] == extra


async def test_question_without_a_reason_or_a_rule_names_none(bench: Bench) -> None:
    bench.decisions += ["approved"]
    await ask(bench)
    (request,) = bench.told(REQUEST)
    assert "reason" not in request
    assert "proposed_execpolicy_amendment" not in request
    assert "additional_permissions" not in request
    assert request["available_decisions"] == ["approved", "abort"]


@pytest.mark.parametrize("reason", ["why", None])
async def test_question_about_a_patch_tells_the_changes(bench: Bench, reason: str | None) -> None:
    bench.decisions += ["approved"]
    await ask_patch(bench, reason=reason)
    told = {"type": PATCH_REQUEST, "call_id": "c", "turn_id": "turn-1", "changes": CHANGES}
    assert bench.told(PATCH_REQUEST) == [told if reason is None else {**told, "reason": reason}]


# Answers


@pytest.mark.parametrize(
    ("decision", "granted"), [("approved", False), ("approved_for_session", True), (amending("cat"), False)]
)
async def test_yes_for_the_session_is_remembered(bench: Bench, decision: object, *, granted: bool) -> None:
    bench.decisions += [decision]
    await ask(bench)
    assert ("key" in bench.services.approvals) == granted


@pytest.mark.parametrize(("decision", "granted"), [("approved", False), ("approved_for_session", True)])
async def test_yes_to_a_patch_for_the_session_holds_for_each_file(
    bench: Bench, decision: object, *, granted: bool
) -> None:
    bench.decisions += [decision]
    await ask_patch(bench, "one", "two")
    assert [key in bench.services.approvals for key in ("one", "two")] == [granted, granted]


@pytest.mark.parametrize(("decision", "aborts"), [("denied", False), ("abort", True), (7, False)])
async def test_no_is_told_to_whoever_asks(bench: Bench, decision: object, *, aborts: bool) -> None:
    bench.decisions += [decision, decision]
    with pytest.raises(Declined, match=r"^rejected by user$") as about_command:
        await ask(bench)
    with pytest.raises(Declined, match=r"^rejected by user$") as about_patch:
        await ask_patch(bench, "one")
    assert (about_command.value.aborts, about_patch.value.aborts) == (aborts, aborts)
    assert "key" not in bench.services.approvals
    assert "one" not in bench.services.approvals
    # The turn ends when the asker is ready for it.
    assert not bench.interrupted.is_set()


async def test_no_answer_is_a_no(bench: Bench) -> None:
    with pytest.raises(Declined) as caught:
        await ask_about_command(Ask(then=Run()), ("make",), cwd="/w", call_id="c", scope=unattended(bench))
    assert caught.value.aborts is False


async def test_only_an_abort_takes_effect(bench: Bench) -> None:
    with trio.CancelScope() as turn:
        scope = ending(bench, turn)
        await Declined(aborts=False).take_effect(scope)
        assert not bench.interrupted.is_set()
        await Declined(aborts=True).take_effect(scope)
    assert turn.cancelled_caught
    assert bench.interrupted.is_set()


async def test_questions_are_answered_by_their_ids_and_in_any_order(bench: Bench) -> None:
    decisions = {"a": "denied", "b": "approved"}
    ended: dict[str, bool] = {}

    async def wait(call_id: str) -> None:
        try:
            await ask_about_command(Ask(then=Run()), ("make",), cwd="/w", call_id=call_id, scope=bench.scope)
            ended[call_id] = True
        except Declined:
            ended[call_id] = False

    bench.decisions += [decisions["a"], decisions["b"]]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait, "a")
        await bench.until_told(REQUEST)
        nursery.start_soon(wait, "b")
    assert ended == {"a": False, "b": True}


# Rules for good


async def test_rule_is_written_told_to_the_model_and_holds_at_once(desk: Desk, workspace: Path, home: Path) -> None:
    desk.bench.decisions += [amending("touch", "a1")]
    await desk.run(EXEC, "touch a1")
    assert rules_in(home) == 'prefix_rule(pattern=["touch", "a1"], decision="allow")\n'
    assert desk.bench.notes == [SAVED]
    assert desk.bench.told("warning") == []
    # Now it is allowed, and to be allowed is to be free of the sandbox.
    (workspace / "a1").unlink()
    await desk.run(EXEC, "touch a1 ../a2")
    assert len(desk.asked()) == 1
    assert (workspace.parent / "a2").exists()
    # Nothing else is.
    await desk.run(EXEC, "touch b")
    assert len(desk.asked()) == 2
    assert not (workspace / "b").exists()


async def test_command_whose_rule_is_written_runs_this_time_as_it_was_asked_about(
    desk: Desk, workspace: Path, home: Path
) -> None:
    desk.bench.decisions += [amending("cp")]
    (workspace / "a").write_text("x")
    assert result_of(EXEC, await desk.run(EXEC, "cp a b")) == (0, "")
    assert desk.bench.notes == ['Approved command prefix saved:\n- ["cp"]']
    assert rules_in(home) == 'prefix_rule(pattern=["cp"], decision="allow")\n'


async def test_rule_is_what_the_person_says_and_not_what_was_proposed(desk: Desk, home: Path) -> None:
    desk.bench.decisions += [amending("other", "é")]
    await desk.run(EXEC, "touch a1")
    assert desk.asked()[0]["proposed_execpolicy_amendment"] == ["touch", "a1"]
    assert rules_in(home) == 'prefix_rule(pattern=["other", "é"], decision="allow")\n'
    assert desk.bench.notes == ['Approved command prefix saved:\n- ["other", "é"]']
    await desk.run(EXEC, "touch a1")
    assert len(desk.asked()) == 2


async def test_rule_joins_those_that_are_there_and_is_not_written_twice(desk: Desk, home: Path) -> None:
    (home / "rules").mkdir()
    (home / "rules" / "default.rules").write_text('prefix_rule(pattern=["ls"])')
    desk.bench.decisions += [amending("touch", "a1"), amending("touch", "a1")]
    await desk.run(EXEC, "touch a1")
    await desk.run(EXEC, "touch a2")
    assert rules_in(home) == ('prefix_rule(pattern=["ls"])\nprefix_rule(pattern=["touch", "a1"], decision="allow")\n')
    assert desk.bench.notes == [SAVED, SAVED]


def make_a_file_of_the_folder(home: Path) -> None:
    (home / "rules").write_text("")


def make_a_link_of_the_file(home: Path) -> None:
    (home / "rules").mkdir()
    (home / "rules" / "default.rules").symlink_to(home / "elsewhere")


def fill_the_file(home: Path) -> None:
    (home / "rules").mkdir()
    (home / "rules" / "default.rules").write_text("#" * MOST_FILE_BYTES)


@pytest.mark.parametrize(
    ("spoil", "cause"),
    [
        (make_a_file_of_the_folder, "File exists"),
        (make_a_link_of_the_file, "Too many levels of symbolic links"),
        (fill_the_file, f"would become larger than {MOST_FILE_BYTES} bytes"),
    ],
)
async def test_rule_that_cannot_be_written_is_warned_about_and_the_command_runs(
    desk: Desk, workspace: Path, home: Path, spoil: Callable[[Path], None], cause: str
) -> None:
    spoil(home)
    desk.bench.decisions += [amending("touch", "a1")]
    assert result_of(EXEC, await desk.run(EXEC, "touch a1")) == (0, "")
    (warning,) = desk.bench.told("warning")
    assert warning["message"].startswith(FAILURE)
    assert cause in warning["message"]
    assert desk.bench.notes == []
    assert (workspace / "a1").exists()
    assert not (home / "elsewhere").exists()
    # What could not be kept does not hold.
    await desk.run(EXEC, "touch a1")
    assert len(desk.asked()) == 2


@pytest.mark.parametrize(
    ("words", "cause"),
    [((), "prefix rule requires at least one token"), (("\ud800",), "prefix rule is not valid Unicode")],
    ids=["none", "no text"],
)
async def test_rule_that_makes_no_sense_is_warned_about_and_the_command_runs(
    desk: Desk, workspace: Path, home: Path, words: tuple[str, ...], cause: str
) -> None:
    desk.bench.decisions += [amending(*words)]
    assert result_of(EXEC, await desk.run(EXEC, "touch a1")) == (0, "")
    assert [warning["message"] for warning in desk.bench.told("warning")] == [f"{FAILURE}{cause}"]
    assert desk.bench.notes == []
    assert (workspace / "a1").exists()
    assert not (home / "rules").exists()


async def test_rule_is_written_for_its_owner(desk: Desk, home: Path) -> None:
    desk.bench.decisions += [amending("touch")]
    await desk.run(EXEC, "touch a1")
    mode = stat.S_IMODE((home / "rules" / "default.rules").stat().st_mode)
    assert mode & 0o600 == 0o600
    assert mode & 0o111 == 0
