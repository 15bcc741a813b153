"""What a turn consists of: messages, reasoning, commands, patches, calls of tools."""

from typing import Annotated, Any, Literal

from pydantic import Field

from pycodex.protocol.app.command_actions import CommandAction
from pycodex.protocol.app.settings import ReasoningEffort
from pycodex.protocol.app.user_input import UserInput
from pycodex.protocol.app.wire import I32, I64, U32, Named, Newer, Variant, Wire

MessagePhase = Annotated[Literal["commentary", "final_answer"], Named("MessagePhase")]


class MemoryCitationEntry(Wire):
    path: str
    line_start: U32
    line_end: U32
    note: str


class MemoryCitation(Wire):
    entries: list[MemoryCitationEntry]
    thread_ids: list[str]


CommandExecutionStatus = Annotated[
    Literal["inProgress", "completed", "failed", "declined"], Named("CommandExecutionStatus")
]


PatchApplyStatus = Annotated[Literal["inProgress", "completed", "failed", "declined"], Named("PatchApplyStatus")]


class AddPatchChangeKind(Variant):
    type: Literal["add"] = "add"


class DeletePatchChangeKind(Variant):
    type: Literal["delete"] = "delete"


class UpdatePatchChangeKind(Variant):
    type: Literal["update"] = "update"
    move_path: str | None = Field(default=None, alias="move_path")


PatchChangeKind = Annotated[
    AddPatchChangeKind | DeletePatchChangeKind | UpdatePatchChangeKind,
    Named("PatchChangeKind"),
    Field(discriminator="type"),
]


class FileUpdateChange(Wire):
    path: str
    kind: PatchChangeKind
    diff: str


McpToolCallStatus = Annotated[Literal["inProgress", "completed", "failed"], Named("McpToolCallStatus")]


class McpToolCallResult(Wire):
    content: list[Any]
    structured_content: Any = None


class McpToolCallError(Wire):
    message: str


DynamicToolCallStatus = Annotated[Literal["inProgress", "completed", "failed"], Named("DynamicToolCallStatus")]


class InputTextDynamicToolCallOutputContentItem(Variant):
    type: Literal["inputText"] = "inputText"
    text: str


class InputImageDynamicToolCallOutputContentItem(Variant):
    type: Literal["inputImage"] = "inputImage"
    image_url: str


DynamicToolCallOutputContentItem = Annotated[
    InputTextDynamicToolCallOutputContentItem | InputImageDynamicToolCallOutputContentItem,
    Named("DynamicToolCallOutputContentItem"),
    Field(discriminator="type"),
]


CollabAgentTool = Annotated[
    Literal["spawnAgent", "sendInput", "resumeAgent", "wait", "closeAgent"], Named("CollabAgentTool")
]


CollabAgentToolCallStatus = Annotated[Literal["inProgress", "completed", "failed"], Named("CollabAgentToolCallStatus")]


CollabAgentStatus = Annotated[
    Literal["pendingInit", "running", "interrupted", "completed", "errored", "shutdown", "notFound"],
    Named("CollabAgentStatus"),
]


class CollabAgentState(Wire):
    status: CollabAgentStatus
    message: str | None = None


class SearchWebSearchAction(Variant):
    type: Literal["search"] = "search"
    query: str | None = None
    queries: list[str] | None = None


class OpenPageWebSearchAction(Variant):
    type: Literal["openPage"] = "openPage"
    url: str | None = None


class FindInPageWebSearchAction(Variant):
    type: Literal["findInPage"] = "findInPage"
    url: str | None = None
    pattern: str | None = None


class OtherWebSearchAction(Variant):
    type: Literal["other"] = "other"


WebSearchAction = Annotated[
    SearchWebSearchAction | OpenPageWebSearchAction | FindInPageWebSearchAction | OtherWebSearchAction,
    Named("WebSearchAction"),
    Field(discriminator="type"),
]


class UserMessageThreadItem(Variant):
    type: Literal["userMessage"] = "userMessage"
    id: str
    content: list[UserInput]
    client_id: Newer[str | None] = None


class AgentMessageThreadItem(Variant):
    type: Literal["agentMessage"] = "agentMessage"
    id: str
    text: str
    phase: MessagePhase | None = None
    memory_citation: MemoryCitation | None = None


class PlanThreadItem(Variant):
    type: Literal["plan"] = "plan"
    id: str
    text: str


class ReasoningThreadItem(Variant):
    type: Literal["reasoning"] = "reasoning"
    id: str
    summary: list[str] = Field(default_factory=list)
    content: list[str] = Field(default_factory=list)


class CommandExecutionThreadItem(Variant):
    type: Literal["commandExecution"] = "commandExecution"
    id: str
    command: str
    cwd: str
    process_id: str | None = None
    status: CommandExecutionStatus
    command_actions: list[CommandAction]
    aggregated_output: str | None = None
    exit_code: I32 | None = None
    duration_ms: I64 | None = None
    source: Newer[str | None] = None


class FileChangeThreadItem(Variant):
    type: Literal["fileChange"] = "fileChange"
    id: str
    changes: list[FileUpdateChange]
    status: PatchApplyStatus


class McpToolCallThreadItem(Variant):
    type: Literal["mcpToolCall"] = "mcpToolCall"
    id: str
    server: str
    tool: str
    status: McpToolCallStatus
    arguments: Any
    result: McpToolCallResult | None = None
    error: McpToolCallError | None = None
    duration_ms: I64 | None = None


class DynamicToolCallThreadItem(Variant):
    type: Literal["dynamicToolCall"] = "dynamicToolCall"
    namespace: Newer[str | None] = None
    id: str
    tool: str
    arguments: Any
    status: DynamicToolCallStatus
    content_items: list[DynamicToolCallOutputContentItem] | None = None
    success: bool | None = None
    duration_ms: I64 | None = None


class CollabAgentToolCallThreadItem(Variant):
    type: Literal["collabAgentToolCall"] = "collabAgentToolCall"
    id: str
    tool: CollabAgentTool
    status: CollabAgentToolCallStatus
    sender_thread_id: str
    receiver_thread_ids: list[str]
    prompt: str | None = None
    model: str | None = None
    reasoning_effort: ReasoningEffort | None = None
    agents_states: dict[str, CollabAgentState]


class WebSearchThreadItem(Variant):
    type: Literal["webSearch"] = "webSearch"
    id: str
    query: str
    action: WebSearchAction | None = None


class ImageViewThreadItem(Variant):
    type: Literal["imageView"] = "imageView"
    id: str
    path: str


class ImageGenerationThreadItem(Variant):
    type: Literal["imageGeneration"] = "imageGeneration"
    id: str
    status: str
    revised_prompt: str | None = None
    result: str


class EnteredReviewModeThreadItem(Variant):
    type: Literal["enteredReviewMode"] = "enteredReviewMode"
    id: str
    review: str


class ExitedReviewModeThreadItem(Variant):
    type: Literal["exitedReviewMode"] = "exitedReviewMode"
    id: str
    review: str


class ContextCompactionThreadItem(Variant):
    type: Literal["contextCompaction"] = "contextCompaction"
    id: str


ThreadItem = Annotated[
    UserMessageThreadItem
    | AgentMessageThreadItem
    | PlanThreadItem
    | ReasoningThreadItem
    | CommandExecutionThreadItem
    | FileChangeThreadItem
    | McpToolCallThreadItem
    | DynamicToolCallThreadItem
    | CollabAgentToolCallThreadItem
    | WebSearchThreadItem
    | ImageViewThreadItem
    | ImageGenerationThreadItem
    | EnteredReviewModeThreadItem
    | ExitedReviewModeThreadItem
    | ContextCompactionThreadItem,
    Named("ThreadItem"),
    Field(discriminator="type"),
]
