"""Reading session files, our own and others', whole or damaged.

Owns what a file means: its head, the history that a resumed thread goes on with, the events that a front-end shows. One
bad line never loses a session, and memory goes by what the model will see, not by the file's size. Changes nothing.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.items import CALL_KINDS, OUTPUT_KINDS, call_id_of, output_kind
from pycodex.protocol.rollout import (
    SESSION_META,
    RolloutLine,
    SessionMeta,
    decode,
    line_now,
    plain_event,
)
from pycodex.protocol.user_turns import is_user_turn
from pycodex.supervisor.rollout.lines import backwards, forwards
from pycodex.supervisor.rollout.rebuild import Rebuild

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from pycodex.protocol.items import Item
    from pycodex.protocol.rollout import Payload


class RolloutUnreadable(UserFacing):
    """`reason` alone says what is wrong, for those who tell the path in their own way."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"failed to load rollout `{path}`: {reason}")
        self.path = path
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A session as it can be gone on with. Outputs are as long as they were written; the history cuts them."""

    path: str
    size_bytes: int
    """How much of the file this covers."""
    meta: SessionMeta
    items: "list[Item]"
    reference_context: dict[str, Any] | None
    """The settings that the model was last told; None: it must be told all of them again."""
    previous_model: str | None
    token_info: dict[str, Any] | None
    user_turns: int
    summaries: frozenset[str]
    """Messages of role user in the history that are summaries of what came before."""
    has_open_call: bool
    """Whether the program ended between a call and its output."""

    def event_messages(self) -> "Iterator[Payload]":
        """The events as they were written, the oldest first."""
        with _opened(self.path) as file:
            for line in _decoded(file, self.size_bytes):
                if line.event is not None:
                    yield plain_event(line.payload)


def replay(path: str) -> Replayed:
    """Raises RolloutUnreadable."""
    with _opened(path) as file:
        size = file.seek(0, 2)
        file.seek(0)
        meta = _meta(path, file, size)
        rebuild = Rebuild()
        for data in backwards(file, end=size):
            line = decode(data)
            if line is not None:
                rebuild.take(line)
                if rebuild.is_done:
                    break
    items, baseline = rebuild.finish()
    return Replayed(
        path=path,
        size_bytes=size,
        meta=meta,
        items=items,
        reference_context=baseline,
        previous_model=rebuild.previous_model,
        token_info=rebuild.token_info,
        user_turns=sum(map(is_user_turn, items)),
        summaries=frozenset(rebuild.summaries),
        has_open_call=_has_open_call(items),
    )


def read_meta(path: str) -> SessionMeta:
    """Whose file it is. Raises RolloutUnreadable."""
    with _opened(path) as file:
        size = file.seek(0, 2)
        file.seek(0)
        return _meta(path, file, size)


def read_lines(path: str) -> "Iterator[RolloutLine]":
    """Every line that can be read. Raises RolloutUnreadable."""
    with _opened(path) as file:
        size = file.seek(0, 2)
        file.seek(0)
        yield from _decoded(file, size)


def read_lines_backwards(path: str) -> "Iterator[RolloutLine]":
    """The same, the newest first."""
    with _opened(path) as file:
        for data in backwards(file, end=file.seek(0, 2)):
            line = decode(data)
            if line is not None:
                yield line


def fork_lines(path: str, new_meta: SessionMeta) -> "Iterator[RolloutLine]":
    """The lines of a new session that goes on from this one: its own head, then all that was, with new times."""
    yield line_now(SESSION_META, new_meta.to_payload())
    for line in read_lines(path):
        yield line_now(line.kind, line.payload, line.figures)


def _opened(path: str) -> "BinaryIO":
    try:
        return open(path, "rb")
    except OSError as error:
        raise RolloutUnreadable(path, f"{error.strerror} (os error {error.errno})") from error


def _decoded(file: "BinaryIO", end: int) -> "Iterator[RolloutLine]":
    for data in forwards(file, end=end):
        line = decode(data)
        if line is not None:
            yield line


def _meta(path: str, file: "BinaryIO", end: int) -> SessionMeta:
    """The first head in the file counts: a fork holds that of its origin too."""
    is_blank = True
    for data in forwards(file, end=end):
        is_blank = is_blank and not data.strip(b"\0 \t\r\n")
        line = decode(data)
        meta = SessionMeta.from_payload(line.payload) if line is not None and line.kind == SESSION_META else None
        if meta is not None:
            return meta
    raise RolloutUnreadable(path, "empty session file" if is_blank else "failed to parse thread ID from rollout file")


def _has_open_call(items: "list[Item]") -> bool:
    answered = {(item["type"], item.get("call_id")) for item in items if item["type"] in OUTPUT_KINDS}
    return any(
        (call_id := call_id_of(item)) is not None and (output_kind(item), call_id) not in answered
        for item in items
        if item["type"] in CALL_KINDS
    )
