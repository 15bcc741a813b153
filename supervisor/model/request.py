"""What is asked of the model, and its bytes.

Owns the fields of a Responses request, their order, and which form of an item is sent. Does no I/O.

A session's history grows at its end, so the encoded form of an item is kept as long as prompts contain that very
object: items are never changed in place.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pycodex.protocol.items import CALL_KINDS, LOCAL_SHELL_CALL, call_id_of, written
from pycodex.protocol.model_info import ModelInfo
from pycodex.supervisor.config.provider import Provider

if TYPE_CHECKING:
    from pycodex.protocol.items import Item

_AZURE_MARKS = (
    *("openai.azure.", "cognitiveservices.azure.", "aoai.azure."),
    *("azure-api.", "azurefd.", "windows.net/openai"),
)
_TIERS = {"fast": "priority"}
_SHELL_NAMES = ("shell", "container.exec", "apply_patch")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_COMPACTION_FIELDS = ("model", "input", "instructions", "tools", "parallel_tool_calls", "reasoning", "text")
_LINES_HEADER = "Total output lines: "


@dataclass(slots=True, kw_only=True)
class Prompt:
    """One request. `effort`, `summary` and `verbosity` are the turn's wishes; None: the model's default."""

    instructions: str
    input: "list[Item]"
    tools: list[dict[str, Any]]
    parallel_tool_calls: bool
    model: str
    model_info: ModelInfo
    thread_id: str
    effort: str | None = None
    summary: str | None = None
    verbosity: str | None = None
    service_tier: str | None = None
    output_schema: Any = None


def request_body(prompt: Prompt, provider: Provider) -> dict[str, Any]:
    """The request as plain data, keys in the order in which they are sent."""
    fields = _fields(prompt, provider)
    fields["input"] = [
        _wire_item(item, is_retold=is_retold, keep_id=fields["store"]) for item, is_retold in _sent_items(prompt)
    ]
    return fields


def _fields(prompt: Prompt, provider: Provider) -> dict[str, Any]:
    """The request without its items."""
    reasoning = _reasoning(prompt)
    body: dict[str, Any] = {
        "model": prompt.model,
        "instructions": prompt.instructions,
        "input": [],
        "tools": prompt.tools,
        "tool_choice": "auto",
        "parallel_tool_calls": prompt.parallel_tool_calls,
        "reasoning": reasoning,
        "store": is_azure_endpoint(provider),
        "stream": True,
        "include": [] if reasoning is None else ["reasoning.encrypted_content"],
    }
    if prompt.service_tier is not None:
        body["service_tier"] = _TIERS.get(prompt.service_tier, prompt.service_tier)
    body["prompt_cache_key"] = prompt.thread_id
    text = _text(prompt)
    if text:
        body["text"] = text
    return body


def is_azure_endpoint(provider: Provider) -> bool:
    """Azure stores responses, and wants to see the ids that it gave to items."""
    base = (provider.base_url or "").lower()
    return provider.name.lower() == "azure" or any(mark in base for mark in _AZURE_MARKS)


def _reasoning(prompt: Prompt) -> dict[str, str] | None:
    info = prompt.model_info
    if not info.supports_reasoning_summaries:
        return None
    effort = prompt.effort or info.default_reasoning_effort
    summary = prompt.summary or info.default_reasoning_summary
    reasoning = {}
    if effort is not None:
        reasoning["effort"] = effort
    if summary != "none":
        reasoning["summary"] = summary
    return reasoning


def _text(prompt: Prompt) -> dict[str, Any]:
    text: dict[str, Any] = {}
    verbosity = prompt.verbosity or prompt.model_info.default_verbosity
    if prompt.model_info.supports_verbosity and verbosity is not None:
        text["verbosity"] = verbosity
    if prompt.output_schema is not None:
        text["format"] = {
            "type": "json_schema",
            "strict": True,
            "schema": prompt.output_schema,
            "name": "codex_output_schema",
        }
    return text


# Items


def _sent_items(prompt: Prompt) -> "Iterator[tuple[Item, bool]]":
    """The items that are sent, and whether each is a shell's output to be retold as text.

    A model with the freeform patch tool is told the outputs of shells in that tool's manner.
    """
    retells = any(tool.get("type") == "custom" and tool.get("name") == "apply_patch" for tool in prompt.tools)
    shell_calls: set[str] = set()
    for item in prompt.input:
        kind = item["type"]
        if kind == "ghost_snapshot":
            continue
        if not retells:
            yield item, False
            continue
        call_id = call_id_of(item) or ""
        if kind in CALL_KINDS and (kind == LOCAL_SHELL_CALL or item.get("name") in _SHELL_NAMES):
            shell_calls.add(call_id)
        is_retold = kind in _OUTPUTS and call_id in shell_calls
        if is_retold:
            shell_calls.discard(call_id)
        yield item, is_retold


def _wire_item(item: "Item", *, is_retold: bool, keep_id: bool) -> "Item":
    sent = written(item)
    if is_retold and type(item["output"]) is str:
        told = shell_output_as_text(item["output"])
        if told is not None:
            sent = {**sent, "output": told}
    if keep_id and item.get("id") and "id" not in sent:
        sent = {**sent, "id": item["id"]}
    return sent


def shell_output_as_text(output: str) -> str | None:
    """A shell's JSON output as lines of text; None if it is no such JSON."""
    if not output.startswith("{"):
        return None
    try:
        told = json.loads(output)
    except (ValueError, RecursionError):
        return None
    metadata = told.get("metadata")
    if not isinstance(metadata, dict) or type(told.get("output")) is not str:
        return None
    code, seconds = metadata.get("exit_code"), metadata.get("duration_seconds")
    if type(code) is not int or type(seconds) not in (int, float):
        return None
    text: str = told["output"]
    lines = [f"Exit code: {code}", f"Wall time: {str(seconds).removesuffix('.0')} seconds"]
    remarks = metadata.get("remarks")
    if isinstance(remarks, list):
        lines += [remark for remark in remarks if type(remark) is str]
    if text.startswith(_LINES_HEADER):
        count, newline, rest = text[len(_LINES_HEADER) :].partition("\n")
        if newline and count.isascii() and count.isdigit():
            lines.append(f"{_LINES_HEADER}{int(count)}")
            text = rest.removeprefix("\n")
    return "\n".join((*lines, "Output:", text))


# Bytes


def _encoded(value: object) -> bytes:
    # What cannot be text on the wire becomes a question mark: one odd file name must not end a session.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class BodyEncoder:
    """Encodes the requests of one session; its work is that of what is new."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._keep_id = is_azure_endpoint(provider)
        # With the object itself, so that its address stays its own.
        self._items: dict[tuple[int, bool], tuple[Item, bytes]] = {}
        self._tools: dict[int, tuple[dict[str, Any], bytes]] = {}
        self._instructions: tuple[str, bytes] = ("", b'""')

    def encode(self, prompt: Prompt) -> bytes:
        """The bytes of `request_body`."""
        return self._encode(prompt, _fields(prompt, self._provider))

    def encode_for_compaction(self, prompt: Prompt) -> bytes:
        """The same for an endpoint that knows fewer fields."""
        fields = _fields(prompt, self._provider)
        return self._encode(prompt, {name: fields[name] for name in _COMPACTION_FIELDS if fields.get(name) is not None})

    def _encode(self, prompt: Prompt, fields: dict[str, Any]) -> bytes:
        # Joined once, at the end: a long history is megabytes.
        pieces: list[bytes] = []
        for name, value in fields.items():
            pieces.append(b'%c"%s":' % (b"," if pieces else b"{", name.encode()))
            if name == "input":
                pieces += _listed(self._encoded_items(prompt))
            elif name == "tools":
                pieces += _listed(self._encoded_tools(prompt.tools))
            elif name == "instructions":
                pieces.append(self._encoded_instructions(prompt.instructions))
            else:
                pieces.append(_encoded(value))
        pieces.append(b"}")
        return b"".join(pieces)

    def _encoded_items(self, prompt: Prompt) -> list[bytes]:
        known, kept, encoded = self._items, {}, []
        for item, is_retold in _sent_items(prompt):
            key = id(item), is_retold
            entry = known.get(key)
            if entry is None:
                entry = item, _encoded(_wire_item(item, is_retold=is_retold, keep_id=self._keep_id))
            kept[key] = entry
            encoded.append(entry[1])
        self._items = kept
        return encoded

    def _encoded_tools(self, tools: Sequence[dict[str, Any]]) -> list[bytes]:
        known = self._tools
        entries = [known.get(id(tool)) or (tool, _encoded(tool)) for tool in tools]
        self._tools = {id(tool): (tool, data) for tool, data in entries}
        return [data for _, data in entries]

    def _encoded_instructions(self, instructions: str) -> bytes:
        if self._instructions[0] is not instructions:
            self._instructions = instructions, _encoded(instructions)
        return self._instructions[1]


def _listed(values: Sequence[bytes]) -> Iterator[bytes]:
    """The pieces of a JSON list."""
    separator = b"["
    for value in values:
        yield separator
        yield value
        separator = b","
    yield b"]" if values else b"[]"
