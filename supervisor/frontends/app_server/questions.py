"""Requests of ours that clients have not answered yet.

Owns their ids, which count through the whole life of the server, and who is waiting. The first answer counts; an answer
to nothing is ignored.
"""

from collections.abc import Container
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pycodex.protocol.jsonrpc import Failure, Response
from pycodex.supervisor.frontends.app_server.telling import Json, Question

if TYPE_CHECKING:
    from pycodex.protocol.jsonrpc import RequestId
    from pycodex.supervisor.frontends.app_server.connection import Connection


class Asker(Protocol):
    """Who waits for the answer: a thread, as a rule."""

    @property
    def followers(self) -> "Container[Connection]":
        """Those who were asked."""
        ...

    async def answered(self, asked: "Asked", message: Response | Failure) -> None: ...


@dataclass(frozen=True, slots=True)
class Asked:
    request_id: int
    question: Question
    asker: Asker

    def message(self) -> Json:
        return {"id": self.request_id, "method": self.question.method, "params": self.question.params}


class OpenQuestions:
    def __init__(self) -> None:
        self._next_id = 0
        self._open: "dict[RequestId, Asked]" = {}

    def ask(self, question: Question, asker: Asker) -> Asked:
        asked = Asked(self._next_id, question, asker)
        self._next_id += 1
        self._open[asked.request_id] = asked
        return asked

    def of(self, asker: Asker) -> list[Asked]:
        """The oldest first."""
        return [asked for asked in self._open.values() if asked.asker is asker]

    def withdraw(self, asker: Asker) -> list[Asked]:
        """Nobody waits for them any more; gives what was open."""
        gone = self.of(asker)
        for asked in gone:
            del self._open[asked.request_id]
        return gone

    async def answered(self, message: Response | Failure, connection: "Connection") -> None:
        """Only those who were asked can answer."""
        asked = self._open.get(message.id)
        if asked is not None and connection in asked.asker.followers:
            del self._open[asked.request_id]
            await asked.asker.answered(asked, message)
