"""Lines of `exec --json`: their shapes, and how they are written.

Owns names and order of the fields. Optional ones are always there, as null. Which line comes when is decided in
`supervisor/frontends/exec/jsonl`.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

Line = dict[str, Any]
ExecItem = dict[str, Any]

IN_PROGRESS = "in_progress"
COMPLETED = "completed"
FAILED = "failed"


def encoded(line: Line) -> str:
    """One line, without its end."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"))


def thread_started(thread_id: str) -> Line:
    return {"type": "thread.started", "thread_id": thread_id}


def turn_started() -> Line:
    return {"type": "turn.started"}


def turn_completed(usage: Mapping[str, int]) -> Line:
    """`usage` counts for the whole thread; what is not known is 0."""
    counts = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
    return {"type": "turn.completed", "usage": {name: usage.get(name, 0) for name in counts}}


def turn_failed(message: str) -> Line:
    return {"type": "turn.failed", "error": {"message": message}}


def error(message: str) -> Line:
    return {"type": "error", "message": message}


def item_started(item: ExecItem) -> Line:
    return {"type": "item.started", "item": item}


def item_updated(item: ExecItem) -> Line:
    return {"type": "item.updated", "item": item}


def item_completed(item: ExecItem) -> Line:
    return {"type": "item.completed", "item": item}


def agent_message(item_id: str, text: str) -> ExecItem:
    return {"id": item_id, "type": "agent_message", "text": text}


def reasoning(item_id: str, text: str) -> ExecItem:
    return {"id": item_id, "type": "reasoning", "text": text}


def command_execution(
    item_id: str, command: str, *, status: str, output: str = "", exit_code: int | None = None
) -> ExecItem:
    return {
        "id": item_id,
        "type": "command_execution",
        "command": command,
        "aggregated_output": output,
        "exit_code": exit_code,
        "status": status,
    }


def file_change(item_id: str, changes: Mapping[str, Mapping[str, Any]], *, status: str) -> ExecItem:
    """`changes` as the events of a patch have them; in the order of their paths."""
    told = [{"path": path, "kind": changes[path]["type"]} for path in sorted(changes)]
    return {"id": item_id, "type": "file_change", "changes": told, "status": status}


def mcp_tool_call(
    item_id: str, invocation: Mapping[str, Any], *, status: str, result: Mapping[str, Any] | None = None
) -> ExecItem:
    """`invocation` and `result` as the events of a call have them."""
    answered, error = (result or {}).get("Ok"), (result or {}).get("Err")
    return {
        "id": item_id,
        "type": "mcp_tool_call",
        **{name: invocation[name] for name in ("server", "tool", "arguments")},
        "result": None
        if answered is None
        else {"content": answered["content"], "structured_content": answered.get("structuredContent")},
        "error": None if error is None else {"message": error},
        "status": status,
    }


def web_search(call_id: str, query: str, action: Mapping[str, Any]) -> ExecItem:
    return {"id": call_id, "type": "web_search", "query": query, "action": action}


def todo_list(item_id: str, steps: Iterable[Mapping[str, Any]]) -> ExecItem:
    """`steps` as an update of the plan has them."""
    items = [{"text": step["step"], "completed": step["status"] == "completed"} for step in steps]
    return {"id": item_id, "type": "todo_list", "items": items}


def error_item(item_id: str, message: str) -> ExecItem:
    """Something that is worth knowing and ends nothing."""
    return {"id": item_id, "type": "error", "message": message}
