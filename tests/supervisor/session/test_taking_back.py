"""Turns that are taken back are forgotten, but the file keeps them."""

from pycodex.protocol.events.error import ErrorEvent
from pycodex.protocol.events.turn import ThreadRolledBack, TokenCount
from pycodex.protocol.ops import RollBack
from pycodex.supervisor.model.scripted import Hold, Reply, say
from support.engine import Place, line_kinds, open_engine, said
from support.full_disk import no_room_behind


async def test_model_sees_only_what_remains(place: Place) -> None:
    async with open_engine(place, lambda _request: Reply(parts=say("ok"))) as engine:
        talk = await engine.start()
        for text in ("one", "two"):
            await talk.turn(text)
        await talk.thread.submit(RollBack(turns=1))
        await talk.until(ThreadRolledBack)
        counted = await talk.until(TokenCount)
        assert counted.info["total_token_usage"]["total_tokens"] == 240
        await talk.turn("three")
        assert said(engine.inputs[2], "user")[-2:] == ["one", "three"]
        # Its settings are those that the first turn was told: nothing is told again.
        assert len(said(engine.inputs[2], "developer")) == 1
    kinds = line_kinds(place.lines())
    assert kinds.count("user_message") == 3
    assert kinds[kinds.index("thread_rolled_back") + 1] == "token_count"


async def test_without_any_turn_everything_is_told_again(place: Place) -> None:
    for is_ephemeral in (False, True):
        async with open_engine(place, lambda _request: Reply(parts=say("ok"))) as engine:
            talk = await engine.start(ephemeral=is_ephemeral)
            await talk.turn("one")
            await talk.thread.submit(RollBack(turns=5))
            await talk.until(ThreadRolledBack)
            await talk.turn("two")
            assert len(said(engine.inputs[1], "developer")) == 2
            assert "one" not in said(engine.inputs[1], "user")


async def test_file_that_cannot_take_the_mark_brings_nothing_back(place: Place) -> None:
    async with open_engine(place, lambda _request: Reply(parts=say("ok"))) as engine:
        talk = await engine.start()
        for text in ("one", "two"):
            await talk.turn(text)
        with no_room_behind(str(talk.thread.rollout_path)):
            await talk.thread.submit(RollBack(turns=1))
            await talk.until(TokenCount)
        await talk.turn("three")
        assert "two" not in said(engine.inputs[2], "user")
    assert "thread_rolled_back" in line_kinds(place.lines())


async def test_not_while_a_turn_runs(place: Place) -> None:
    async with open_engine(place, [Reply(parts=[*say("half"), Hold()], is_complete=False)]) as engine:
        talk = await engine.start()
        await talk.say("go")
        await talk.thread.submit(RollBack(turns=1))
        refused = await talk.until(ErrorEvent)
        assert refused.codex_error_info == "thread_rollback_failed"
