"""A thread that works towards a goal: what starts its turns, and what ends them."""

from pathlib import Path
from typing import Any

import pytest
import trio

from pycodex.protocol.events.error import WarningEvent
from pycodex.protocol.events.goal import (
    ACTIVE,
    BLOCKED,
    BUDGET_LIMITED,
    COMPLETE,
    PAUSED,
    USAGE_LIMITED,
    GoalCleared,
    GoalRefused,
    GoalRestored,
    GoalUpdated,
)
from pycodex.protocol.events.message import AgentMessageContentDelta, ItemCompleted
from pycodex.protocol.events.turn import TaskComplete, TaskStarted, TurnAborted
from pycodex.protocol.ops import ChangeSettings, ClearGoal, PursueGoal, SetGoal, UserTurn
from pycodex.protocol.thread_items import UserMessageItem
from pycodex.supervisor.model.scripted import Hold, Reply, Request, Until, call, refuse, say
from pycodex.supervisor.session.goals import MAX_OBJECTIVE_CHARS, MAX_TURNS_OF_TALK
from pycodex.supervisor.threads import Terms
from support.engine import Engine, Place, Talk, of_kind, open_engine, outputs, plan, said

USAGE = {
    "input_tokens": 30,
    "input_tokens_details": {"cached_tokens": 10},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 35,
}
COST = 25
"""Of one request."""


def reply(*parts: Any) -> Reply:
    return Reply(parts=[part for group in parts for part in group], usage=USAGE)


def mark(status: str, call_id: str = "mark") -> list[dict[str, Any]]:
    return call("update_goal", {"status": status}, call_id)


async def aim(talk: Talk, objective: str | None = "win", **wish: Any) -> Any:
    """Set the goal; gives the event that answers."""
    await talk.thread.submit(SetGoal(request_id="r", objective=objective, **wish))
    return await talk.until(GoalUpdated | GoalRefused, lambda event: event.request_id == "r")


async def goal_over(talk: Talk) -> Any:
    """The goal when it is no longer active, and the turn has ended."""
    event = await talk.until(GoalUpdated, lambda event: event.goal.status != ACTIVE)
    await talk.until(TaskComplete | TurnAborted)
    return of_kind(talk.events, GoalUpdated)[-1].goal.replace(status=event.goal.status)


def tools_of(engine: Engine, number: int) -> list[str]:
    return [tool.get("name", tool["type"]) for tool in engine.server.requests[number].body["tools"]]


async def test_turns_follow_each_other_until_the_model_says_that_the_goal_is_reached(place: Place) -> None:
    script = [
        reply(plan("look", call_id="p")),
        reply(say("step one")),
        reply(plan("do", call_id="q"), say("on it")),
        reply(say("step two")),
        reply(mark(COMPLETE)),
        reply(say("reached")),
    ]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        answer = await aim(talk, "  win the game ")
        assert (answer.goal.objective, answer.goal.status, answer.goal.tokens_used) == ("win the game", ACTIVE, 0)
        goal = await goal_over(talk)
        assert (goal.status, goal.tokens_used) == (COMPLETE, 6 * COST)
        assert len(of_kind(talk.events, TaskStarted)) == len(of_kind(talk.events, TaskComplete)) == 3
        shown = [event.item for event in of_kind(talk.events, ItemCompleted) if isinstance(event.item, UserMessageItem)]
        assert [item.content[0]["text"] for item in shown] == ["win the game"]
        assert said(engine.inputs[-1], "user").count("win the game") == 1
        notes = [text for text in said(engine.inputs[-1], "user") if "<objective>" in text]
        assert len(notes) == 3
        assert all("<objective>\nwin the game\n</objective>" in note for note in notes)
        assert f"So far: {4 * COST} tokens" in notes[2]
        assert "marked as complete" in outputs(engine.inputs[-1])["mark"]
        # The tool is gone with the goal.
        await talk.turn("thanks")
        assert "update_goal" in tools_of(engine, 0)
        assert "update_goal" not in tools_of(engine, 6)
        assert len(engine.inputs) == 7


async def test_every_change_is_told_before_the_turn_ends(place: Place) -> None:
    async with open_engine(place, [reply(mark(BLOCKED)), reply(say("I need a key"))]) as engine:
        talk = await engine.start()
        await aim(talk)
        started = await talk.until(TaskStarted)
        blocked = await talk.until(GoalUpdated)
        assert (blocked.goal.status, blocked.turn_id) == (BLOCKED, started.turn_id)
        last = await talk.until(GoalUpdated)
        assert (last.goal.tokens_used, last.turn_id) == (2 * COST, started.turn_id)
        await talk.until(TaskComplete)


async def test_interrupt_pauses_and_the_person_may_go_on(place: Place) -> None:
    script = [Reply(parts=[*say("half a sen")[:2], Hold()]), reply(mark(COMPLETE)), reply(say("ok"))]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        await aim(talk)
        await talk.until(AgentMessageContentDelta)
        await talk.interrupt()
        assert (await goal_over(talk)).status == PAUSED
        assert (await aim(talk, None, status=ACTIVE)).goal.status == ACTIVE
        assert (await goal_over(talk)).status == COMPLETE
        # The objective was said once.
        assert said(engine.inputs[-1], "user").count("win") == 1


async def test_budget_ends_it_after_a_word_to_the_model(place: Place) -> None:
    script = [reply(plan("a")), reply(plan("b")), reply(say("left in order")), reply(mark(COMPLETE))]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        assert (await aim(talk, token_budget=2 * COST)).goal.token_budget == 2 * COST
        goal = await goal_over(talk)
        assert (goal.status, goal.tokens_used) == (BUDGET_LIMITED, 3 * COST)
        note, objective, warning = said(engine.inputs[2], "user")[-3:]
        assert "used up" in warning
        assert objective == "win"
        assert f"So far: 0 of {2 * COST} tokens" in note
        assert len(engine.inputs) == 3
        # Without more of it the goal does not go on.
        assert (await aim(talk, None, status=ACTIVE)).goal.status == BUDGET_LIMITED
        more = await aim(talk, None, status=ACTIVE, lifts_budget=True)
        assert (more.goal.status, more.goal.token_budget) == (ACTIVE, None)
        assert (await goal_over(talk)).status == COMPLETE


@pytest.mark.parametrize(
    ("failing", "status"),
    [
        (refuse(429, "enough", type="usage_limit_reached"), USAGE_LIMITED),
        (refuse(400, "odd"), BLOCKED),
    ],
)
async def test_turn_that_fails_ends_it(place: Place, failing: Reply, status: str) -> None:
    async with open_engine(place, [failing]) as engine:
        talk = await engine.start()
        await aim(talk)
        assert (await goal_over(talk)).status == status
        await talk.turn("still there?")
        assert len(engine.inputs) == 2


async def test_model_that_repeats_itself_is_stopped(place: Place) -> None:
    async with open_engine(place, lambda _request: reply(say("working on it"))) as engine:
        talk = await engine.start()
        await aim(talk)
        assert (await goal_over(talk)).status == BLOCKED
        assert len(of_kind(talk.events, TaskStarted)) == 3
        assert any("without doing anything" in event.message for event in of_kind(talk.events, WarningEvent))


async def test_model_that_only_talks_is_stopped(place: Place) -> None:
    def talking(_request: Request) -> Reply:
        return reply(say(f"thought {len(engine.inputs)}"))

    async with open_engine(place, talking) as engine:
        talk = await engine.start()
        await aim(talk)
        assert (await goal_over(talk)).status == BLOCKED
        assert len(of_kind(talk.events, TaskStarted)) == MAX_TURNS_OF_TALK


async def test_bug_in_a_turn_ends_it(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_engine(place, []) as engine:
        talk = await engine.start()
        monkeypatch.setattr("pycodex.supervisor.session.session.RegularTurn", None)
        await aim(talk)
        assert (await goal_over(talk)).status == BLOCKED


async def test_goal_that_is_set_during_a_turn_begins_after_it(place: Place) -> None:
    go = trio.Event()
    script = [Reply(parts=[*say("hi"), Until(go)], usage=USAGE), reply(mark(COMPLETE)), reply(say("done"))]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        first = await talk.say("hello")
        await talk.until(AgentMessageContentDelta)
        await aim(talk)
        go.set()
        assert (await talk.until(TaskComplete)).turn_id == first
        assert (await goal_over(talk)).status == COMPLETE
        hello, note, objective = said(engine.inputs[1], "user")[-3:]
        assert (hello, objective) == ("hello", "win")
        assert "<objective>\nwin\n</objective>" in note


async def test_cleared_goal_lets_the_turn_end(place: Place) -> None:
    go = trio.Event()
    async with open_engine(place, [Reply(parts=[*mark(COMPLETE), Until(go)]), reply(say("fine"))]) as engine:
        talk = await engine.start()
        await aim(talk)
        await talk.until(GoalUpdated, lambda event: event.goal.status == COMPLETE)
        await talk.thread.submit(ClearGoal(request_id="c"))
        assert (await talk.until(GoalCleared)).request_id == "c"
        go.set()
        await talk.until(TaskComplete)
        await talk.thread.submit(ClearGoal(request_id="again"))
        assert (await talk.until(GoalRefused)).request_id == "again"
        assert len(engine.inputs) == 2


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"objective": None, "status": PAUSED}, "no goal exists"),
        ({"objective": " \n"}, "goal objective must not be empty"),
        ({"objective": "x" * (MAX_OBJECTIVE_CHARS + 1)}, f"at most {MAX_OBJECTIVE_CHARS} characters"),
        ({"token_budget": 0}, "goal budgets must be positive when provided"),
    ],
)
async def test_goal_that_cannot_be_is_refused(place: Place, wish: dict[str, Any], message: str) -> None:
    async with open_engine(place, []) as engine:
        talk = await engine.start()
        answer = await aim(talk, **wish)
        assert isinstance(answer, GoalRefused)
        assert message in answer.message


async def test_same_objective_is_the_same_goal_until_it_is_complete(place: Place) -> None:
    async with open_engine(place, [reply(say("one"), mark(COMPLETE)), reply(say("two"))]) as engine:
        talk = await engine.start()
        await aim(talk, status=PAUSED, token_budget=1000)
        again = await aim(talk)
        assert again.goal.token_budget == 1000
        await goal_over(talk)
        anew = await aim(talk, status=PAUSED)
        assert (anew.goal.tokens_used, anew.goal.token_budget) == (0, None)


async def test_model_cannot_mark_what_is_paused(place: Place) -> None:
    go = trio.Event()
    script = [Reply(parts=[*say("hm"), Until(go), *mark(COMPLETE)]), reply(say("oh"))]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        await aim(talk)
        await talk.until(AgentMessageContentDelta)
        await aim(talk, None, status=PAUSED)
        go.set()
        await talk.until(TaskComplete)
        assert outputs(engine.inputs[1])["mark"] == "there is no active goal"


async def test_plan_mode_waits_for_the_person(place: Place) -> None:
    async with open_engine(place, [reply(mark(COMPLETE)), reply(say("ok"))]) as engine:
        talk = await engine.start()
        await talk.thread.submit(ChangeSettings(like=UserTurn(items=(), mode="plan")))
        await aim(talk)
        await talk.thread.submit(ChangeSettings(like=UserTurn(items=(), mode="default")))
        assert (await goal_over(talk)).status == COMPLETE
        assert len(of_kind(talk.events, TaskStarted)) == 1


async def test_interrupt_between_turns_counts_too(place: Place) -> None:
    async with open_engine(place, []) as engine:
        talk = await engine.start()
        await talk.thread.submit(ChangeSettings(like=UserTurn(items=(), mode="plan")))
        await aim(talk)
        await talk.interrupt()
        assert (await talk.until(GoalUpdated)).goal.status == PAUSED
        await talk.thread.submit(ChangeSettings(like=UserTurn(items=(), mode="default")))
        await talk.turn("hello")
        assert len(engine.inputs) == 1


async def test_closing_leaves_it_active_and_starts_nothing(place: Place) -> None:
    async with open_engine(place, [Reply(parts=[*say("half")[:2], Hold()])]) as engine:
        talk = await engine.start()
        await aim(talk)
        await talk.until(AgentMessageContentDelta)
        await talk.thread.shut_down()
        events = await talk.rest()
        assert [event.goal.status for event in of_kind(events, GoalUpdated)] == [ACTIVE]
        assert of_kind(events, TaskStarted) == []


async def resumed(engine: Engine, path: Path, *, pursues_goals: bool = True) -> Talk:
    terms = Terms(pursues_goals=pursues_goals)
    talk = await engine.talk_with(await engine.threads.resume(engine.config(), str(path), terms=terms))
    await talk.thread.submit(PursueGoal())
    return talk


async def test_goal_survives_the_end_of_the_program(place: Place) -> None:
    async with open_engine(place, [reply(plan("a"), say("one")), Reply(parts=[*say("two"), Hold()])]) as engine:
        talk = await engine.start()
        await aim(talk, token_budget=10_000)
        await talk.until(AgentMessageContentDelta, lambda event: event.delta.startswith("two"))
    (path,) = place.sessions()
    async with open_engine(place, [reply(say("no goal here"))]) as engine:
        talk = await resumed(engine, path, pursues_goals=False)
        await talk.turn("hello")
        assert len(engine.inputs) == 1
    async with open_engine(place, [reply(mark(COMPLETE)), reply(say("there"))]) as engine:
        talk = await resumed(engine, path)
        restored = await talk.until(GoalRestored)
        assert (restored.goal.objective, restored.goal.status, restored.goal.tokens_used) == ("win", ACTIVE, COST)
        goal = await goal_over(talk)
        assert (goal.status, goal.tokens_used, goal.token_budget) == (COMPLETE, 3 * COST, 10_000)
        assert said(engine.inputs[0], "user").count("win") == 1
    async with open_engine(place, []) as engine:
        talk = await resumed(engine, path)
        assert (await talk.until(GoalRestored)).goal.status == COMPLETE
        await talk.turn("and now?")
        assert len(engine.inputs) == 1


async def test_cleared_goal_and_that_of_an_origin_do_not_come_back(place: Place) -> None:
    async with open_engine(place, [reply(mark(BLOCKED)), reply(say("stuck"))]) as engine:
        talk = await engine.start()
        await aim(talk)
        await goal_over(talk)
        (path,) = place.sessions()
        fork = await engine.talk_with(
            await engine.threads.fork(engine.config(), str(path), source="exec", terms=Terms(pursues_goals=True))
        )
        await fork.turn("go")
        assert fork.thread.rollout_path is not None
        forked = Path(fork.thread.rollout_path)
        await talk.thread.submit(ClearGoal(request_id="c"))
        await talk.until(GoalCleared)
    for each in (path, forked):
        async with open_engine(place, []) as engine:
            talk = await resumed(engine, each)
            events = await talk.turn("hello")
            assert of_kind(events, GoalUpdated) == []
