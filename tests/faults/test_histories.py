"""What a thread holds in memory is what its session file says, whatever was done to it and in which order."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from pycodex.protocol.items import input_text, message, output_text, written
from pycodex.protocol.ops import Compact, InjectItems, Interrupt, Op, Review, RollBack, RunTyped, SetGoal, UserTurn
from pycodex.protocol.review import BaseBranch, Custom
from pycodex.protocol.user_input import Text
from pycodex.supervisor.context.history import History
from pycodex.supervisor.model.scripted import Hold, Reply, Request, reason, refuse, say
from pycodex.supervisor.rollout.reader import replay
from support.engine import Engine, Place, Talk, open_engine, plan, run
from support.reviews import REPORT
from support.waiting import eventually_async

LIMIT = "model_auto_compact_token_limit=4000"
MODELS = ("gpt-5.4", "gpt-5.2-codex")
FULL = {"input_tokens": 5000, "output_tokens": 100, "total_tokens": 5100}
WISHES_PER_THREAD = 12


class Model:
    """Answers by chance; `is_held` says that it keeps somebody waiting, who is then to be interrupted."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self.is_held = False
        self.answers = 0

    def __call__(self, request: Request) -> Reply:
        self.answers += 1
        chance = self._chance
        parts: list[Any] = [*say(f"answer {self.answers}")]
        if chance.random() < 0.2:
            parts = [*reason("hm"), *parts]
        if not request.body["tools"]:
            parts = [*say(f"SUMMARY {self.answers}")]
        elif "subagent" in str(dict(request.headers)).lower():
            parts = [*say(REPORT)]
        elif chance.random() < 0.4:
            call = plan("a", call_id=f"p{self.answers}") if chance.random() < 0.5 else run("true", f"c{self.answers}")
            parts = [*parts, *call]
        if chance.random() < 0.1:
            self.is_held = True
            return Reply(parts=[*parts, Hold()])
        if chance.random() < 0.1:
            return refuse(400, "cannot")
        return Reply(parts=parts, usage=FULL if chance.random() < 0.3 else {**FULL, "total_tokens": 100})


def wished(chance: Random, number: int) -> Op:
    text = f"words {number}"
    role = chance.choice(("user", "developer", "assistant"))
    part = output_text(text) if role == "assistant" else input_text(text)
    makers: tuple[tuple[int, Callable[[], Op]], ...] = (
        (6, lambda: UserTurn(items=(Text(text=text),))),
        (1, lambda: UserTurn(items=(Text(text=text),), model=chance.choice(MODELS))),
        (3, Compact),
        (1, lambda: Review(target=Custom(instructions=text))),
        (1, lambda: Review(target=BaseBranch(branch="main"))),
        (2, lambda: InjectItems(items=(message(role, [part]),))),
        (2, lambda: RollBack(turns=chance.randint(1, 3))),
        (2, Interrupt),
        (2, lambda: RunTyped(command=f"echo {number}")),
        (1, lambda: SetGoal(request_id=text, objective=text, token_budget=1)),
    )
    (make,) = chance.choices([make for _, make in makers], [weight for weight, _ in makers])
    return make()


def is_idle(talk: Talk) -> bool:
    session = talk.thread._session
    is_free = session._active is None and not session._next and not session._is_granting
    is_typing = session._typed is not None and session._typed._running
    return is_free and not is_typing and not session._inbox.statistics().current_buffer_used


async def settle(talk: Talk, model: Model) -> None:
    while True:
        await eventually_async(lambda: is_idle(talk) or model.is_held, deadline=60)
        if is_idle(talk):
            return
        model.is_held = False
        await talk.interrupt()


def check(talk: Talk) -> None:
    state = talk.thread._session.state
    turn = state.turns.turn(state.settings, turn_id="", output_schema=None)
    stored = replay(str(talk.thread.rollout_path))
    history = History()
    history.record(stored.items, turn.truncation)
    held = state.journal.history.items
    assert [dict(written(item)) for item in history.items] == [dict(written(item)) for item in held]
    assert stored.previous_model == state.previous_model
    assert stored.reference_context == state.reference_context
    assert (stored.token_info or {}).get("total_token_usage", state.usage.total.to_map()) == state.usage.total.to_map()


async def live(engine: Engine, chance: Random, model: Model) -> None:
    talk = await engine.start(LIMIT)
    # There is a file from the first turn on.
    await talk.say("first")
    await settle(talk, model)
    done: list[Op] = []
    try:
        while len(done) < WISHES_PER_THREAD:
            for _ in range(chance.randint(1, 3)):
                done.append(wished(chance, len(done)))
                await talk.thread.submit(done[-1])
            await settle(talk, model)
            check(talk)
            if chance.random() < 0.1:
                await talk.thread.shut_down()
                talk = await engine.resume(str(talk.thread.rollout_path), LIMIT)
                check(talk)
        await talk.thread.shut_down()
    except BaseException as error:
        error.add_note("\n".join(map(repr, done)))
        raise


@pytest.mark.timeout(1200)
async def test_memory_and_file_agree(place: Place, scale: Callable[[int, int], int]) -> None:
    for seed in range(scale(8, 400)):
        chance = Random(seed)
        model = Model(chance)
        async with open_engine(place, model) as engine:
            try:
                await live(engine, chance, model)
            except BaseException as error:
                error.add_note(f"seed {seed}")
                raise
