"""A review: a reviewer of its own looks at changes, and its report becomes part of this thread.

Owns the sequence, and what the model and the person are told of the report. The reviewer is a child thread that lives
as long as the task: it has other instructions, may ask nobody, and is interrupted when the review is. What it says is
untrusted text; `protocol/review` makes a report of it.
"""

from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING

import trio

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.events.error import ErrorEvent
from pycodex.protocol.events.message import AgentMessage, ItemCompleted, ItemStarted
from pycodex.protocol.events.review import EnteredReviewMode, ExitedReviewMode
from pycodex.protocol.events.turn import TaskComplete, TurnAborted
from pycodex.protocol.items import input_text, message, output_text
from pycodex.protocol.ops import UserTurn
from pycodex.protocol.review import (
    INTERRUPTED_REPORT,
    BaseBranch,
    Commit,
    Custom,
    ReviewReport,
    ReviewTarget,
    hint,
    rendered,
    report_of,
)
from pycodex.protocol.thread_items import AgentMessageItem
from pycodex.protocol.turn_context import TurnContext
from pycodex.protocol.user_input import Text
from pycodex.supervisor.prompts import load
from pycodex.supervisor.rollout.writer import RolloutUnwritable
from pycodex.supervisor.session.children import ChildTerms, ChildThread
from pycodex.supervisor.session.outbox import OutboxClosed
from pycodex.supervisor.session.state import ThreadState
from pycodex.supervisor.session.tasks.relay import Relay
from pycodex.supervisor.text.enclosed import enclosed
from pycodex.supervisor.tools.confined_git import merge_base
from pycodex.supervisor.tools.services import ToolServices

if TYPE_CHECKING:
    from pycodex.protocol.events.union import AnyEvent

REVIEW = "review"
# How clients and session files know the message that the report becomes.
_MESSAGE_ID = "review_rollout_assistant"


class ReviewTask:
    """A task of a session: `run` it once; after it was cancelled, `abandon` it."""

    kind = REVIEW

    def __init__(self, state: ThreadState, turn: TurnContext, target: ReviewTarget) -> None:
        self.turn = turn
        self._state = state
        self._target = target
        self._journal = state.journal
        self._relay = Relay(turn)
        # What is set while it runs is for what comes after it.
        self._terms = _terms(state, turn)

    async def run(self) -> None:
        self._journal.tell(
            EnteredReviewMode(
                turn_id=self.turn.turn_id, target=self._target.to_wire(), user_facing_hint=hint(self._target)
            )
        )
        try:
            self._journal.begin_file()
            self._leave(await self._report())
        except RolloutUnwritable as error:
            self._journal.tell(ErrorEvent(message=str(error), codex_error_info="other"))
        self._journal.tell(TaskComplete(turn_id=self.turn.turn_id, last_agent_message=None))

    def abandon(self) -> None:
        """Leave a consistent history behind after a cancelled `run`."""
        self._leave(None)

    async def _report(self) -> ReviewReport | None:
        """None if the reviewer came to no end, or had nothing to say."""
        asked = await prompt_for(self._target, self.turn, self._state.tools)
        try:
            async with self._state.open_child(self._terms) as reviewer:
                said = await self._answer(reviewer, asked)
        except UserFacing as error:
            self._journal.tell(ErrorEvent(message=str(error), codex_error_info="other"))
            return None
        return report_of(said) if said is not None and said.strip() else None

    async def _answer(self, reviewer: ChildThread, asked: str) -> str | None:
        try:
            await reviewer.submit(UserTurn(items=(Text(text=asked),)))
            return await self._last_words(reviewer)
        finally:
            await self._see_out(reviewer)

    async def _last_words(self, reviewer: ChildThread) -> str | None:
        while True:
            try:
                event = await reviewer.next_event()
            except OutboxClosed:
                return None
            for told in self._relay.told(event):
                self._journal.tell(told)
            if isinstance(event, TaskComplete):
                return event.last_agent_message
            if isinstance(event, TurnAborted):
                return None

    async def _see_out(self, reviewer: ChildThread) -> None:
        """To its last event. It is not waited for in vain: a thread that is told to end ends its commands, too."""
        reviewer.close()
        with trio.CancelScope(shield=True):
            while True:
                try:
                    event: AnyEvent = await reviewer.next_event()
                except OutboxClosed:
                    return
                for told in self._relay.told_at_the_end(event):
                    self._journal.tell(told)

    def _leave(self, report: ReviewReport | None) -> None:
        text = INTERRUPTED_REPORT if report is None else rendered(report)
        results = enclosed(text, "results", "user_action")
        heard = load.text("review-interrupted") if report is None else load.filled("review-results", results=results)
        journal, turn = self._journal, self.turn
        journal.record([message("user", [input_text(heard)])], turn)
        output = None if report is None else report.to_wire()
        journal.tell(ExitedReviewMode(turn_id=turn.turn_id, review_output=output))
        journal.record([message("assistant", [output_text(text)])], turn)
        shown = AgentMessageItem(id=_MESSAGE_ID, content=({"type": "Text", "text": text},))
        journal.tell(ItemStarted(thread_id=turn.thread_id, turn_id=turn.turn_id, item=shown))
        journal.tell(ItemCompleted(thread_id=turn.thread_id, turn_id=turn.turn_id, item=shown))
        journal.tell(AgentMessage(message=text))
        if report is not None:
            self._state.notifier.turn_completed(turn, journal.history.items, last_message=text)


def _terms(state: ThreadState, turn: TurnContext) -> ChildTerms:
    return ChildTerms(
        kind=REVIEW,
        settings=replace(state.settings, model=state.review_model or turn.model, approval_policy="never"),
        instructions=load.text("review"),
        service_tier=state.service_tier,
        web_search="disabled",
    )


async def prompt_for(target: ReviewTarget, turn: TurnContext, services: ToolServices) -> str:
    """What the reviewer is asked."""
    match target:
        case BaseBranch(branch=branch):
            sha = await merge_base(turn, services, branch)
            if sha is not None:
                return load.filled("review-base", branch=branch, sha=sha)
            upstream = quote(f"{branch}@{{upstream}}")
            return load.filled("review-base-unknown", branch=branch, quoted=quote(branch), upstream=upstream)
        case Commit(sha=sha, title=title):
            return load.filled("review-commit", commit=sha if title is None else f'{sha} ("{title}")')
        case Custom(instructions=instructions):
            return instructions
        case _:
            return load.text("review-uncommitted")
