"""Server requests that are no approvals: questions to the person, calls of the client's own tools."""

from typing import Any

from pycodex.protocol.app.items import DynamicToolCallOutputContentItem
from pycodex.protocol.app.wire import Newer, Params, Wire


class ToolRequestUserInputOption(Wire):
    label: str
    description: str


class ToolRequestUserInputQuestion(Wire):
    id: str
    header: str
    question: str
    is_other: bool = False
    is_secret: bool = False
    options: list[ToolRequestUserInputOption] | None = None


class ToolRequestUserInputParams(Params):
    thread_id: str
    turn_id: str
    item_id: str
    questions: list[ToolRequestUserInputQuestion]


class ToolRequestUserInputAnswer(Wire):
    answers: list[str]


class ToolRequestUserInputResponse(Wire):
    answers: dict[str, ToolRequestUserInputAnswer]


class DynamicToolCallParams(Params):
    thread_id: str
    turn_id: str
    call_id: str
    tool: str
    arguments: Any
    namespace: Newer[str | None] = None


class DynamicToolCallResponse(Wire):
    content_items: list[DynamicToolCallOutputContentItem]
    success: bool
