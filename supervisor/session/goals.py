"""What a thread works towards by itself: its goal, what the goal has cost so far, and whether to go on.

Owns the goal and its status. Takes wishes of the person's, the model's word, and what became of each turn; tells every
change as an event, which the session file keeps. Starts no turn: the session asks it what the next one begins with. A
thread that gets nowhere is stopped here, so that nothing goes on for ever.
"""

import time
from dataclasses import dataclass

import trio

from pycodex.protocol.errors import ModelFacing
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
    ThreadGoal,
)
from pycodex.protocol.ops import SetGoal
from pycodex.protocol.user_input import Text
from pycodex.supervisor.model.usage import UsageLedger
from pycodex.supervisor.prompts import load
from pycodex.supervisor.session.journal import Journal
from pycodex.supervisor.session.opening import Beginning, Given

MAX_OBJECTIVE_CHARS = 4000
MAX_REPEATS = 2
"""So many turns in a row without a call of a tool and without a new word end it."""
MAX_TURNS_OF_TALK = 8
"""And so many without a call, whatever is said."""

_USAGE_LIMIT = "usage_limit_exceeded"
_STUCK = "The goal is blocked: the model goes on without doing anything."


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a turn. `failure` is the word for what ended it early, if anything did."""

    called_tools: bool = False
    last_message: str | None = None
    failure: object = None


class Goals:
    """Of one thread, which has at most one goal at a time."""

    def __init__(
        self, thread_id: str, journal: Journal, usage: UsageLedger, *, stored: ThreadGoal | None = None
    ) -> None:
        self.goal = stored
        self._thread_id = thread_id
        self._journal = journal
        self._usage = usage
        self._is_new = False
        """Whether no turn has begun with its objective yet."""
        self._turn_id: str | None = None
        self._counted_from: tuple[int, float] | None = None
        """Tokens and moment up to which the running turn was counted; None: it does not count."""
        self._rest_s = 0.0
        self._progress = _Progress()

    @property
    def is_active(self) -> bool:
        return self.goal is not None and self.goal.status == ACTIVE

    def restore(self) -> None:
        """Tell what the session file has kept."""
        if self.goal is not None:
            self._journal.tell(GoalRestored(thread_id=self._thread_id, goal=self.goal))

    def beginning(self) -> Beginning | None:
        """What the next turn begins with; None: there is nothing to go on with."""
        goal = self.goal
        if goal is None or goal.status != ACTIVE:
            return None
        note = load.filled(
            "goal",
            objective=goal.objective,
            tokens=str(goal.tokens_used) if goal.token_budget is None else f"{goal.tokens_used} of {goal.token_budget}",
            seconds=str(goal.time_used_seconds),
        )
        said = Given((Text(text=goal.objective),)) if self._is_new else None
        self._is_new = False
        return Beginning(said=said, note=note)

    # What the person wants

    def set(self, wish: SetGoal) -> None:
        self._count()
        try:
            goal = self._wished(wish)
        except ValueError as error:
            self._journal.tell(GoalRefused(message=str(error), request_id=wish.request_id))
            return
        self._progress = _Progress()
        self.goal = goal
        self._counted_from = self._now() if goal.status == ACTIVE and self._turn_id is not None else None
        self._tell(request_id=wish.request_id)

    def _wished(self, wish: SetGoal) -> ThreadGoal:
        """Raises ValueError with what is wrong."""
        if wish.token_budget is not None and wish.token_budget <= 0:
            raise ValueError("goal budgets must be positive when provided")
        goal = self.goal if wish.objective is None else self._with_objective(wish.objective)
        if goal is None:
            raise ValueError(f"cannot update goal for thread {self._thread_id}: no goal exists")
        budget = None if wish.lifts_budget else wish.token_budget or goal.token_budget
        status = wish.status or (goal.status if wish.objective is None else ACTIVE)
        goal = goal.replace(status=status, token_budget=budget, updated_at=_today())
        return goal.replace(status=BUDGET_LIMITED) if goal.status == ACTIVE and _is_used_up(goal) else goal

    def _with_objective(self, text: str) -> ThreadGoal:
        """The same goal if it has that objective and is not complete; a new one counts from zero."""
        text = text.strip()
        if not text:
            raise ValueError("goal objective must not be empty")
        if len(text) > MAX_OBJECTIVE_CHARS:
            raise ValueError(
                f"goal objective must be at most {MAX_OBJECTIVE_CHARS} characters, but has {len(text)}; put longer "
                "instructions into a file and name the file in the objective"
            )
        if self.goal is not None and self.goal.objective == text and self.goal.status != COMPLETE:
            return self.goal
        self._is_new = True
        now = _today()
        return ThreadGoal(thread_id=self._thread_id, objective=text, status=ACTIVE, created_at=now, updated_at=now)

    def clear(self, request_id: str) -> None:
        if self.goal is None:
            self._journal.tell(GoalRefused(message="no goal exists", request_id=request_id))
            return
        self.goal = self._counted_from = None
        self._journal.tell(GoalCleared(thread_id=self._thread_id, request_id=request_id))

    def pause(self) -> None:
        """The person has interrupted it."""
        if self.is_active:
            self._end(PAUSED)

    # What the model says

    def mark(self, status: str, *, turn_id: str) -> None:
        """Raises ModelFacing."""
        if self.goal is None or self.goal.status not in (ACTIVE, BUDGET_LIMITED):
            raise ModelFacing("there is no active goal")
        self._count()
        self._end(status, turn_id=turn_id)

    # What becomes of turns

    def turn_began(self, turn_id: str) -> None:
        self._turn_id = turn_id
        self._counted_from = self._now() if self.is_active else None

    def spend(self) -> bool:
        """Count what the running turn has used; whether the budget has just been used up."""
        self._count()
        if self.goal is None or self.goal.status != ACTIVE or not _is_used_up(self.goal):
            return False
        self._end(BUDGET_LIMITED)
        return True

    def turn_ended(self, outcome: Outcome) -> None:
        """To be told before anybody hears that the turn has ended."""
        counted = self._leave_turn()
        status = self._status_after(outcome)
        if status is not None:
            self._end(status, turn_id=counted)
        elif counted is not None:
            self._tell(turn_id=counted)

    def turn_abandoned(self, *, by_person: bool) -> None:
        """A thread that only ends goes on with its goal when it is resumed."""
        counted = self._leave_turn()
        if by_person and self.is_active:
            self._end(PAUSED, turn_id=counted)
        elif counted is not None:
            self._tell(turn_id=counted)

    def _status_after(self, outcome: Outcome) -> str | None:
        """None: it stays as it is."""
        goal = self.goal
        if goal is None or goal.status != ACTIVE:
            return None
        if outcome.failure is not None:
            return USAGE_LIMITED if outcome.failure == _USAGE_LIMIT else BLOCKED
        if _is_used_up(goal):
            return BUDGET_LIMITED
        if self._progress.is_stuck_after(outcome):
            self._journal.tell(WarningEvent(message=_STUCK))
            return BLOCKED
        return None

    def _leave_turn(self) -> str | None:
        """Gives the turn's id if it counted."""
        turn_id = self._turn_id if self._counted_from is not None and self.goal is not None else None
        self._count()
        self._turn_id = self._counted_from = None
        return turn_id

    def _end(self, status: str, *, turn_id: str | None = None) -> None:
        if self.goal is not None:
            self.goal = self.goal.replace(status=status, updated_at=_today())
            self._tell(turn_id=turn_id or self._turn_id)

    def _tell(self, *, turn_id: str | None = None, request_id: str | None = None) -> None:
        if self.goal is not None:
            self._journal.tell(
                GoalUpdated(thread_id=self._thread_id, turn_id=turn_id, goal=self.goal, request_id=request_id)
            )

    def _now(self) -> tuple[int, float]:
        total = self._usage.total
        return max(0, total.input_tokens - total.cached_input_tokens) + total.output_tokens, trio.current_time()

    def _count(self) -> None:
        if self.goal is None or self._counted_from is None:
            return
        (tokens, moment), self._counted_from = self._counted_from, self._now()
        # A context that was too long sets the sum back.
        used = max(0, self._counted_from[0] - tokens)
        seconds, self._rest_s = divmod(self._rest_s + self._counted_from[1] - moment, 1)
        self.goal = self.goal.replace(
            tokens_used=self.goal.tokens_used + used,
            time_used_seconds=self.goal.time_used_seconds + int(seconds),
            updated_at=_today(),
        )


class _Progress:
    """Whether turns that follow each other bring anything."""

    def __init__(self) -> None:
        self._said: str | None = None
        self._repeats = 0
        self._turns_of_talk = 0

    def is_stuck_after(self, outcome: Outcome) -> bool:
        is_new = outcome.last_message is not None and outcome.last_message != self._said
        self._said = outcome.last_message
        self._turns_of_talk = 0 if outcome.called_tools else self._turns_of_talk + 1
        self._repeats = 0 if outcome.called_tools or is_new else self._repeats + 1
        return self._repeats >= MAX_REPEATS or self._turns_of_talk >= MAX_TURNS_OF_TALK


def _is_used_up(goal: ThreadGoal) -> bool:
    return goal.token_budget is not None and goal.tokens_used >= goal.token_budget


def _today() -> int:
    return int(time.time())
