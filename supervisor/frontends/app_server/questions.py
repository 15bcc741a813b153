"""Requests of ours that clients have not answered yet.

Owns their ids, which count through the whole life of the server, and who is waiting. The first answer counts; an answer
to nothing is ignored.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pycodex.protocol.jsonrpc import Failure, Response
from pycodex.supervisor.frontends.app_server.telling import Json, Question

if TYPE_CHECKING:
    from pycodex.protocol.jsonrpc import RequestId
    from pycodex.supervisor.frontends.app_server.connection import Connection
    from pycodex.supervisor.frontends.app_server.live_thread import LiveThread


@dataclass(frozen=True, slots=True)
class Asked:
    request_id: int
    question: Question
    live: "LiveThread"

    def message(self) -> Json:
        return {"id": self.request_id, "method": self.question.method, "params": self.question.params}


class OpenQuestions:
    def __init__(self) -> None:
        self._next_id = 0
        self._open: "dict[RequestId, Asked]" = {}

    def ask(self, question: Question, live: "LiveThread") -> Asked:
        asked = Asked(self._next_id, question, live)
        self._next_id += 1
        self._open[asked.request_id] = asked
        return asked

    def of(self, live: "LiveThread") -> list[Asked]:
        """The oldest first."""
        return [asked for asked in self._open.values() if asked.live is live]

    def withdraw(self, live: "LiveThread") -> list[Asked]:
        """Nobody waits for them any more; gives what was open."""
        gone = self.of(live)
        for asked in gone:
            del self._open[asked.request_id]
        return gone

    async def answered(self, message: Response | Failure, connection: "Connection") -> None:
        """Only those who were asked can answer."""
        asked = self._open.get(message.id)
        if asked is not None and connection in asked.live.followers:
            del self._open[asked.request_id]
            await asked.live.answered(asked, message)
