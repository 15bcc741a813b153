"""Session files made by hand: lines, turns and whole files."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Line = dict[str, Any]
Item = dict[str, Any]

THREAD_ID = "01950000-0000-7000-8000-0000000000aa"
STAMP = "2026-03-01T10:00:00.000Z"


def line(kind: str, payload: dict[str, Any]) -> Line:
    return {"timestamp": STAMP, "type": kind, "payload": payload}


def meta(thread_id: str = THREAD_ID, **more: Any) -> Line:
    payload = {
        "id": thread_id,
        "timestamp": STAMP,
        "cwd": "/w",
        "originator": "pycodex",
        "cli_version": "0.116.0",
        "source": "cli",
        "model_provider": "mock",
    }
    return line("session_meta", {**payload, **more})


def event(name: str, **fields: Any) -> Line:
    return line("event_msg", {"type": name, **fields})


def item(payload: Item) -> Line:
    return line("response_item", payload)


def message(role: str, text: str) -> Item:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def call(call_id: str, kind: str = "function_call") -> Item:
    if kind == "custom_tool_call":
        return {"type": kind, "call_id": call_id, "name": "apply_patch", "input": "x"}
    return {"type": kind, "name": "exec_command", "arguments": "{}", "call_id": call_id}


def output(call_id: str, said: "str | list[dict[str, Any]]", kind: str = "function_call_output") -> Item:
    return {"type": kind, "call_id": call_id, "output": said}


def said_by_user(text: str) -> list[Line]:
    return [
        item(message("user", text)),
        event("user_message", message=text, images=[], local_images=[], text_elements=[]),
    ]


def said_by_agent(text: str) -> list[Line]:
    return [event("agent_message", message=text), item(message("assistant", text))]


def turn_context(turn_id: str | None = None, **more: Any) -> Line:
    payload = {
        "cwd": "/w",
        "approval_policy": "never",
        "sandbox_policy": {"type": "read-only"},
        "model": "gpt-5.4",
        "summary": "none",
        **more,
    }
    return line("turn_context", payload if turn_id is None else {"turn_id": turn_id, **payload})


def started(turn_id: str) -> Line:
    return event("task_started", turn_id=turn_id, model_context_window=1000, collaboration_mode_kind="default")


def complete(turn_id: str) -> Line:
    return event("task_complete", turn_id=turn_id, last_agent_message=None)


def turn(turn_id: str, asked: str, answered: str, *middle: Line) -> list[Line]:
    """A whole turn, with its settings."""
    head = [started(turn_id), turn_context(turn_id), *said_by_user(asked)]
    return [*head, *middle, *said_by_agent(answered), complete(turn_id)]


def rolled_back(turns: int) -> Line:
    return event("thread_rolled_back", num_turns=turns)


def compacted(summary: str, replacement: list[Item] | None = None) -> Line:
    kept = {} if replacement is None else {"replacement_history": replacement}
    return line("compacted", {"message": summary, **kept})


def text_of(lines: Iterable[Line | str]) -> str:
    return "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines)


def write(path: Path, lines: Iterable[Line | str]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text_of(lines), encoding="utf-8")
    return str(path)


def place(codex_home: Path, thread_id: str, lines: Iterable[Line | str], stamp: str = "2026-03-01T10-00-00") -> str:
    """Write a file where sessions of that time lie."""
    return write(codex_home / "sessions" / stamp[:10].replace("-", "/") / f"rollout-{stamp}-{thread_id}.jsonl", lines)


def texts(items: Iterable[Item]) -> list[str]:
    """What was said, for comparing: `user: hello`."""
    return [
        f"{each['role']}: {''.join(part['text'] for part in each['content'])}"
        for each in items
        if each["type"] == "message"
    ]
