"""Questions that were asked of a person and wait for an answer.

Owns the waiting: who asks gets the answer, or learns that none will come. Knows neither what is asked nor who answers:
the question goes out as an event, the answer comes back as an op with the same id.
"""

from collections.abc import Callable

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

    async def answer_to(self, request_id: str, ask: Callable[[], None]) -> object:
        """Ask, and wait for the answer. Nothing is asked under an id that waits for another one already."""
        if request_id in self._questions:
            raise Unanswered(f"another question of the call {request_id} is open")
        question = self._questions[request_id] = _Question()
        try:
            ask()
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
