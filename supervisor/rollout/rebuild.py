"""Which part of a session file still counts, and the history that it makes.

Owns the rules of taken-back turns and compactions. Takes lines from the newest to the oldest, because the newest decide
which of the older ones matter, and says when it has seen enough; then gives the history in its own order. Reads nothing
itself, and holds no more than what the history may still need.
"""

from pycodex.protocol.items import known_item
from pycodex.protocol.rollout import COMPACTED, RESPONSE_ITEM, TURN_CONTEXT, is_known_turn_context, plain_event
from pycodex.protocol.user_turns import before_last_user_turns, is_goal_note, is_user_turn
from pycodex.supervisor.text.kept_messages import compacted_history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pycodex.protocol.items import Item
    from pycodex.protocol.rollout import Payload, RolloutLine

    Baseline = dict[str, Any] | None


class _TakenBack:
    """So many turns went at this point."""

    def __init__(self, turns: int) -> None:
        self.turns = turns


class _Summarised:
    """What came before became a summary at this point, and the file does not say what was kept beside it."""

    def __init__(self, summary: str) -> None:
        self.summary = summary


class _Segment:
    """The lines of one turn, as far as they were seen."""

    def __init__(self) -> None:
        self.turn_id: str | None = None
        self.is_user_turn = False
        self.is_review = False
        self.is_baseline_set = False
        self.baseline: Baseline = None
        self.model: str | None = None
        self.base: list[Item] | None = None
        self.base_summary = ""
        self.newer_than_base = 0
        self.summaries: list[int] = []

    def set_baseline(self, baseline: "Baseline") -> None:
        """The newest word counts: a turn's settings, or None where a compaction made the model forget them."""
        if not self.is_baseline_set:
            self.is_baseline_set, self.baseline = True, baseline

    def is_compatible(self, turn_id: object) -> bool:
        return self.turn_id is None or type(turn_id) is not str or self.turn_id == turn_id

    def is_begun_by(self, turn_id: object) -> bool:
        """A review begins by the id of the reviewer's turn, and ends by its own."""
        return self.is_review or self.is_compatible(turn_id)

    def name(self, turn_id: object) -> None:
        if self.turn_id is None and type(turn_id) is str:
            self.turn_id = turn_id


class Rebuild:
    """`take` the lines, the newest first, until `is_done` or there are no more; then `finish` once."""

    def __init__(self) -> None:
        self.token_info: dict[str, Any] | None = None
        self.previous_model: str | None = None
        self.summaries: set[str] = set()
        """Texts in the person's name that are summaries of ours; complete once it is finished."""
        self._baseline: Baseline = None
        self._is_baseline_set = False
        self._base: list[Item] | None = None
        self._newest_first: list[Item | _TakenBack | _Summarised | None] = []
        self._only_user_messages = False
        self._turns_to_skip = 0
        self._segment: _Segment | None = None

    @property
    def is_done(self) -> bool:
        """Whether nothing older could change the result."""
        return (
            self._base is not None
            and self._is_baseline_set
            and self.previous_model is not None
            and self.token_info is not None
        )

    def take(self, line: "RolloutLine") -> None:
        if line.kind == RESPONSE_ITEM:
            self._take_item(line.payload)
        elif line.kind == COMPACTED:
            self._take_compaction(line.payload)
        elif line.kind == TURN_CONTEXT:
            self._take_settings(line.payload)
        elif line.event is not None:
            self._take_event(plain_event(line.payload))

    def finish(self) -> "tuple[list[Item], Baseline]":
        """The history, and the settings that the model was last told; None if it must be told all of them again."""
        self._close_segment()
        items = list(self._base or ())
        baseline = self._baseline
        for entry in reversed(self._newest_first):
            if isinstance(entry, _TakenBack):
                del items[before_last_user_turns(items, entry.turns) :]
            elif isinstance(entry, _Summarised):
                items = compacted_history(items, entry.summary, earlier_summaries=self.summaries)
                self.summaries.add(entry.summary)
                baseline = None
            elif entry is not None:
                items.append(entry)
        return items, baseline

    def _take_item(self, payload: "Payload") -> None:
        item = known_item(payload) if self._base is None else None
        if item is not None and is_goal_note(item):
            self._open_segment().is_user_turn = True
        if item is not None and (not self._only_user_messages or is_user_turn(item)):
            self._newest_first.append(item)

    def _take_compaction(self, payload: "Payload") -> None:
        summary, replacement = payload.get("message"), payload.get("replacement_history")
        if type(summary) is not str or self._base is not None:
            return
        segment = self._open_segment()
        segment.set_baseline(None)
        if segment.base is not None:
            return
        if isinstance(replacement, list):
            segment.base = [item for raw in replacement if (item := known_item(raw)) is not None]
            segment.base_summary = summary
            segment.newer_than_base = len(self._newest_first)
        else:
            segment.summaries.append(len(self._newest_first))
            self._newest_first.append(_Summarised(summary))

    def _take_settings(self, payload: "Payload") -> None:
        segment = self._open_segment()
        turn_id = payload.get("turn_id")
        segment.name(turn_id)
        if segment.is_compatible(turn_id) and is_known_turn_context(payload):
            segment.model = segment.model or payload["model"]
            segment.set_baseline(payload)

    def _take_event(self, event: "Payload") -> None:
        match event["type"]:
            case "user_message":
                self._open_segment().is_user_turn = True
            case "task_started" | "turn_started":
                if self._segment is not None and self._segment.is_begun_by(event.get("turn_id")):
                    self._close_segment()
            case "exited_review_mode":
                self._open_segment().is_review = True
            case "entered_review_mode":
                # One that ended before its reviewer began has no other beginning.
                self._close_segment()
            case "task_complete" | "turn_complete" | "turn_aborted":
                self._open_segment().name(event.get("turn_id"))
            case "token_count":
                info = event.get("info")
                if self.token_info is None and isinstance(info, dict):
                    self.token_info = info
            case "thread_rolled_back":
                turns = event.get("num_turns")
                if type(turns) is int and turns > 0:
                    self._take_back(turns)

    def _take_back(self, turns: int) -> None:
        # It happens between turns only, so what is newer begins here even if the file does not say so.
        self._close_segment()
        self._turns_to_skip += turns
        if self._base is None:
            self._newest_first.append(_TakenBack(turns))

    def _open_segment(self) -> _Segment:
        if self._segment is None:
            self._segment = _Segment()
        return self._segment

    def _close_segment(self) -> None:
        segment, self._segment = self._segment, None
        if segment is None:
            return
        if self._turns_to_skip:
            self._turns_to_skip -= segment.is_user_turn
            # What a turn that was taken back had compacted is whole again.
            for index in segment.summaries:
                self._newest_first[index] = None
            return
        if segment.base is not None and self._base is None:
            self._base = segment.base
            self.summaries.add(segment.base_summary)
            del self._newest_first[segment.newer_than_base :]
        self._only_user_messages |= bool(segment.summaries)
        if segment.is_user_turn and self.previous_model is None:
            self.previous_model = segment.model
        if not self._is_baseline_set and segment.is_baseline_set and (segment.is_user_turn or segment.baseline is None):
            self._is_baseline_set, self._baseline = True, segment.baseline
