"""All events in one type."""

from pycodex.protocol.events.approval import ApplyPatchApprovalRequest, ExecApprovalRequest
from pycodex.protocol.events.dynamic_tool import DynamicToolCallRequest, DynamicToolCallResponse
from pycodex.protocol.events.error import BackgroundEvent, DeprecationNotice, ErrorEvent, StreamError, WarningEvent
from pycodex.protocol.events.exec import ExecCommandBegin, ExecCommandEnd, ExecCommandOutputDelta, TerminalInteraction
from pycodex.protocol.events.goal import GoalCleared, GoalRefused, GoalRestored, GoalUpdated
from pycodex.protocol.events.image import ViewImageToolCall
from pycodex.protocol.events.mcp import (
    ElicitationRequest,
    McpStartupComplete,
    McpStartupUpdate,
    McpToolCallBegin,
    McpToolCallEnd,
)
from pycodex.protocol.events.message import (
    AgentMessage,
    AgentMessageContentDelta,
    AgentReasoning,
    AgentReasoningRawContent,
    AgentReasoningSectionBreak,
    ItemCompleted,
    ItemStarted,
    PlanCompleted,
    PlanDelta,
    RawResponseItem,
    ReasoningContentDelta,
    ReasoningRawContentDelta,
    UserMessage,
    WebSearchBegin,
    WebSearchEnd,
)
from pycodex.protocol.events.patch import PatchApplyBegin, PatchApplyEnd, TurnDiff
from pycodex.protocol.events.plan import PlanUpdate
from pycodex.protocol.events.question import RequestUserInput
from pycodex.protocol.events.review import EnteredReviewMode, ExitedReviewMode
from pycodex.protocol.events.turn import (
    ContextCompacted,
    ModelReroute,
    SessionConfigured,
    ShutdownComplete,
    TaskComplete,
    TaskStarted,
    ThreadNameUpdated,
    ThreadRolledBack,
    TokenCount,
    TurnAborted,
)

AnyEvent = (
    AgentMessage
    | AgentMessageContentDelta
    | AgentReasoning
    | AgentReasoningRawContent
    | AgentReasoningSectionBreak
    | ApplyPatchApprovalRequest
    | BackgroundEvent
    | ContextCompacted
    | DeprecationNotice
    | DynamicToolCallRequest
    | DynamicToolCallResponse
    | ElicitationRequest
    | EnteredReviewMode
    | ErrorEvent
    | ExecApprovalRequest
    | ExecCommandBegin
    | ExecCommandEnd
    | ExecCommandOutputDelta
    | ExitedReviewMode
    | GoalCleared
    | GoalRefused
    | GoalRestored
    | GoalUpdated
    | ItemCompleted
    | ItemStarted
    | McpStartupComplete
    | McpStartupUpdate
    | McpToolCallBegin
    | McpToolCallEnd
    | ModelReroute
    | PatchApplyBegin
    | PatchApplyEnd
    | PlanCompleted
    | PlanDelta
    | PlanUpdate
    | RawResponseItem
    | ReasoningContentDelta
    | ReasoningRawContentDelta
    | RequestUserInput
    | SessionConfigured
    | ShutdownComplete
    | StreamError
    | TaskComplete
    | TaskStarted
    | TerminalInteraction
    | ThreadNameUpdated
    | ThreadRolledBack
    | TokenCount
    | TurnAborted
    | TurnDiff
    | UserMessage
    | ViewImageToolCall
    | WarningEvent
    | WebSearchBegin
    | WebSearchEnd
)
