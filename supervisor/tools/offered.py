"""Which tools the model is offered, in the order in which the request lists them.

Owns the list: a new tool is one file in `handlers` and one line here. Whether a line holds depends on the turn and on
what its model can do. Some tools answer without being listed: names that models know from elsewhere, and tools of the
client's that are to be searched for. What most turns do not offer is loaded only where it is needed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.tools.handlers.apply_patch import ApplyPatch
from pycodex.supervisor.tools.handlers.exec_command import ExecCommand
from pycodex.supervisor.tools.handlers.request_user_input import RequestUserInput
from pycodex.supervisor.tools.handlers.update_plan import UpdatePlan
from pycodex.supervisor.tools.handlers.view_image import ViewImage
from pycodex.supervisor.tools.handlers.web_search import DISABLED, WebSearch
from pycodex.supervisor.tools.handlers.write_stdin import WriteStdin
from pycodex.supervisor.tools.services import ToolServices
from pycodex.supervisor.tools.tool import Tool, ToolAnswer, ToolCall, ToolScope, ToolSpec

if TYPE_CHECKING:
    from pycodex.supervisor.tools.handlers.dynamic_tool import DynamicTool

# The ways in which a model runs commands.
NO_SHELL = "disabled"
UNIFIED_EXEC = "unified_exec"
# The others, each with the name of its tool.
SHELLS = {"default": "shell", "local": "local_shell", "shell_command": "shell_command"}
ALIASES = ("shell", "container.exec", "local_shell", "shell_command")


@dataclass(frozen=True, slots=True)
class Offer:
    shown: tuple[Tool, ...]
    """As the request lists them."""
    hidden: tuple[Tool, ...]
    """Those that answer all the same."""


async def settled_offer(turn: TurnContext, services: ToolServices) -> Offer:
    """Once all MCP servers have started, or failed to: only then their tools are known."""
    if services.mcp is not None:
        await services.mcp.settled()
    return offered(turn, services)


def offered(turn: TurnContext, services: ToolServices) -> Offer:
    clients = _client_tools(services)
    deferred = tuple(tool for tool in clients if tool.is_deferred)
    ours = (
        *_command_tools(turn, services),
        *_resource_tools(services),
        UpdatePlan(),
        *_goal_tool(services),
        *((RequestUserInput(),) if services.asks_person else ()),
        *_tool_search(turn, deferred),
        *_patch_tool(turn),
        *_experimental_tools(turn),
        *_web_search(turn, services),
        ViewImage(),
        *_mcp_tools(services),
    )
    aliases = () if shell_type(turn) == NO_SHELL else tuple(_Alias(name, services) for name in ALIASES)
    # Two tools of one name could not be told apart: the client's takes the place of ours.
    taken = {tool.name for tool in clients}
    return Offer(
        shown=(*_without(ours, taken), *(tool for tool in clients if not tool.is_deferred)),
        hidden=(*_without(aliases, taken), *deferred),
    )


def _without(tools: tuple[Tool, ...], names: set[str]) -> Iterator[Tool]:
    return (tool for tool in tools if tool.name not in names)


def shell_type(turn: TurnContext) -> str:
    """Features decide first; where they leave it open, the model's own way."""
    if "shell_tool" not in turn.features:
        return NO_SHELL
    if "shell_zsh_fork" in turn.features:
        return "shell_command"
    if "unified_exec" in turn.features:
        return UNIFIED_EXEC
    own = turn.model_info.shell_type
    return own if own in (NO_SHELL, UNIFIED_EXEC, *SHELLS) else "default"


def _command_tools(turn: TurnContext, services: ToolServices) -> Iterator[Tool]:
    kind = shell_type(turn)
    if kind == UNIFIED_EXEC:
        yield ExecCommand(login_allowed=services.allow_login_shell)
        yield WriteStdin()
    elif kind != NO_SHELL:
        yield _shell(SHELLS[kind], services)


def _shell(name: str, services: ToolServices) -> Tool:
    if name == "shell_command":
        from pycodex.supervisor.tools.handlers.shell_command import ShellCommand

        return ShellCommand(login_allowed=services.allow_login_shell)
    if name == "local_shell":
        from pycodex.supervisor.tools.handlers.local_shell import LocalShell

        return LocalShell()
    from pycodex.supervisor.tools.handlers.shell import Shell

    return Shell(name)


class _Alias:
    """A name of the shell that models know from elsewhere. Most never call it."""

    parallel = False

    def __init__(self, name: str, services: ToolServices) -> None:
        self.name = name
        self._services = services

    @property
    def kinds(self) -> tuple[str, ...]:
        return _shell(self.name, self._services).kinds

    def spec(self, turn: TurnContext) -> ToolSpec:
        return _shell(self.name, self._services).spec(turn)

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        return await _shell(self.name, self._services).run(call, scope)


def _patch_tool(turn: TurnContext) -> Iterator[Tool]:
    form = turn.model_info.apply_patch_tool_type or ("freeform" if "apply_patch_freeform" in turn.features else None)
    if form is not None:
        yield ApplyPatch(freeform=form == "freeform")


def _goal_tool(services: ToolServices) -> Iterator[Tool]:
    if services.goals is not None and services.goals.is_active:
        from pycodex.supervisor.tools.handlers.update_goal import UpdateGoal

        yield UpdateGoal(services.goals)


def _experimental_tools(turn: TurnContext) -> Iterator[Tool]:
    """Those that the model's metadata names."""
    names = turn.model_info.experimental_supported_tools
    if not names:
        return
    from pycodex.supervisor.tools.handlers.grep_files import GrepFiles
    from pycodex.supervisor.tools.handlers.list_dir import ListDir
    from pycodex.supervisor.tools.handlers.read_file import ReadFile
    from pycodex.supervisor.tools.handlers.sync_barrier import SyncBarrier

    known: tuple[Tool, ...] = (GrepFiles(), ReadFile(), ListDir(), SyncBarrier())
    yield from (tool for tool in known if tool.name in names)


def _web_search(turn: TurnContext, services: ToolServices) -> Iterator[Tool]:
    mode = services.web_search_mode(turn.permissions.mode)
    if mode != DISABLED:
        yield WebSearch(mode, services.web_search_options)


def _resource_tools(services: ToolServices) -> Iterator[Tool]:
    if services.mcp is not None and services.mcp.has_servers:
        from pycodex.supervisor.tools.handlers.mcp_resources import (
            ListMcpResources,
            ListMcpResourceTemplates,
            ReadMcpResource,
        )

        yield from (ListMcpResources(), ListMcpResourceTemplates(), ReadMcpResource())


def _mcp_tools(services: ToolServices) -> Iterator[Tool]:
    if services.mcp is not None:
        from pycodex.supervisor.tools.handlers.mcp_tool import McpToolHandler

        yield from (McpToolHandler(name, tool) for name, tool in services.mcp.tools().items())


def _client_tools(services: ToolServices) -> "tuple[DynamicTool, ...]":
    if not services.dynamic_tools:
        return ()
    from pycodex.supervisor.tools.handlers.dynamic_tool import DynamicTool

    return tuple(DynamicTool(declaration) for declaration in services.dynamic_tools)


def _tool_search(turn: TurnContext, deferred: "tuple[DynamicTool, ...]") -> Iterator[Tool]:
    if not deferred or not turn.model_info.supports_search_tool:
        return
    from pycodex.supervisor.tools.handlers.tool_search import ToolSearch

    yield ToolSearch(deferred)
