"""Items of a turn in the words of the app-server.

Owns how each kind is written. Takes events and items in the form that session files have, so that what is told while it
happens and what is read from a file later are the same. Pure.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pycodex.protocol.durations import milliseconds
from pycodex.protocol.events.exec import USER_SHELL
from pycodex.supervisor.text.argv import shown

Json = dict[str, Any]

IN_PROGRESS = "inProgress"
COMPLETED = "completed"
FAILED = "failed"
DECLINED = "declined"

_INPUT_TYPES = {"local_image": "localImage"}
_SOURCES = {USER_SHELL: "userShell"}
_ACTION_TYPES = {"list_files": "listFiles"}
_SEARCH_FIELDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "search": ("search", ("query", "queries")),
    "open_page": ("openPage", ("url",)),
    "find_in_page": ("findInPage", ("url", "pattern")),
}
_UNSHOWABLE_JOIN = " "


def user_message(item_id: str, inputs: Iterable[Mapping[str, Any]], client_id: str | None = None) -> Json:
    told: Json = {"type": "userMessage", "id": item_id, "content": [_input(each) for each in inputs]}
    return told if client_id is None else {**told, "clientId": client_id}


def _input(given: Mapping[str, Any]) -> Json:
    told = {**given, "type": _INPUT_TYPES.get(given["type"], given["type"])}
    if told["type"] == "text":
        told["text_elements"] = [_text_element(each) for each in told.get("text_elements") or ()]
    return told


def _text_element(given: Mapping[str, Any]) -> Json:
    return {"byteRange": given.get("byte_range"), "placeholder": given.get("placeholder")}


def agent_message(item_id: str, text: str, phase: str | None) -> Json:
    return {"type": "agentMessage", "id": item_id, "text": text, "phase": phase, "memoryCitation": None}


def reasoning(item_id: str, summary: Iterable[str], content: Iterable[str]) -> Json:
    return {"type": "reasoning", "id": item_id, "summary": list(summary), "content": list(content)}


def plan(item_id: str, text: str) -> Json:
    return {"type": "plan", "id": item_id, "text": text}


def web_search(item_id: str, query: str, action: Mapping[str, Any]) -> Json:
    kind, fields = _SEARCH_FIELDS.get(str(action.get("type")), ("other", ()))
    told = {"type": kind, **{name: action.get(name) for name in fields}}
    return {"type": "webSearch", "id": item_id, "query": query, "action": told}


def image_view(item_id: str, path: str) -> Json:
    return {"type": "imageView", "id": item_id, "path": path}


def context_compaction(item_id: str) -> Json:
    return {"type": "contextCompaction", "id": item_id}


def entered_review(item_id: str, event: Mapping[str, Any]) -> Json:
    """Of the event that tells it; those of others may lack what it is about."""
    hint = event.get("user_facing_hint")
    return {"type": "enteredReviewMode", "id": item_id, "review": hint if isinstance(hint, str) else ""}


def exited_review(item_id: str, event: Mapping[str, Any]) -> Json:
    from pycodex.protocol.review import rendered, stored_report

    return {"type": "exitedReviewMode", "id": item_id, "review": rendered(stored_report(event.get("review_output")))}


def thread_item(item: Mapping[str, Any]) -> Json | None:
    """One that `item_started` and `item_completed` carry; None for a kind that is not known."""
    match item["type"]:
        case "UserMessage":
            return user_message(item["id"], item["content"], item.get("client_id"))
        case "AgentMessage":
            text = "".join(part["text"] for part in item["content"])
            return agent_message(item["id"], text, item.get("phase"))
        case "Reasoning":
            return reasoning(item["id"], item["summary_text"], item.get("raw_content") or ())
        case "WebSearch":
            return web_search(item["id"], item["query"], item["action"])
        case "Plan":
            return plan(item["id"], item["text"])
        case "ContextCompaction":
            return context_compaction(item["id"])
    return None


def command(event: Mapping[str, Any]) -> Json:
    """Of the event that tells its beginning or its end."""
    status = event.get("status", IN_PROGRESS)
    # What was not run has come to no end.
    has_ended = "exit_code" in event and status != DECLINED
    return {
        "type": "commandExecution",
        "id": event["call_id"],
        "command": shown_command(event["command"]),
        "cwd": event["cwd"],
        "processId": event.get("process_id"),
        "source": _SOURCES.get(event.get("source", ""), "agent"),
        "status": status,
        "commandActions": command_actions(event["parsed_cmd"]),
        "aggregatedOutput": (event["aggregated_output"] or None) if has_ended else None,
        "exitCode": event["exit_code"] if has_ended else None,
        "durationMs": milliseconds(event["duration"]) if has_ended else None,
    }


def shown_command(argv: Iterable[str]) -> str:
    """As one line for a shell. No shell takes a word with a NUL: such a command is shown as it is."""
    words = list(argv)
    return _UNSHOWABLE_JOIN.join(words) if any("\0" in word for word in words) else shown(words)


def command_actions(parsed: Iterable[Mapping[str, Any]]) -> list[Json]:
    return [_command_action(each) for each in parsed]


def _command_action(parsed: Mapping[str, Any]) -> Json:
    kind = parsed["type"]
    told: Json = {"type": _ACTION_TYPES.get(kind, kind), "command": parsed["cmd"]}
    told.update((name, parsed.get(name)) for name in ("name", "query", "path") if name in parsed)
    return told


def file_change(event: Mapping[str, Any]) -> Json:
    changes = [_change(path, change) for path, change in event["changes"].items()]
    changes.sort(key=lambda change: change["path"])
    return {
        "type": "fileChange",
        "id": event["call_id"],
        "changes": changes,
        "status": event.get("status", IN_PROGRESS),
    }


def _change(path: str, change: Mapping[str, Any]) -> Json:
    if change["type"] != "update":
        return {"path": path, "kind": {"type": change["type"]}, "diff": change["content"]}
    move_path = change.get("move_path")
    diff = change["unified_diff"]
    if move_path is not None:
        diff += f"\n\nMoved to: {move_path}"
    return {"path": path, "kind": {"type": "update", "move_path": move_path}, "diff": diff}


def dynamic_tool_call(event: Mapping[str, Any]) -> Json:
    """Of the request, whose names are those of the app-server already, or of the response."""
    success, namespace = event.get("success"), event.get("namespace")
    status = IN_PROGRESS if success is None else COMPLETED if success else FAILED
    return {
        "type": "dynamicToolCall",
        "id": event["callId"] if "callId" in event else event["call_id"],
        "tool": event["tool"],
        **({} if namespace is None else {"namespace": namespace}),
        "arguments": event["arguments"],
        "status": status,
        "contentItems": None if success is None else list(event["content_items"]),
        "success": success,
        "durationMs": None if success is None else milliseconds(event["duration"]),
    }


def mcp_tool_call(event: Mapping[str, Any]) -> Json:
    """Of the event that tells its beginning or its end."""
    result = event.get("result")
    answered, error = (result or {}).get("Ok"), (result or {}).get("Err")
    has_failed = error is not None or (answered or {}).get("isError") is True
    return {
        "type": "mcpToolCall",
        "id": event["call_id"],
        **{name: event["invocation"][name] for name in ("server", "tool")},
        "status": IN_PROGRESS if result is None else FAILED if has_failed else COMPLETED,
        "arguments": event["invocation"].get("arguments"),
        "result": None
        if answered is None
        else {"content": answered["content"], "structuredContent": answered.get("structuredContent")},
        "error": None if error is None else {"message": error},
        "durationMs": None if result is None else milliseconds(event["duration"]),
    }
