"""local_shell: the shell tool that some models know from their provider, with a form of call of its own.

Owns that form. A call that comes as a function is one of `shell` under another name. Never leaves the sandbox.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.items import FUNCTION_CALL, LOCAL_SHELL_CALL
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.tools.handlers.shell import Shell
from pycodex.supervisor.tools.shell_answer import structured
from pycodex.supervisor.tools.shell_runs import Wish, carry_out
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec

NAME = "local_shell"


@dataclass(frozen=True, slots=True)
class LocalShell:
    name: str = NAME
    parallel: bool = True
    kinds: tuple[str, ...] = (LOCAL_SHELL_CALL, FUNCTION_CALL)

    def spec(self, turn: TurnContext) -> ToolSpec:
        del turn
        return {"type": NAME}

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        if call.kind == FUNCTION_CALL:
            return await Shell(name=NAME).run(call, scope)
        if not call.call_id:
            raise ModelFacing("LocalShellCall without call_id or id")
        return await carry_out(wish_of(call.action), call, scope)


def wish_of(action: Mapping[str, Any]) -> Wish:
    """`env` and `user` are passed over."""
    if action.get("type") != "exec":
        raise _bad("type", "exec")
    command = action.get("command")
    if not isinstance(command, list) or not all(map(_is_text, command)):
        raise _bad("command", "a list of strings")
    workdir, timeout_ms = action.get("working_directory"), action.get("timeout_ms")
    if workdir is not None and not _is_text(workdir):
        raise _bad("working_directory", "a string")
    if timeout_ms is not None and (type(timeout_ms) is not int or timeout_ms < 0):
        raise _bad("timeout_ms", "a whole number, not below 0")
    return Wish(argv=tuple(command), layout=structured, workdir=workdir, timeout_ms=timeout_ms)


def _is_text(value: object) -> bool:
    """Half of a surrogate pair is none: no command line can hold it."""
    return isinstance(value, str) and not any("\ud800" <= each <= "\udfff" for each in value)


def _bad(name: str, expected: str) -> ModelFacing:
    return ModelFacing(f"failed to parse the action of a local shell call: `{name}` must be {expected}")
