"""What the beginning of a session file tells of it, for lists.

Owns how far is read: the first lines only, whatever the file's size. Gives the head of the session and what the person
first said, or nothing if the file is not worth listing.
"""

import itertools

from pycodex.protocol.items import known_item, texts_of
from pycodex.protocol.rollout import RESPONSE_ITEM, SESSION_META, SessionMeta, decode, plain_event
from pycodex.protocol.user_turns import is_user_turn
from pycodex.supervisor.rollout.lines import forwards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pycodex.protocol.rollout import RolloutLine

# Where the head must be, and how much further the first message may be once it was seen.
HEAD_LINES = 10
MESSAGE_LINES = 200
# Longer ones, such as pictures, are passed over: the text of a first message is short.
MAX_HEAD_LINE_BYTES = 16 << 20
REQUEST_MARK = "## My request for Codex:"


class Head:
    __slots__ = ("first_message", "meta")

    def __init__(self, meta: SessionMeta, first_message: str) -> None:
        self.meta = meta
        self.first_message = first_message

    @property
    def preview(self) -> str:
        return _without_preface(self.first_message)


def read_head(path: str) -> Head | None:
    """None if the file cannot be read, or has no head or no message within the first lines."""
    meta: SessionMeta | None = None
    try:
        with open(path, "rb") as file:
            for number, data in enumerate(forwards(file, max_line_bytes=MAX_HEAD_LINE_BYTES)):
                if number >= HEAD_LINES + (MESSAGE_LINES if meta else 0):
                    return None
                line = decode(data)
                if line is None:
                    continue
                if meta is None and line.kind == SESSION_META:
                    meta = SessionMeta.from_payload(line.payload)
                message = _user_message(line)
                if meta is not None and message is not None:
                    return Head(meta, message)
    except OSError:
        return None
    return None


def first_words(path: str) -> str:
    """What the person first said, by the items that the model was sent; empty if that is not near the beginning."""
    try:
        with open(path, "rb") as file:
            lines = forwards(file, max_line_bytes=MAX_HEAD_LINE_BYTES)
            for data in itertools.islice(lines, HEAD_LINES + MESSAGE_LINES):
                line = decode(data)
                item = known_item(line.payload) if line is not None and line.kind == RESPONSE_ITEM else None
                if item is not None and is_user_turn(item):
                    return _without_preface("".join(texts_of(item)))
    except OSError:
        pass
    return ""


def _without_preface(message: str) -> str:
    """Without what an editor wrote in front of it."""
    _, mark, request = message.partition(REQUEST_MARK)
    return (request if mark else message).strip()


def _user_message(line: "RolloutLine") -> str | None:
    event = plain_event(line.payload) if line.event is not None else None
    if event is None or event["type"] != "user_message" or type(event.get("message")) is not str:
        return None
    text: str = event["message"]
    return text
