"""Lines of a session file.

Owns their shape: one JSON object a line with a timestamp, a type and a payload, and the payload of the first line.
Takes and gives bytes; opens nothing. What a payload holds beyond that is known where it is made: items in `items`,
settings in `turn_context`, events in `events`.
"""

import json
import time
from typing import NamedTuple

from pycodex.protocol.ids import is_uuid
from pycodex.protocol.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Payload = dict[str, Any]

SESSION_META = "session_meta"
TURN_CONTEXT = "turn_context"
RESPONSE_ITEM = "response_item"
COMPACTED = "compacted"
EVENT_MSG = "event_msg"

FORMAT_VERSION = "0.116.0"
"""The version of the reference whose format this is: readers go by it."""

# What a file must tell of itself to be a session.
_META_TEXTS = ("id", "timestamp", "cwd", "originator", "cli_version")
# What a turn must tell of its settings so that those of the next can be compared with them.
_TURN_SETTINGS = ("cwd", "approval_policy", "sandbox_policy", "model", "summary")
_LINE_START = b'{"timestamp":'

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class RolloutLine(NamedTuple):
    """`kind` is the line's type; for an event, `payload["type"]` says which."""

    timestamp: str
    kind: str
    payload: "Payload"
    figures: "Payload | None" = None
    """What carrying out a call has taken. A member that only we know, beside those that everybody reads."""

    def encode(self) -> bytes:
        """One line with its end."""
        line: Payload = {"timestamp": self.timestamp, "type": self.kind, "payload": self.payload}
        if self.figures is not None:
            line["pycodex"] = self.figures
        text = _encode(line)
        # Half a surrogate pair is no character; nobody could read a line that held one.
        return text.encode("utf-8", "replace") + b"\n"

    @property
    def event(self) -> str | None:
        """The name of the event that it holds, if it holds one."""
        name = self.payload.get("type") if self.kind == EVENT_MSG else None
        return name if type(name) is str else None


class SessionMeta(Record):
    """The first line: whose file this is. `source` is a word such as `exec`, or a map for a thread within another."""

    id: "str"
    forked_from_id: "str | None" = None
    timestamp: "str"
    cwd: "str"
    originator: "str"
    cli_version: "str" = FORMAT_VERSION
    pycodex: "str | None" = None
    """The version of this program, if it wrote the file."""
    source: "str | dict[str, Any]" = "vscode"
    agent_nickname: "str | None" = None
    agent_role: "str | None" = None
    model_provider: "str | None" = None
    base_instructions: "str | None" = None
    dynamic_tools: "tuple[dict[str, Any], ...] | None" = None
    git: "dict[str, Any] | None" = None

    def to_payload(self) -> "Payload":
        payload = {name: value for name, value in self.to_plain().items() if value is not None}
        text = self.base_instructions
        # Written even when there are none; the others are left out.
        instructions = {"base_instructions": None if text is None else {"text": text}}
        after: Payload = {name: payload.pop(name) for name in ("dynamic_tools", "git") if name in payload}
        return {**payload, **instructions, **after}

    @classmethod
    def from_payload(cls, payload: "Payload") -> "SessionMeta | None":
        """What the line tells; None if it says too little to be the head of a session."""
        if not all(type(payload.get(name)) is str for name in _META_TEXTS) or not is_uuid(payload["id"]):
            return None
        values = {name: payload[name] for name in cls._fields if _is_meta_value(name, payload.get(name))}
        instructions = payload.get("base_instructions")
        text = instructions.get("text") if isinstance(instructions, dict) else None
        values["base_instructions"] = text if type(text) is str else None
        if "dynamic_tools" in values:
            values["dynamic_tools"] = tuple(values["dynamic_tools"])
        return cls(**values)


def _is_meta_value(name: str, value: object) -> bool:
    if name == "dynamic_tools":
        return isinstance(value, list)
    if name == "git":
        return isinstance(value, dict)
    return type(value) is str or (name == "source" and isinstance(value, dict))


def timestamp_of(seconds: float) -> str:
    """UTC, to the millisecond."""
    whole, milliseconds = divmod(int(seconds * 1000), 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{milliseconds:03d}Z"


def line_now(kind: str, payload: "Payload", figures: "Payload | None" = None) -> RolloutLine:
    return RolloutLine(timestamp_of(time.time()), kind, payload, figures)


def decode(data: bytes) -> RolloutLine | None:
    """The line, or None if nothing can be made of it. Accepts what others add."""
    # A file system that lost power may leave zeros behind.
    data = data.strip(b"\0 \t\r\n")
    if not data:
        return None
    line = _parsed(data)
    if line is None:
        # Half a line to which somebody appended without ending it first: the second one is whole.
        start = data.rfind(_LINE_START)
        line = _parsed(data[start:]) if start > 0 else None
    return line


def _parsed(data: bytes) -> RolloutLine | None:
    try:
        raw = json.loads(data.decode("utf-8", "replace"))
        if b"\\ud" in data or b"\\uD" in data:
            raw = json.loads(_encode(raw).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if type(raw) is not dict or type(raw.get("type")) is not str or type(raw.get("payload")) is not dict:
        return None
    timestamp, figures = raw.get("timestamp"), raw.get("pycodex")
    return RolloutLine(
        timestamp if type(timestamp) is str else "",
        raw["type"],
        raw["payload"],
        figures if type(figures) is dict else None,
    )


def is_known_turn_context(payload: "Payload") -> bool:
    """Whether the settings are told in the form that we know; later versions tell them in another."""
    return all(payload.get(name) is not None for name in _TURN_SETTINGS) and type(payload["model"]) is str


def plain_event(payload: "Payload") -> "Payload":
    """The event in the words of this format: later versions tell what was said as completed items."""
    item = payload.get("item")
    if payload.get("type") != "item_completed" or type(item) is not dict or not isinstance(item.get("content"), list):
        return payload
    parts = [part for part in item["content"] if type(part) is dict]
    text = "".join(part["text"] for part in parts if type(part.get("text")) is str)
    if item.get("type") == "AgentMessage":
        return {"type": "agent_message", "message": text, "phase": item.get("phase"), "memory_citation": None}
    if item.get("type") != "UserMessage":
        return payload
    return {
        "type": "user_message",
        "message": text,
        "images": [part["image_url"] for part in parts if type(part.get("image_url")) is str],
        "local_images": [part["path"] for part in parts if part.get("type") == "local_image" and "path" in part],
        "text_elements": [],
    }
