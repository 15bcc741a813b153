"""A question is answered once, by somebody who was asked."""

from dataclasses import dataclass, field
from typing import Any, cast

from pycodex.protocol.jsonrpc import Response
from pycodex.supervisor.frontends.app_server.connection import Connection
from pycodex.supervisor.frontends.app_server.live_thread import LiveThread
from pycodex.supervisor.frontends.app_server.questions import Asked, OpenQuestions
from pycodex.supervisor.frontends.app_server.telling import Question


@dataclass(eq=False)
class Follower:
    """Stands for a connection: only who it is counts here."""


@dataclass(eq=False)
class Thread:
    """Stands for a thread: who follows it, and what it was told."""

    followers: dict[Follower, None] = field(default_factory=dict)
    heard: list[tuple[int, object]] = field(default_factory=list)

    async def answered(self, asked: Asked, message: Any) -> None:
        self.heard.append((asked.request_id, message.result))


async def test_only_who_follows_the_thread_can_answer_and_only_once() -> None:
    follower, stranger = Follower(), Follower()
    thread = Thread(followers={follower: None})
    questions = OpenQuestions()
    question = Question(method="item/tool/requestUserInput", params={}, call_id="c", waits_on=None)
    asked = questions.ask(question, cast(LiveThread, thread))
    answer = Response(id=asked.request_id, result={"decision": "accept"})
    await questions.answered(answer, cast(Connection, stranger))
    assert (thread.heard, len(questions.of(cast(LiveThread, thread)))) == ([], 1)
    for _ in range(2):
        await questions.answered(answer, cast(Connection, follower))
    assert thread.heard == [(asked.request_id, {"decision": "accept"})]
