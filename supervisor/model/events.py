"""The Responses API's events, one JSON text at a time.

Owns what each event type means and which failure a stream ends with. Does no I/O and knows no framing; the same reader
serves any transport that carries these events.

A failure that the stream tells is remembered, not raised: the server may still complete the response. It is raised
when the stream ends without having done so.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from pycodex.protocol.items import known_item
from pycodex.supervisor.model.failures import (
    CLOSED_EARLY,
    IDLE,
    response_failed,
    response_incomplete,
    stream_broke,
)
from pycodex.supervisor.model.rate_limits import snapshot_in_event
from pycodex.supervisor.model.stream import (
    Completed,
    ItemAdded,
    ItemDone,
    ModelFailure,
    RateLimitsSeen,
    RawReasoningDelta,
    ServerModel,
    StreamEvent,
    SummaryDelta,
    SummaryPartAdded,
    TextDelta,
)
from pycodex.supervisor.model.usage import TokenUsage

_MODEL_HEADERS = ("openai-model", "x-openai-model")


class EventReader:
    """Reads the events of one response."""

    def __init__(self, server_model: str | None = None) -> None:
        self._server_model = server_model
        self._failure: ModelFailure | None = None

    def read(self, data: str) -> Iterator[StreamEvent]:
        """What one event says; nothing for an event that is unknown, malformed or of no interest."""
        event = _parsed(data)
        if event is None:
            return
        model = _model_in(event)
        if model is not None and model != self._server_model:
            self._server_model = model
            yield ServerModel(model)
        told = self._told(event)
        if told is not None:
            yield told

    def closed(self) -> ModelFailure:
        """Why the stream failed, if it ended without `Completed`."""
        return self._failure or stream_broke(CLOSED_EARLY)

    def idle(self) -> ModelFailure:
        """Why it failed, if it went silent."""
        return self._failure or stream_broke(IDLE)

    def broken(self, reason: str) -> ModelFailure:
        """Why it failed, if the connection did."""
        return self._failure or stream_broke(reason)

    def _told(self, event: Mapping[str, Any]) -> StreamEvent | None:
        response = event.get("response")
        match event["type"]:
            case "response.output_text.delta":
                return TextDelta(event["delta"]) if event.get("delta") is not None else None
            case "response.reasoning_summary_text.delta":
                return _indexed(SummaryDelta, event, "summary_index")
            case "response.reasoning_text.delta":
                return _indexed(RawReasoningDelta, event, "content_index")
            case "response.reasoning_summary_part.added":
                index = event.get("summary_index")
                return None if index is None else SummaryPartAdded(index)
            case "response.output_item.added":
                item = known_item(event.get("item"))
                return None if item is None else ItemAdded(item)
            case "response.output_item.done":
                item = known_item(event.get("item"))
                return None if item is None else ItemDone(item)
            case "response.completed" if response is not None:
                return self._completed(response)
            case "response.failed":
                self._failure = response_failed(response)
            case "response.incomplete":
                self._failure = response_incomplete(response)
            case "codex.rate_limits":
                return RateLimitsSeen(snapshot_in_event(event))
        return None

    def _completed(self, response: object) -> Completed | None:
        response_id = response.get("id") if isinstance(response, Mapping) else None
        if not isinstance(response, Mapping) or type(response_id) is not str:
            self._failure = stream_broke("failed to parse ResponseCompleted: missing field `id`")
            return None
        return Completed(response_id, TokenUsage.from_response(response.get("usage")))


def _indexed(
    kind: type[SummaryDelta] | type[RawReasoningDelta], event: Mapping[str, Any], index_name: str
) -> SummaryDelta | RawReasoningDelta | None:
    delta, index = event.get("delta"), event.get(index_name)
    return None if delta is None or index is None else kind(delta, index)


def _parsed(data: str) -> Mapping[str, Any] | None:
    """The event, if it is an object whose fields have the types that they must have."""
    try:
        event = json.loads(data, parse_constant=_refuse_constant)
        if "\\ud" in data or "\\uD" in data:
            event = _without_lone_surrogates(event)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or type(event.get("type")) is not str:
        return None
    if type(event.get("delta")) not in (str, type(None)):
        return None
    if any(type(event.get(name)) not in (int, type(None)) for name in ("summary_index", "content_index")):
        return None
    return event


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _without_lone_surrogates(event: Any) -> Any:
    """Half of a surrogate pair is no text: nobody could write it to a file or send it back."""
    text = json.dumps(event, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.loads(text.encode("utf-8", "replace"))
    return event


def _model_in(event: Mapping[str, Any]) -> str | None:
    response = event.get("response")
    inner = response.get("headers") if isinstance(response, Mapping) else None
    for headers in (inner, event.get("headers")):
        for name, value in headers.items() if isinstance(headers, Mapping) else ():
            first = value[0] if isinstance(value, list) and value else value
            if name.lower() in _MODEL_HEADERS and type(first) is str:
                return first
    return None
