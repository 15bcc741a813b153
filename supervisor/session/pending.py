"""Questions that were asked of a person and wait for an answer.

Owns the waiting: who asks gets the answer, or learns that none will come. Knows neither what is asked nor who answers:
the question goes out as an event, the answer comes back as an op with the same id.
"""

import outcome
import trio

from pycodex.supervisor.tools.tool import Unanswered


class _Question:
    def __init__(self) -> None:
        self.settled = trio.Event()
        self.result: outcome.Maybe[object] = outcome.Error(Unanswered("nobody answered"))


class Pending:
    def __init__(self) -> None:
        self._questions: dict[str, _Question] = {}

    async def answer_to(self, request_id: str) -> object:
        """Wait for the answer. Ask first, and without a pause in between."""
        if request_id in self._questions:
            raise ValueError(f"{request_id} waits for an answer already")
        question = self._questions[request_id] = _Question()
        try:
            await question.settled.wait()
        finally:
            del self._questions[request_id]
        return question.result.unwrap()

    def answer(self, request_id: str, value: object) -> bool:
        """False if nobody waits for it, or no more."""
        question = self._questions.get(request_id)
        if question is None or question.settled.is_set():
            return False
        question.result = outcome.Value(value)
        question.settled.set()
        return True

    def give_up(self) -> None:
        """Nobody will answer what is still open."""
        for question in self._questions.values():
            question.settled.set()
