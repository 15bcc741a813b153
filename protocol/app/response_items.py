"""Items of the model's side, as `thread/resume` takes them and raw events give them."""

from typing import Annotated, Any, Literal

from pydantic import Field

from pycodex.protocol.app.items import MessagePhase
from pycodex.protocol.app.user_input import ImageDetail
from pycodex.protocol.app.wire import SNAKE, U64, Named, Sparse, Synonyms, Variant, Wire


class InputTextContentItem(Variant):
    type: Literal["input_text"] = "input_text"
    text: str


class InputImageContentItem(Variant):
    type: Literal["input_image"] = "input_image"
    image_url: str = Field(alias="image_url")


class OutputTextContentItem(Variant):
    type: Literal["output_text"] = "output_text"
    text: str


ContentItem = Annotated[
    InputTextContentItem | InputImageContentItem | OutputTextContentItem,
    Named("ContentItem"),
    Field(discriminator="type"),
]


class ReasoningTextReasoningItemContent(Variant):
    type: Literal["reasoning_text"] = "reasoning_text"
    text: str


class TextReasoningItemContent(Variant):
    type: Literal["text"] = "text"
    text: str


ReasoningItemContent = Annotated[
    ReasoningTextReasoningItemContent | TextReasoningItemContent,
    Named("ReasoningItemContent"),
    Field(discriminator="type"),
]


class SummaryTextReasoningItemReasoningSummary(Variant):
    type: Literal["summary_text"] = "summary_text"
    text: str


ReasoningItemReasoningSummary = Annotated[
    SummaryTextReasoningItemReasoningSummary, Named("ReasoningItemReasoningSummary")
]


LocalShellStatus = Annotated[Literal["completed", "in_progress", "incomplete"], Named("LocalShellStatus")]


class ExecLocalShellAction(Variant):
    model_config = SNAKE

    type: Literal["exec"] = "exec"
    command: list[str]
    timeout_ms: U64 | None = None
    working_directory: str | None = None
    env: dict[str, str] | None = None
    user: str | None = None


LocalShellAction = Annotated[ExecLocalShellAction, Named("LocalShellAction")]


class InputTextFunctionCallOutputContentItem(Variant):
    type: Literal["input_text"] = "input_text"
    text: str


class InputImageFunctionCallOutputContentItem(Variant):
    type: Literal["input_image"] = "input_image"
    image_url: str = Field(alias="image_url")
    detail: Sparse[ImageDetail | None] = None


FunctionCallOutputContentItem = Annotated[
    InputTextFunctionCallOutputContentItem | InputImageFunctionCallOutputContentItem,
    Named("FunctionCallOutputContentItem"),
    Field(discriminator="type"),
]


FunctionCallOutputBody = Annotated[str | list[FunctionCallOutputContentItem], Named("FunctionCallOutputBody")]


class SearchResponsesApiWebSearchAction(Variant):
    type: Literal["search"] = "search"
    query: Sparse[str | None] = None
    queries: Sparse[list[str] | None] = None


class OpenPageResponsesApiWebSearchAction(Variant):
    type: Literal["open_page"] = "open_page"
    url: Sparse[str | None] = None


class FindInPageResponsesApiWebSearchAction(Variant):
    type: Literal["find_in_page"] = "find_in_page"
    url: Sparse[str | None] = None
    pattern: Sparse[str | None] = None


class OtherResponsesApiWebSearchAction(Variant):
    is_fallback = True

    type: Literal["other"] = "other"


ResponsesApiWebSearchAction = Annotated[
    SearchResponsesApiWebSearchAction
    | OpenPageResponsesApiWebSearchAction
    | FindInPageResponsesApiWebSearchAction
    | OtherResponsesApiWebSearchAction,
    Named("ResponsesApiWebSearchAction"),
    Field(discriminator="type"),
]


class GhostCommit(Wire):
    model_config = SNAKE

    id: str
    parent: str | None = None
    preexisting_untracked_files: list[str]
    preexisting_untracked_dirs: list[str]


class MessageResponseItem(Variant):
    type: Literal["message"] = "message"
    id: Sparse[str | None] = None
    role: str
    content: list[ContentItem]
    end_turn: Sparse[bool | None] = Field(default=None, alias="end_turn")
    phase: Sparse[MessagePhase | None] = None


class ReasoningResponseItem(Variant):
    type: Literal["reasoning"] = "reasoning"
    summary: list[ReasoningItemReasoningSummary]
    content: Sparse[list[ReasoningItemContent] | None] = None
    encrypted_content: str | None = Field(default=None, alias="encrypted_content")


class LocalShellCallResponseItem(Variant):
    type: Literal["local_shell_call"] = "local_shell_call"
    id: Sparse[str | None] = None
    call_id: str | None = Field(default=None, alias="call_id")
    status: LocalShellStatus
    action: LocalShellAction


class FunctionCallResponseItem(Variant):
    type: Literal["function_call"] = "function_call"
    id: Sparse[str | None] = None
    name: str
    namespace: Sparse[str | None] = None
    arguments: str
    call_id: str = Field(alias="call_id")


class ToolSearchCallResponseItem(Variant):
    type: Literal["tool_search_call"] = "tool_search_call"
    id: Sparse[str | None] = None
    call_id: str | None = Field(default=None, alias="call_id")
    status: Sparse[str | None] = None
    execution: str
    arguments: Any


class FunctionCallOutputResponseItem(Variant):
    type: Literal["function_call_output"] = "function_call_output"
    call_id: str = Field(alias="call_id")
    output: FunctionCallOutputBody


class CustomToolCallResponseItem(Variant):
    type: Literal["custom_tool_call"] = "custom_tool_call"
    id: Sparse[str | None] = None
    status: Sparse[str | None] = None
    call_id: str = Field(alias="call_id")
    name: str
    input: str


class CustomToolCallOutputResponseItem(Variant):
    type: Literal["custom_tool_call_output"] = "custom_tool_call_output"
    call_id: str = Field(alias="call_id")
    name: Sparse[str | None] = None
    output: FunctionCallOutputBody


class ToolSearchOutputResponseItem(Variant):
    type: Literal["tool_search_output"] = "tool_search_output"
    call_id: str | None = Field(default=None, alias="call_id")
    status: str
    execution: str
    tools: list[Any]


class WebSearchCallResponseItem(Variant):
    type: Literal["web_search_call"] = "web_search_call"
    id: Sparse[str | None] = None
    status: Sparse[str | None] = None
    action: Sparse[ResponsesApiWebSearchAction | None] = None


class ImageGenerationCallResponseItem(Variant):
    type: Literal["image_generation_call"] = "image_generation_call"
    id: str
    status: str
    revised_prompt: Sparse[str | None] = Field(default=None, alias="revised_prompt")
    result: str


class GhostSnapshotResponseItem(Variant):
    type: Literal["ghost_snapshot"] = "ghost_snapshot"
    ghost_commit: GhostCommit = Field(alias="ghost_commit")


class CompactionResponseItem(Variant):
    type: Annotated[Literal["compaction"], Synonyms({"compaction_summary": "compaction"})] = "compaction"
    encrypted_content: str = Field(alias="encrypted_content")


class OtherResponseItem(Variant):
    is_fallback = True

    type: Literal["other"] = "other"


ResponseItem = Annotated[
    MessageResponseItem
    | ReasoningResponseItem
    | LocalShellCallResponseItem
    | FunctionCallResponseItem
    | ToolSearchCallResponseItem
    | FunctionCallOutputResponseItem
    | CustomToolCallResponseItem
    | CustomToolCallOutputResponseItem
    | ToolSearchOutputResponseItem
    | WebSearchCallResponseItem
    | ImageGenerationCallResponseItem
    | GhostSnapshotResponseItem
    | CompactionResponseItem
    | OtherResponseItem,
    Named("ResponseItem"),
    Field(discriminator="type"),
]
