"""Events about threads and turns as a whole."""

from pycodex.protocol.events.event import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INTERRUPTED = "interrupted"
REPLACED = "replaced"


class SessionConfigured(Event):
    """The first event of every thread."""

    _tag = "session_configured"
    _optional = ("forked_from_id", "thread_name", "reasoning_effort", "initial_messages", "rollout_path")

    session_id: "str"
    forked_from_id: "str | None" = None
    thread_name: "str | None" = None
    model: "str"
    model_provider_id: "str"
    approval_policy: "str | dict[str, Any]"
    sandbox_policy: "dict[str, Any]"
    cwd: "str"
    reasoning_effort: "str | None" = None
    history_log_id: "int" = 0
    history_entry_count: "int" = 0
    initial_messages: "tuple[dict[str, Any], ...] | None" = None
    """The events of a resumed thread, as they were written."""
    rollout_path: "str | None" = None


class TaskStarted(Event):
    _tag = "task_started"
    _persisted = True

    turn_id: "str"
    model_context_window: "int | None"
    collaboration_mode_kind: "str" = "default"


class TaskComplete(Event):
    _tag = "task_complete"
    _persisted = True

    turn_id: "str"
    last_agent_message: "str | None"


class TurnAborted(Event):
    _tag = "turn_aborted"
    _persisted = True

    turn_id: "str | None"
    reason: "str"


class TokenCount(Event):
    """`info` is None until the model has told its usage; both are maps as they stand in the session file."""

    _tag = "token_count"
    _persisted = True

    info: "dict[str, Any] | None"
    rate_limits: "dict[str, Any] | None"


class ModelReroute(Event):
    _tag = "model_reroute"

    from_model: "str"
    to_model: "str"
    reason: "str"


class ThreadNameUpdated(Event):
    _tag = "thread_name_updated"
    _optional = ("thread_name",)

    thread_id: "str"
    thread_name: "str | None" = None


class ThreadRolledBack(Event):
    _tag = "thread_rolled_back"
    _persisted = True

    num_turns: "int"


class ContextCompacted(Event):
    """What was said so far has become shorter."""

    _tag = "context_compacted"
    _persisted = True


class ShutdownComplete(Event):
    """The last event of every thread."""

    _tag = "shutdown_complete"
