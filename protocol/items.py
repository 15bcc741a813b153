"""Items of the conversation with the model, in the form they have on the wire and in session files.

Owns the shapes: what an item is, which of its fields are known, which are sent. An item is a plain map, because it goes
from one JSON document to the next, and most of it is never looked at. Does no I/O.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Item = dict[str, Any]
    Part = dict[str, Any]

FUNCTION_CALL = "function_call"
CUSTOM_TOOL_CALL = "custom_tool_call"
LOCAL_SHELL_CALL = "local_shell_call"
TOOL_SEARCH_CALL = "tool_search_call"

# Known fields after `type`: required, then those left out when absent. `id` is kept in memory but never written.
_FIELDS: "dict[str, tuple[tuple[str, ...], tuple[str, ...]]]" = {
    "message": (("role", "content"), ("end_turn", "phase")),
    "reasoning": (("summary",), ("content", "encrypted_content")),
    LOCAL_SHELL_CALL: (("status", "action"), ("call_id",)),
    FUNCTION_CALL: (("name", "arguments", "call_id"), ("namespace",)),
    TOOL_SEARCH_CALL: (("execution", "arguments"), ("call_id", "status")),
    "function_call_output": (("call_id", "output"), ()),
    CUSTOM_TOOL_CALL: (("call_id", "name", "input"), ("status",)),
    "custom_tool_call_output": (("call_id", "output"), ()),
    "tool_search_output": (("status", "execution", "tools"), ("call_id",)),
    "web_search_call": ((), ("status", "action")),
    "image_generation_call": (("id", "status", "result"), ("revised_prompt",)),
    "ghost_snapshot": (("ghost_commit",), ()),
    "compaction": (("encrypted_content",), ()),
}
# Kinds of parts, by the field that holds them: each with the texts that it must have, then those that it may have.
_MESSAGE_PARTS = {"input_text": ("text",), "output_text": ("text",), "input_image": ("image_url", "detail")}
_OUTPUT_PARTS = {"input_text": ("text",), "input_image": ("image_url", "detail")}
_PARTS: "dict[tuple[str, str], dict[str, tuple[str, ...]]]" = {
    ("message", "content"): _MESSAGE_PARTS,
    ("function_call_output", "output"): _OUTPUT_PARTS,
    ("custom_tool_call_output", "output"): _OUTPUT_PARTS,
    ("reasoning", "summary"): {"summary_text": ("text",)},
    ("reasoning", "content"): {"reasoning_text": ("text",), "text": ("text",)},
}
_INSTEAD_OF_PARTS: "dict[tuple[str, str], tuple[type, ...]]" = {
    ("function_call_output", "output"): (str,),
    ("custom_tool_call_output", "output"): (str,),
    ("reasoning", "content"): (type(None),),
}
_ALIASES = {"compaction_summary": "compaction"}
_TEXTS = ("role", "name", "arguments", "call_id", "input")
_CALLS = {
    FUNCTION_CALL: "function_call_output",
    CUSTOM_TOOL_CALL: "custom_tool_call_output",
    LOCAL_SHELL_CALL: "function_call_output",
    TOOL_SEARCH_CALL: "tool_search_output",
}
KNOWN_KINDS = frozenset(_FIELDS)
CALL_KINDS = frozenset(_CALLS)
OUTPUT_KINDS = frozenset(_CALLS.values())


def known_item(raw: object) -> "Item | None":
    """The item with the fields we know, in their order; None if it is of an unknown kind or malformed."""
    if type(raw) is not dict or type(raw.get("type")) is not str:
        return None
    given: str = raw["type"]
    kind = _ALIASES.get(given, given)
    shape = _FIELDS.get(kind)
    if shape is None:
        return None
    required, optional = shape
    item: Item = {"type": kind}
    for name in required:
        if name not in raw:
            return None
        item[name] = raw[name]
    if kind == "reasoning":
        # Written even when the model sent none.
        item["content"] = raw.get("content")
        item["encrypted_content"] = raw.get("encrypted_content")
    else:
        for name in optional:
            if raw.get(name) is not None:
                item[name] = raw[name]
    if not _has_texts(kind, item) or not _took_parts(kind, item):
        return None
    if type(raw.get("id")) is str:
        item["id"] = raw["id"]
    return item


def _has_texts(kind: str, item: "Item") -> bool:
    # The arguments of a tool search are a map.
    texts = ("execution",) if kind == TOOL_SEARCH_CALL else _TEXTS
    return all(type(item[name]) is str for name in texts if name in item)


def _took_parts(kind: str, item: "Item") -> bool:
    """Reduce the parts to what is known of them; False if there is one that nobody could send back."""
    for (owner, name), shapes in _PARTS.items():
        if owner != kind or type(item[name]) in _INSTEAD_OF_PARTS.get((owner, name), ()):
            continue
        if not isinstance(item[name], list):
            return False
        parts = [_known_part(part, shapes) for part in item[name]]
        if None in parts:
            return False
        item[name] = parts
    return True


def _known_part(raw: object, shapes: "dict[str, tuple[str, ...]]") -> "Part | None":
    if type(raw) is not dict or type(raw.get("type")) is not str or raw["type"] not in shapes:
        return None
    required, *optional = shapes[raw["type"]]
    if type(raw.get(required)) is not str:
        return None
    part = {"type": raw["type"], required: raw[required]}
    part.update((name, raw[name]) for name in optional if type(raw.get(name)) is str)
    return part


def written(item: "Item") -> "Item":
    """The item as it is sent and stored: without its id, and without raw reasoning that says nothing."""
    kind = item["type"]
    if kind == "image_generation_call" or ("id" not in item and kind != "reasoning"):
        return item
    plain = {name: value for name, value in item.items() if name != "id"}
    if kind == "reasoning":
        content = plain.get("content")
        if content is not None and not any(part.get("type") == "reasoning_text" for part in content):
            del plain["content"]
    return plain


def message(role: str, parts: "Iterable[Part]") -> "Item":
    return {"type": "message", "role": role, "content": list(parts)}


def input_text(text: str) -> "Part":
    return {"type": "input_text", "text": text}


def output_text(text: str) -> "Part":
    return {"type": "output_text", "text": text}


def input_image(url: str) -> "Part":
    return {"type": "input_image", "image_url": url}


def texts_of(item: "Item") -> "list[str]":
    """The texts of a message, of whatever kind."""
    return [part["text"] for part in item.get("content") or () if type(part.get("text")) is str]


def call_id_of(item: "Item") -> "str | None":
    """What ties a call to its output."""
    call_id = item.get("call_id")
    if call_id is None and item["type"] == LOCAL_SHELL_CALL:
        call_id = item.get("id")
    return call_id if type(call_id) is str else None


def output_for(call: "Item", output: "str | list[Part]") -> "Item":
    """The answer to a call, of the kind that goes with it."""
    kind = _CALLS[call["type"]]
    if kind == "tool_search_output":
        return {
            "type": kind,
            "call_id": call_id_of(call),
            "status": "completed",
            "execution": "client",
            "tools": output if isinstance(output, list) else [],
        }
    return {"type": kind, "call_id": call_id_of(call) or "", "output": output}


def output_kind(call: "Item") -> str:
    return _CALLS[call["type"]]
