"""Turns of a session file in the words of the app-server.

Owns the numbers of items, which run through a whole thread; calls of tools keep their own ids. Takes the events that
the file holds.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from pycodex.supervisor.frontends.app_server import items
from pycodex.supervisor.frontends.app_server.error_info import turn_error
from pycodex.supervisor.rollout import stored_turns
from pycodex.supervisor.rollout.stored_turns import StoredTurn

Json = dict[str, Any]


def told_turns(turns: Iterable[StoredTurn], *, running_turn_ids: Collection[str] = ()) -> list[Json]:
    """One that nobody works on any more, though the file does not tell its end, was interrupted."""
    reading = _Items()
    return [_told(turn, reading, is_running=turn.turn_id in running_turn_ids) for turn in turns]


def _told(turn: StoredTurn, reading: "_Items", *, is_running: bool) -> Json:
    error = turn.error
    status = turn.status
    if status == stored_turns.OPEN:
        status = items.IN_PROGRESS if is_running else stored_turns.INTERRUPTED
    return {
        "id": turn.turn_id,
        **_times(turn),
        "items": reading.of(turn.events),
        "itemsView": "full",
        "status": status,
        "error": None if error is None else turn_error(str(error.get("message", "")), error.get("codex_error_info")),
    }


def _times(turn: StoredTurn) -> Json:
    """Those that are known."""
    started_at, ended_at = moment_of(turn.started_at), moment_of(turn.ended_at)
    told: Json = {} if started_at is None else {"startedAt": int(started_at)}
    if ended_at is not None:
        told["completedAt"] = int(ended_at)
    if started_at is not None and ended_at is not None:
        told["durationMs"] = max(0, int((ended_at - started_at) * 1000))
    return told


def moment_of(timestamp: str | None) -> float | None:
    """Seconds since 1970. A file that somebody else wrote may say anything."""
    try:
        moment = datetime.fromisoformat(timestamp or "")
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


class _Items:
    def __init__(self) -> None:
        self._count = 0
        self._found: dict[str, Json] = {}

    def of(self, events: Iterable[Mapping[str, Any]]) -> list[Json]:
        self._found = {}
        for event in events:
            read = _READERS.get(event["type"])
            if read is None:
                continue
            try:
                read(self, event)
            except (KeyError, TypeError, AttributeError, ValueError):
                # Somebody else wrote it, and differently.
                continue
        return list(self._found.values())

    def add(self, item: Json) -> None:
        """One that is told again takes the place of the first."""
        self._found[item["id"]] = item

    def next_id(self) -> str:
        self._count += 1
        return f"item-{self._count}"

    def last(self, kind: str) -> Json | None:
        item = next(reversed(self._found.values()), None)
        return item if item is not None and item["type"] == kind else None


def _user_message(found: _Items, event: Mapping[str, Any]) -> None:
    content: list[Json] = []
    if event.get("message"):
        elements = event.get("text_elements") or ()
        content.append({"type": "text", "text": event["message"], "text_elements": elements})
    content += ({"type": "image", "url": url} for url in event.get("images") or ())
    content += ({"type": "local_image", "path": path} for path in event.get("local_images") or ())
    client_id = event.get("client_id")
    found.add(items.user_message(found.next_id(), content, client_id if isinstance(client_id, str) else None))


def _agent_message(found: _Items, event: Mapping[str, Any]) -> None:
    found.add(items.agent_message(found.next_id(), event["message"], event.get("phase")))


def _reasoning(part: str) -> Callable[[_Items, Mapping[str, Any]], None]:
    """Parts that follow each other are one item."""

    def read(found: _Items, event: Mapping[str, Any]) -> None:
        item = found.last("reasoning")
        if item is None:
            item = items.reasoning(found.next_id(), (), ())
            found.add(item)
        item[part].append(event["text"])

    return read


def _item_completed(found: _Items, event: Mapping[str, Any]) -> None:
    item = event["item"]
    told = items.thread_item(item) if item.get("type") == "Plan" else None
    if told is not None:
        found.add(told)


def _web_search(found: _Items, event: Mapping[str, Any]) -> None:
    found.add(items.web_search(event["call_id"], event["query"], event.get("action") or {}))


def _image_view(found: _Items, event: Mapping[str, Any]) -> None:
    found.add(items.image_view(event["call_id"], event["path"]))


def _compaction(found: _Items, _event: Mapping[str, Any]) -> None:
    found.add(items.context_compaction(found.next_id()))


_READERS: dict[str, Callable[[_Items, Mapping[str, Any]], None]] = {
    "user_message": _user_message,
    "agent_message": _agent_message,
    "agent_reasoning": _reasoning("summary"),
    "agent_reasoning_raw_content": _reasoning("content"),
    "item_completed": _item_completed,
    "web_search_end": _web_search,
    "view_image_tool_call": _image_view,
    "context_compacted": _compaction,
    "entered_review_mode": lambda found, event: found.add(items.entered_review(found.next_id(), event)),
    "exited_review_mode": lambda found, event: found.add(items.exited_review(found.next_id(), event)),
    "exec_command_end": lambda found, event: found.add(items.command(event)),
    "patch_apply_end": lambda found, event: found.add(items.file_change(event)),
    "mcp_tool_call_end": lambda found, event: found.add(items.mcp_tool_call(event)),
    "dynamic_tool_call_request": lambda found, event: found.add(items.dynamic_tool_call(event)),
    "dynamic_tool_call_response": lambda found, event: found.add(items.dynamic_tool_call(event)),
}
