"""Long session files, up to a hundred megabytes, are read beside the work of other threads."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from pycodex.protocol.events.turn import ThreadRolledBack, TokenCount
from pycodex.protocol.ops import RollBack
from pycodex.supervisor.model.scripted import Reply, say
from pycodex.supervisor.rollout.long_files import LONG_FILE_BYTES
from support import rollouts
from support.app_server import open_app_server
from support.engine import Place, open_engine
from support.rollouts import THREAD_ID, event, item, message, meta, said_by_user
from support.waiting import eventually_async


def long_session(home: Path, mebibytes: int) -> str:
    """Of one turn with many long answers, as the model was sent them."""
    lines = [
        meta(),
        event("task_started", turn_id="long", model_context_window=None),
        *said_by_user("go on and on"),
    ]
    path = rollouts.place(home, THREAD_ID, lines, "2026-03-01T10-00-00")
    more = json.dumps(item(message("assistant", "x" * (1 << 20)))) + "\n"
    with Path(path).open("a") as file:
        for _ in range(mebibytes):
            file.write(more)
        file.write(json.dumps(event("task_complete", turn_id="long", last_agent_message=None)) + "\n")
    return path


@contextmanager
def readers_held_up() -> Iterator[trio.CapacityLimiter]:
    """Nobody gets a thread to read in until this ends."""
    limiter = trio.to_thread.current_default_thread_limiter()
    borrowers = [object() for _ in range(int(limiter.available_tokens))]
    for borrower in borrowers:
        limiter.acquire_on_behalf_of_nowait(borrower)
    try:
        yield limiter
    finally:
        for borrower in borrowers:
            limiter.release_on_behalf_of(borrower)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("thread/read", {"threadId": THREAD_ID, "includeTurns": True}),
        ("thread/turns/list", {"threadId": THREAD_ID}),
        ("thread/items/list", {"threadId": THREAD_ID, "limit": 1}),
        ("thread/resume", {"threadId": THREAD_ID}),
        ("thread/goal/get", {"threadId": THREAD_ID}),
        ("thread/list", {}),
    ],
)
async def test_turn_of_another_thread_completes_while_a_long_file_is_read(
    place: Place, scale: Callable[[int, int], int], method: str, params: dict[str, Any]
) -> None:
    long_session(place.home, scale(2 * LONG_FILE_BYTES >> 20, 100))
    async with open_app_server(place, [Reply(parts=say("done meanwhile"))]) as scratch:
        reader, worker = [await scratch.connect().hello() for _ in range(2)]
        thread_id = await worker.start()
        with readers_held_up() as limiter:
            request = await reader.ask(method, **params)
            await eventually_async(lambda: limiter.statistics().tasks_waiting, what="the file is about to be read")
            await worker.turn(thread_id, "go")
            assert not any(message.get("id") == request for message in reader.heard)
        answer = await reader.answer_to(request)
        if "thread" in answer:
            (turn,) = answer["thread"]["turns"]
            assert (turn["id"], turn["status"], len(turn["items"])) == ("long", "completed", 1)


async def test_turn_of_another_thread_completes_while_turns_are_taken_back(
    place: Place, scale: Callable[[int, int], int]
) -> None:
    path = long_session(place.home, scale(2 * LONG_FILE_BYTES >> 20, 100))
    async with open_engine(place, [Reply(parts=say("done meanwhile"))]) as engine:
        talk, other = await engine.resume(path), await engine.start()
        with readers_held_up() as limiter:
            await talk.thread.submit(RollBack(turns=1))
            await eventually_async(lambda: limiter.statistics().tasks_waiting, what="the file is about to be read")
            await other.turn("go")
        await talk.until(ThreadRolledBack)
        await talk.until(TokenCount)
        assert list(talk.thread._session.state.journal.history.items) == []
