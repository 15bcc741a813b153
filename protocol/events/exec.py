"""Events about commands."""

from pycodex.protocol.events.event import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

AGENT = "agent"
UNIFIED_EXEC_STARTUP = "unified_exec_startup"
USER_SHELL = "user_shell"

COMPLETED = "completed"
FAILED = "failed"
DECLINED = "declined"

STORED_OUTPUT_CHARS = 10_000
_CUT = "\n[... cut ...]\n"


class _ExecCommand(Event):
    """What is told of a command at its beginning, and again at its end."""

    _optional = ("process_id", "interaction_input")

    call_id: "str"
    process_id: "str | None" = None
    turn_id: "str"
    command: "tuple[str, ...]"
    cwd: "str"
    parsed_cmd: "tuple[dict[str, Any], ...]"
    source: "str" = AGENT
    interaction_input: "str | None" = None


class ExecCommandBegin(_ExecCommand):
    _tag = "exec_command_begin"


class ExecCommandOutputDelta(Event):
    """`chunk` is base64: it may hold any bytes."""

    _tag = "exec_command_output_delta"

    call_id: "str"
    stream: "str"
    chunk: "str"


class TerminalInteraction(Event):
    _tag = "terminal_interaction"

    call_id: "str"
    process_id: "str"
    stdin: "str"


class ExecCommandEnd(_ExecCommand):
    """`duration` is `{"secs", "nanos"}`."""

    _tag = "exec_command_end"
    _persisted_at_length = True

    stdout: "str"
    stderr: "str"
    aggregated_output: "str"
    exit_code: "int"
    duration: "dict[str, int]"
    formatted_output: "str"
    status: "str"

    def to_stored(self) -> "dict[str, Any]":
        """Without what is told twice, and with the ends of the output only if it is long."""
        output = self.aggregated_output
        if len(output) > STORED_OUTPUT_CHARS:
            half = STORED_OUTPUT_CHARS // 2
            output = f"{output[:half]}{_CUT}{output[-half:]}"
        return {**self.to_wire(), "stdout": "", "stderr": "", "formatted_output": "", "aggregated_output": output}
