"""All events in one type."""

from pycodex.protocol.events.error import BackgroundEvent, DeprecationNotice, ErrorEvent, StreamError, WarningEvent
from pycodex.protocol.events.exec import ExecCommandBegin, ExecCommandEnd, ExecCommandOutputDelta, TerminalInteraction
from pycodex.protocol.events.message import (
    AgentMessage,
    AgentMessageContentDelta,
    AgentReasoning,
    AgentReasoningRawContent,
    AgentReasoningSectionBreak,
    ItemCompleted,
    ItemStarted,
    ReasoningContentDelta,
    ReasoningRawContentDelta,
    UserMessage,
    WebSearchBegin,
    WebSearchEnd,
)
from pycodex.protocol.events.plan import PlanUpdate
from pycodex.protocol.events.turn import (
    ModelReroute,
    SessionConfigured,
    ShutdownComplete,
    TaskComplete,
    TaskStarted,
    ThreadNameUpdated,
    TokenCount,
    TurnAborted,
)

AnyEvent = (
    AgentMessage
    | AgentMessageContentDelta
    | AgentReasoning
    | AgentReasoningRawContent
    | AgentReasoningSectionBreak
    | BackgroundEvent
    | DeprecationNotice
    | ErrorEvent
    | ExecCommandBegin
    | ExecCommandEnd
    | ExecCommandOutputDelta
    | ItemCompleted
    | ItemStarted
    | ModelReroute
    | PlanUpdate
    | ReasoningContentDelta
    | ReasoningRawContentDelta
    | SessionConfigured
    | ShutdownComplete
    | StreamError
    | TaskComplete
    | TaskStarted
    | TerminalInteraction
    | ThreadNameUpdated
    | TokenCount
    | TurnAborted
    | UserMessage
    | WarningEvent
    | WebSearchBegin
    | WebSearchEnd
)
