"""Spoken conversations beside a thread."""

from typing import Annotated, Any, Literal

from pycodex.protocol.app.wire import U16, U32, Named, Params, Wire

RealtimeConversationVersion = Annotated[Literal["v1", "v2"], Named("RealtimeConversationVersion")]


class ThreadRealtimeAudioChunk(Wire):
    data: str
    sample_rate: U32
    num_channels: U16
    samples_per_channel: U32 | None = None
    item_id: str | None = None


class ThreadRealtimeAppendAudioParams(Params):
    thread_id: str
    audio: ThreadRealtimeAudioChunk


class ThreadRealtimeAppendAudioResponse(Wire):
    pass


class ThreadRealtimeAppendTextParams(Params):
    thread_id: str
    text: str


class ThreadRealtimeAppendTextResponse(Wire):
    pass


class ThreadRealtimeClosedNotification(Wire):
    thread_id: str
    reason: str | None = None


class ThreadRealtimeErrorNotification(Wire):
    thread_id: str
    message: str


class ThreadRealtimeItemAddedNotification(Wire):
    thread_id: str
    item: Any


class ThreadRealtimeOutputAudioDeltaNotification(Wire):
    thread_id: str
    audio: ThreadRealtimeAudioChunk


class ThreadRealtimeStartParams(Params):
    thread_id: str
    prompt: str
    session_id: str | None = None


class ThreadRealtimeStartResponse(Wire):
    pass


class ThreadRealtimeStartedNotification(Wire):
    thread_id: str
    session_id: str | None = None
    version: RealtimeConversationVersion


class ThreadRealtimeStopParams(Params):
    thread_id: str


class ThreadRealtimeStopResponse(Wire):
    pass
