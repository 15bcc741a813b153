"""What a tool is: a name, a specification for the model, and a function from a call to an answer.

Owns the interface between the turn loop and the tools. A tool raises ModelFacing to answer with an error; anything else
that it raises is a bug. What it needs from above it is given in its scope: a tool knows no session and no front-end.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.events.union import AnyEvent
from pycodex.protocol.frames import Exited
from pycodex.protocol.items import CUSTOM_TOOL_CALL, FUNCTION_CALL, LOCAL_SHELL_CALL, TOOL_SEARCH_CALL, call_id_of
from pycodex.protocol.turn_context import TurnContext

if TYPE_CHECKING:
    from pycodex.protocol.items import Item, Part
    from pycodex.supervisor.tools.services import ToolServices
    from pycodex.supervisor.workspace.turn_diff import TurnChanges

ToolSpec = dict[str, Any]


class Unanswered(ModelFacing):
    """The turn or the thread ended before anybody answered."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of the model's. `kind` is the type of the item that it came in."""

    kind: str
    call_id: str
    name: str
    arguments: str
    """The text of the arguments: JSON for a function, free text for a custom tool."""
    namespace: str | None = None
    action: Mapping[str, Any] = field(default_factory=dict)
    """What a call that comes as a map asks for: that of a local shell, or of a tool search."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What the model is told: a text, or parts with pictures; of a tool search, the specifications it found."""

    output: "str | list[Part]"
    usage: Exited | None = None
    """Of a call whose process has ended: what it used, and what was enforced on it."""


@dataclass(frozen=True, slots=True)
class ToolScope:
    """What a call may use: the turn's settings, a way to tell events, and what lives as long as the session."""

    turn: TurnContext
    emit: Callable[[AnyEvent], None]
    """Goes on to work after the call and after its turn: a process that was left running is still told about."""
    services: "ToolServices"
    warn: Callable[[str], None]
    """Puts `Warning: TEXT` into the history as a message of the user's."""
    note: Callable[[str], None]
    """Puts a text into the history as a message of the developer's."""
    interrupt: Callable[[], None]
    """Ends the turn, as the person would; whoever asks for it is cancelled at their next wait."""
    answer_to: Callable[[str, Callable[[], None]], Awaitable[object]]
    """Has a question asked, and waits for its answer by the id that its event carries. Raises Unanswered if none will
    come.
    """
    changes: "TurnChanges"
    """What the turn has changed by patches so far."""


class RunScope(Protocol):
    """The part of a scope that running a command takes, whoever wants it run."""

    @property
    def turn(self) -> TurnContext: ...

    @property
    def emit(self) -> Callable[[AnyEvent], None]: ...

    @property
    def services(self) -> "ToolServices": ...


class Tool(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def parallel(self) -> bool:
        """Whether calls of it may run beside each other."""
        ...

    @property
    def kinds(self) -> tuple[str, ...]:
        """The types of items that it answers to."""
        ...

    def spec(self, turn: TurnContext) -> ToolSpec:
        """As it stands in the request's list of tools."""
        ...

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer: ...


def call_of(item: "Item") -> ToolCall | None:
    """The call that an item of the model's stands for; None if it stands for none that we answer."""
    kind = item["type"]
    if kind == FUNCTION_CALL:
        return ToolCall(kind, item["call_id"], item["name"], item["arguments"], item.get("namespace"))
    if kind == CUSTOM_TOOL_CALL:
        return ToolCall(kind, item["call_id"], item["name"], item["input"])
    if kind == LOCAL_SHELL_CALL:
        return ToolCall(kind, call_id_of(item) or "", "local_shell", "", action=_map(item["action"]))
    if kind == TOOL_SEARCH_CALL and item["execution"] == "client":
        return ToolCall(kind, call_id_of(item) or "", "tool_search", "", action=_map(item["arguments"]))
    return None


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
