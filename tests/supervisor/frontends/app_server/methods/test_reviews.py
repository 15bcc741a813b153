"""Reviews for clients: in the thread itself or in a fork of it, and what is read of them later."""

from typing import Any

import pytest
import trio

from pycodex.protocol.review import INTERRUPTED_REPORT, NO_REPORT
from pycodex.supervisor.model.scripted import Reply, Until, reason, refuse, say
from support.app_server import Client, Json, Refused, exactly, open_app_server, statuses, text_input, told
from support.engine import Place, line_kinds, lines_of, plan, run, said
from support.marked import Mark
from support.reviews import RENDERED, REPORT
from support.waiting import eventually_async

PLUMS = {"type": "custom", "instructions": " look at the plums "}
HINT = "look at the plums"


def entered(item_id: str) -> Json:
    return {"type": "enteredReviewMode", "id": item_id, "review": HINT}


def exited(item_id: str, text: str = RENDERED) -> Json:
    return {"type": "exitedReviewMode", "id": item_id, "review": text}


async def reviewed(client: Client, thread_id: str, **params: Any) -> tuple[str, list[Json]]:
    """To its end; gives its id, and what was told after the answer."""
    answer = await client.call("review/start", threadId=thread_id, target=PLUMS, **params)
    start = len(client.heard)
    await client.until("turn/completed")
    return answer["turn"]["id"], client.heard[start:]


def items_of(messages: list[Json], method: str) -> list[Json]:
    return [message["params"]["item"] for message in messages if message.get("method") == method]


async def test_review_is_told_under_its_id_and_begins_under_that_of_the_reviewer(place: Place) -> None:
    script = [Reply(parts=[*reason("hm"), *say("First."), *run("true", "c")]), Reply(parts=say(REPORT))]
    async with open_app_server(place, script) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        answer = await client.call("review/start", threadId=thread_id, target=PLUMS)
        start = len(client.heard)
        await client.until("turn/completed")
        messages = client.heard[start:]
    turn_id = answer["turn"]["id"]
    asked = {"type": "userMessage", "id": turn_id, "content": [text_input(HINT)]}
    assert answer == {
        "turn": {"id": turn_id, "items": [asked], "status": "inProgress", "error": None},
        "reviewThreadId": thread_id,
    }
    both = ("item/started", "item/completed")
    assert told(messages) == [
        *(f"{method} enteredReviewMode" for method in both),
        "turn/started",
        *(f"{method} userMessage" for method in both),
        "item/started reasoning",
        "item/reasoning/summaryPartAdded",
        "item/reasoning/summaryTextDelta",
        "item/completed reasoning",
        *(f"{method} commandExecution" for method in both),
        *(f"{method} agentMessage" for method in both),
        *(f"{method} exitedReviewMode" for method in both),
        *(f"{method} agentMessage" for method in both),
        "turn/completed",
    ]
    assert statuses(messages) == ["active", "idle"]
    began, *others = [each["params"] for each in messages if "turn" in each["params"] or "turnId" in each["params"]]
    assert {each["turnId"] if "turnId" in each else each["turn"]["id"] for each in (began, *others[2:])} == {turn_id}
    assert others[1]["turn"]["id"] not in ("", turn_id)
    first, _, *_, last, report = items_of(messages, "item/completed")
    assert (first, last) == (entered(turn_id), exited(turn_id))
    assert (report["id"], report["text"]) == ("review_rollout_assistant", RENDERED)
    said_before = [item["text"] for item in items_of(messages, "item/completed") if item["type"] == "agentMessage"]
    assert said_before == ["First.", RENDERED]


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ({"type": "custom", "instructions": " "}, "instructions must not be empty"),
        ({"type": "baseBranch", "branch": ""}, "branch must not be empty"),
        ({"type": "commit", "sha": " "}, "sha must not be empty"),
    ],
)
async def test_empty_target_is_refused(place: Place, target: Json, text: str) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        with pytest.raises(Refused, match=exactly(text)) as refused:
            await client.call("review/start", threadId=thread_id, target=target)
        assert refused.value.code == -32600


async def test_target_that_is_too_long_is_refused(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        target = {"type": "custom", "instructions": "x" * ((1 << 20) + 1)}
        with pytest.raises(Refused, match=r"^Input exceeds the maximum length") as refused:
            await client.call("review/start", threadId=thread_id, target=target)
        assert refused.value.data == {
            "input_error_code": "input_too_large",
            "max_chars": 1 << 20,
            "actual_chars": (1 << 20) + 1,
        }


@pytest.mark.parametrize(
    ("target", "hint"),
    [
        ({"type": "uncommittedChanges"}, "current changes"),
        ({"type": "baseBranch", "branch": "main"}, "changes against 'main'"),
        ({"type": "commit", "sha": "1234567deadbeef", "title": "Polish"}, "commit 1234567: Polish"),
    ],
)
async def test_answer_says_what_is_reviewed(place: Place, target: Json, hint: str) -> None:
    async with open_app_server(place, [Reply(parts=say(REPORT))]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        answer = await client.call("review/start", threadId=thread_id, target=target)
        await client.until("turn/completed")
    assert answer["turn"]["items"][0]["content"][0]["text"] == hint


async def test_stored_review_is_one_turn(place: Place) -> None:
    script = [Reply(parts=say("hello")), Reply(parts=[*reason("hm"), *say("First."), *plan("a")])]
    async with open_app_server(place, [*script, Reply(parts=say(REPORT)), Reply(parts=say("bye"))]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await client.turn(thread_id, "hi")
        await reviewed(client, thread_id)
        await client.turn(thread_id, "and now")
        read = await client.call("thread/read", threadId=thread_id, includeTurns=True)
    _, turn, _ = read["thread"]["turns"]
    assert [(item["type"], item["id"]) for item in turn["items"]] == [
        ("enteredReviewMode", "item-3"),
        ("userMessage", "item-4"),
        ("reasoning", "item-5"),
        ("agentMessage", "item-6"),
        ("exitedReviewMode", "item-7"),
        ("agentMessage", "item-8"),
    ]
    assert turn["status"] == "completed"
    assert (turn["items"][0], turn["items"][4]) == (entered("item-3"), exited("item-7"))
    async with open_app_server(place, [Reply(parts=say("ok"))]) as scratch:
        client = await scratch.connect().hello()
        resumed = await client.call("thread/resume", threadId=thread_id)
        assert resumed["thread"]["turns"] == read["thread"]["turns"]
        await client.turn(thread_id, "go on")
        assert any(RENDERED in text for text in said(scratch.inputs[0], "user"))
        assert RENDERED in said(scratch.inputs[0], "assistant")


async def test_review_can_be_taken_back(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=say("hello")), Reply(parts=say(REPORT))]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await client.turn(thread_id, "hi")
        await reviewed(client, thread_id)
        answer = await client.call("thread/rollback", threadId=thread_id, numTurns=1)
        assert [len(turn["items"]) for turn in answer["thread"]["turns"]] == [2]
        await client.turn(thread_id, "go on")
        assert RENDERED not in said(scratch.inputs[-1], "assistant")


async def test_those_who_join_see_the_running_review(place: Place) -> None:
    go_on = trio.Event()
    script = [Reply(parts=[*run("true", "c"), Until(go_on)]), Reply(parts=say(REPORT))]
    async with open_app_server(place, script) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        answer = await client.call("review/start", threadId=thread_id, target=PLUMS)
        await client.until("item/completed", item__type="commandExecution")
        other = await scratch.connect().hello()
        (turn,) = (await other.call("thread/resume", threadId=thread_id))["thread"]["turns"]
        go_on.set()
        await client.until("turn/completed")
    assert (turn["id"], turn["status"]) == (answer["turn"]["id"], "inProgress")
    assert [item["type"] for item in turn["items"]] == ["enteredReviewMode", "userMessage", "commandExecution"]


async def test_steering_is_refused_and_what_is_asked_meanwhile_comes_next(place: Place) -> None:
    go_on = trio.Event()
    script = [Reply(parts=[*plan("a"), Until(go_on)]), Reply(parts=say(REPORT)), Reply(parts=say("done"))]
    async with open_app_server(place, script) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        answer = await client.call("review/start", threadId=thread_id, target=PLUMS)
        inner = (await client.until("turn/started"))["turn"]["id"]
        await client.until("turn/plan/updated")
        for turn_id in (answer["turn"]["id"], inner):
            with pytest.raises(Refused, match=exactly("cannot steer a review turn")):
                await client.call("turn/steer", threadId=thread_id, expectedTurnId=turn_id, input=[text_input("x")])
        later = await client.call("turn/start", threadId=thread_id, input=[text_input("later")])
        go_on.set()
        ended = [(await client.until("turn/completed"))["turn"] for _ in range(2)]
    assert [turn["id"] for turn in ended] == [answer["turn"]["id"], later["turn"]["id"]]
    assert [turn["status"] for turn in ended] == ["completed", "completed"]


@pytest.mark.parametrize("name", ["review", "inner", "current"])
async def test_interrupt_ends_the_reviewer_and_its_commands(place: Place, name: str) -> None:
    mark = Mark()
    async with open_app_server(place, [Reply(parts=[*say("First."), *run(f"sleep {mark}", "c")])]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        turn_id = (await client.call("review/start", threadId=thread_id, target=PLUMS))["turn"]["id"]
        inner = (await client.until("turn/started"))["turn"]["id"]
        await client.until("item/started", item__type="commandExecution")
        await eventually_async(mark.sleepers)
        start = len(client.heard)
        known = {"review": turn_id, "inner": inner, "current": ""}[name]
        await client.call("turn/interrupt", threadId=thread_id, turnId=known)
        ended = await client.until("turn/completed")
        messages = client.heard[start:]
        assert not mark.alive()
        read = await client.call("thread/read", threadId=thread_id, includeTurns=True)
    assert (ended["turn"]["id"], ended["turn"]["status"]) == (turn_id, "interrupted")
    assert told(messages) == [
        "item/completed commandExecution",
        *("item/started exitedReviewMode", "item/completed exitedReviewMode"),
        *("item/started agentMessage", "item/completed agentMessage"),
        *("answer", "turn/completed"),
    ]
    assert items_of(messages, "item/completed")[1:] == [
        exited(turn_id, NO_REPORT),
        {
            "type": "agentMessage",
            "id": "review_rollout_assistant",
            "text": INTERRUPTED_REPORT,
            "phase": None,
            "memoryCitation": None,
        },
    ]
    (turn,) = read["thread"]["turns"]
    assert turn["status"] == "interrupted"
    assert turn["items"][-2]["review"] == NO_REPORT


async def test_failed_review_says_why(place: Place) -> None:
    async with open_app_server(place, [refuse(400, "bad thing"), Reply(parts=say("fine"))]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        turn_id, messages = await reviewed(client, thread_id)
        turn = messages[-1]["params"]["turn"]
        assert (turn["id"], turn["status"]) == (turn_id, "failed")
        assert "bad thing" in turn["error"]["message"]
        assert statuses(messages) == ["active", "systemError"]
        assert told(await client.turn(thread_id, "go on"))[-1] == "turn/completed"


async def test_detached_review_has_a_thread_of_its_own(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=say("hello")), Reply(parts=say(REPORT))]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await client.turn(thread_id, "hi")
        answer = await client.call("review/start", threadId=thread_id, target=PLUMS, delivery="detached")
        fork_id = answer["reviewThreadId"]
        place_of_answer = next(at for at, each in enumerate(client.heard) if each.get("result") == answer)
        begun = client.heard[place_of_answer - 1]
        ended = await client.until("turn/completed")
        assert {each["params"]["threadId"] for each in client.heard[place_of_answer + 1 :]} == {fork_id}
        assert len((await client.call("thread/read", threadId=thread_id, includeTurns=True))["thread"]["turns"]) == 1
        fork = (await client.call("thread/read", threadId=fork_id, includeTurns=True))["thread"]
    assert fork_id != thread_id
    assert begun["method"] == "thread/started"
    assert (begun["params"]["thread"]["id"], begun["params"]["thread"]["preview"]) == (fork_id, "hi")
    assert (ended["threadId"], ended["turn"]["id"]) == (fork_id, answer["turn"]["id"])
    assert fork["forkedFromId"] == thread_id
    assert [turn["items"][0]["type"] for turn in fork["turns"]] == ["userMessage", "enteredReviewMode"]
    (path,) = [path for path in place.sessions() if fork_id in path.name]
    assert line_kinds(lines_of(path))[-9:] == [
        *("entered_review_mode", "task_started", "user_message", "user_message", "message:user"),
        *("exited_review_mode", "message:assistant", "agent_message", "task_complete"),
    ]


async def test_detached_review_needs_something_to_begin_with(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        with pytest.raises(Refused, match=r"^error creating detached review thread: ") as refused:
            await client.call("review/start", threadId=thread_id, target=PLUMS, delivery="detached")
        assert refused.value.code == -32603


async def test_threads_of_reviewers_are_listed_only_if_asked_for(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=say(REPORT))]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await reviewed(client, thread_id)
        assert (await client.call("thread/loaded/list"))["data"] == [thread_id]
        listed = await client.call("thread/list")
        assert [thread["id"] for thread in listed["data"]] == [thread_id]
        (reviewer,) = (await client.call("thread/list", sourceKinds=["subAgentReview"]))["data"]
    assert reviewer["source"] == {"subAgent": "review"}
