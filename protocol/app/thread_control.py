"""Acting on a thread that is there: unsubscribe, compact, roll back, clean up."""

from typing import Annotated, Literal

from pycodex.protocol.app.threads import Thread, ThreadStatus
from pycodex.protocol.app.wire import U32, U64, Named, Params, Wire


class ThreadUnsubscribeParams(Params):
    thread_id: str


ThreadUnsubscribeStatus = Annotated[
    Literal["notLoaded", "notSubscribed", "unsubscribed"], Named("ThreadUnsubscribeStatus")
]


class ThreadUnsubscribeResponse(Wire):
    status: ThreadUnsubscribeStatus


class ThreadCompactStartParams(Params):
    thread_id: str


class ThreadCompactStartResponse(Wire):
    pass


class ThreadRollbackParams(Params):
    thread_id: str
    num_turns: U32


class ThreadRollbackResponse(Wire):
    thread: Thread


class ThreadBackgroundTerminalsCleanParams(Params):
    thread_id: str


class ThreadBackgroundTerminalsCleanResponse(Wire):
    pass


class ThreadIncrementElicitationParams(Params):
    thread_id: str


class ThreadIncrementElicitationResponse(Wire):
    count: U64
    paused: bool


class ThreadDecrementElicitationParams(Params):
    thread_id: str


class ThreadDecrementElicitationResponse(Wire):
    count: U64
    paused: bool


class ThreadStatusChangedNotification(Wire):
    thread_id: str
    status: ThreadStatus


class ThreadClosedNotification(Wire):
    thread_id: str
