"""The body of a request, field by field and byte by byte."""

import json
from dataclasses import replace
from typing import Any

import pytest

from pycodex.supervisor.config.provider import Provider
from pycodex.supervisor.model.catalog import Catalog, ModelSettings
from pycodex.supervisor.model.request import (
    BodyEncoder,
    Prompt,
    is_azure_endpoint,
    request_body,
    shell_output_as_text,
)

PROVIDER = Provider(id="own", name="own", base_url="http://127.0.0.1/v1")
AZURE = replace(PROVIDER, name="Azure")
PATCH_TOOL = {"type": "custom", "name": "apply_patch"}
USER = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}


def prompt(model: str = "gpt-5.4", settings: ModelSettings | None = None, **changes: Any) -> Prompt:
    values: dict[str, Any] = {
        "instructions": "Be good.",
        "input": [USER],
        "tools": [],
        "parallel_tool_calls": True,
        "model": model,
        "model_info": Catalog().find(model, settings or ModelSettings()),
        "thread_id": "t-1",
        **changes,
    }
    return Prompt(**values)


def test_keys_come_in_the_reference_order() -> None:
    body = request_body(prompt(service_tier="flex", output_schema={}), PROVIDER)
    assert " ".join(body) == (
        "model instructions input tools tool_choice parallel_tool_calls reasoning store stream include "
        "service_tier prompt_cache_key text"
    )


def test_whole_body() -> None:
    assert request_body(prompt(), PROVIDER) == {
        "model": "gpt-5.4",
        "instructions": "Be good.",
        "input": [USER],
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "reasoning": {"effort": "medium"},
        "store": False,
        "stream": True,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "t-1",
        "text": {"verbosity": "low"},
    }


@pytest.mark.parametrize(
    ("model", "changes", "reasoning"),
    [
        ("gpt-5.4", {"effort": "xhigh", "summary": "detailed"}, {"effort": "xhigh", "summary": "detailed"}),
        ("gpt-5.1", {}, {"effort": "medium", "summary": "auto"}),
        ("gpt-5.1", {"summary": "none"}, {"effort": "medium"}),
        ("unknown", {"effort": "high"}, None),
        ("unknown", {"settings": ModelSettings(supports_reasoning_summaries=True)}, {"summary": "auto"}),
        (
            "unknown",
            {"settings": ModelSettings(supports_reasoning_summaries=True), "summary": "none", "effort": "low"},
            {"effort": "low"},
        ),
    ],
)
def test_reasoning(model: str, changes: dict[str, Any], reasoning: dict[str, str] | None) -> None:
    body = request_body(prompt(model, **changes), PROVIDER)
    assert body["reasoning"] == reasoning
    assert body["include"] == ([] if reasoning is None else ["reasoning.encrypted_content"])


FORMAT = {"type": "json_schema", "strict": True, "schema": "any", "name": "codex_output_schema"}


@pytest.mark.parametrize(
    ("model", "changes", "text"),
    [
        ("gpt-5.4", {"verbosity": "high"}, {"verbosity": "high"}),
        ("gpt-5.4", {"output_schema": "any"}, {"verbosity": "low", "format": FORMAT}),
        ("gpt-5", {}, None),
        ("gpt-5-codex", {"verbosity": "high"}, None),
        ("gpt-5-codex", {"output_schema": "any"}, {"format": FORMAT}),
    ],
)
def test_text(model: str, changes: dict[str, Any], text: dict[str, Any] | None) -> None:
    body = request_body(prompt(model, **changes), PROVIDER)
    assert body.get("text") == text
    assert ("text" in body) == (text is not None)


@pytest.mark.parametrize(("tier", "sent"), [("fast", "priority"), ("flex", "flex")])
def test_service_tier(tier: str, sent: str) -> None:
    assert request_body(prompt(service_tier=tier), PROVIDER)["service_tier"] == sent


def test_the_name_is_sent_as_it_was_given() -> None:
    assert request_body(prompt("acme/gpt-5.4-turbo"), PROVIDER)["model"] == "acme/gpt-5.4-turbo"


@pytest.mark.parametrize(
    ("name", "url", "is_azure"),
    [
        ("azure", None, True),
        ("AZURE", "http://x", True),
        ("x", "https://a.OpenAI.azure.com/openai", True),
        ("x", "https://a.cognitiveservices.azure.com", True),
        ("x", "https://a.aoai.azure.com", True),
        ("x", "https://a.azure-api.net", True),
        ("x", "https://a.azurefd.net", True),
        ("x", "https://a.windows.net/openai", True),
        ("x", "https://a.azurewebsites.net/openai", False),
        ("OpenAI", None, False),
    ],
)
def test_azure(name: str, url: str | None, is_azure: bool) -> None:
    assert is_azure_endpoint(Provider(id="p", name=name, base_url=url)) is is_azure


ITEMS: list[dict[str, Any]] = [
    {"type": "message", "role": "assistant", "content": [], "id": "m"},
    {"type": "reasoning", "summary": [], "content": None, "encrypted_content": "e", "id": "r"},
    {"type": "ghost_snapshot", "ghost_commit": {}},
    {"type": "image_generation_call", "id": "i", "status": "completed", "result": ""},
]


def test_ids_and_snapshots_stay_at_home() -> None:
    body = request_body(prompt(input=ITEMS), PROVIDER)
    assert body["input"] == [
        {"type": "message", "role": "assistant", "content": []},
        {"type": "reasoning", "summary": [], "content": None, "encrypted_content": "e"},
        {"type": "image_generation_call", "id": "i", "status": "completed", "result": ""},
    ]


def test_azure_gets_ids_last_and_stores() -> None:
    body = request_body(prompt(input=ITEMS), AZURE)
    assert body["store"] is True
    assert [list(item)[-1] for item in body["input"]] == ["id", "id", "result"]
    assert [item["id"] for item in body["input"]] == ["m", "r", "i"]


# Outputs of shells

OUTPUT = json.dumps(
    {"output": "Total output lines: 3\n\na\nb\n", "metadata": {"exit_code": 1, "duration_seconds": 1.0}}
)
TOLD = "Exit code: 1\nWall time: 1 seconds\nTotal output lines: 3\nOutput:\na\nb\n"


@pytest.mark.parametrize(
    ("output", "told"),
    [
        (OUTPUT, TOLD),
        (
            '{"output":"x","metadata":{"exit_code":-1,"duration_seconds":0.3}}',
            "Exit code: -1\nWall time: 0.3 seconds\nOutput:\nx",
        ),
        (
            '{"output":"Total output lines: many\\nx","metadata":{"exit_code":0,"duration_seconds":2}}',
            "Exit code: 0\nWall time: 2 seconds\nOutput:\nTotal output lines: many\nx",
        ),
        ("plain", None),
        ("{}", None),
        ("{", None),
        ("[1]", None),
        (
            '{"output":"x","metadata":{"exit_code":0,"duration_seconds":2.0,"remarks":["one",5,"two"]}}',
            "Exit code: 0\nWall time: 2 seconds\none\ntwo\nOutput:\nx",
        ),
        (
            '{"output":"x","metadata":{"exit_code":0,"duration_seconds":2.0,"remarks":5}}',
            "Exit code: 0\nWall time: 2 seconds\nOutput:\nx",
        ),
        ('{"output":"x","metadata":{"exit_code":true,"duration_seconds":2}}', None),
        ('{"output":"x","metadata":{"exit_code":0}}', None),
        ('{"output":5,"metadata":{"exit_code":0,"duration_seconds":2}}', None),
    ],
)
def test_shell_output(output: str, told: str | None) -> None:
    assert shell_output_as_text(output) == told


def exchange(kind: str, name: str, output: object) -> list[dict[str, Any]]:
    answer = "custom_tool_call_output" if kind == "custom_tool_call" else "function_call_output"
    call: dict[str, Any] = {"type": kind, "call_id": "c", "name": name, "arguments": "{}"}
    if kind == "local_shell_call":
        call = {"type": kind, "id": "c", "status": "completed", "action": {}}
    return [call, {"type": answer, "call_id": "c", "output": output}]


@pytest.mark.parametrize(
    ("kind", "name", "is_retold"),
    [
        ("function_call", "shell", True),
        ("function_call", "container.exec", True),
        ("function_call", "apply_patch", True),
        ("custom_tool_call", "apply_patch", True),
        ("local_shell_call", "", True),
        ("function_call", "shell_command", False),
        ("custom_tool_call", "other", False),
    ],
)
def test_a_model_with_the_patch_tool_is_told_shell_outputs_as_text(kind: str, name: str, is_retold: bool) -> None:
    items = exchange(kind, name, OUTPUT)
    with_tool = request_body(prompt(input=items, tools=[PATCH_TOOL]), PROVIDER)["input"][1]["output"]
    without = request_body(prompt(input=items, tools=[{"type": "function", "name": "apply_patch"}]), PROVIDER)
    assert with_tool == (TOLD if is_retold else OUTPUT)
    assert without["input"][1]["output"] == OUTPUT
    assert items[1]["output"] == OUTPUT


def test_parts_and_a_second_output_are_left_alone() -> None:
    parts = [{"type": "input_text", "text": OUTPUT}]
    items = [*exchange("function_call", "shell", parts), *exchange("function_call", "shell", OUTPUT)[1:]]
    sent = request_body(prompt(input=items, tools=[PATCH_TOOL]), PROVIDER)["input"]
    assert [item.get("output") for item in sent[1:]] == [parts, OUTPUT]


# Bytes


def test_bytes_are_the_body() -> None:
    items = [*ITEMS, *exchange("function_call", "shell", OUTPUT), USER, USER]
    asked = prompt(input=items, tools=[PATCH_TOOL, PATCH_TOOL], service_tier="fast", output_schema={"a": "ü"})
    for provider in (PROVIDER, AZURE):
        expected = json.dumps(request_body(asked, provider), ensure_ascii=False, separators=(",", ":")).encode()
        encoder = BodyEncoder(provider)
        assert encoder.encode(asked) == expected
        assert encoder.encode(asked) == expected


def test_tools_decide_anew_how_an_output_is_told() -> None:
    items = exchange("function_call", "shell", OUTPUT)
    encoder = BodyEncoder(PROVIDER)
    outputs = [
        json.loads(encoder.encode(prompt(input=items, tools=tools)))["input"][1]["output"]
        for tools in ([], [PATCH_TOOL], [])
    ]
    assert outputs == [OUTPUT, TOLD, OUTPUT]


class Counted(dict[str, Any]):
    """An item that counts how often it is looked into."""

    looks = 0

    def items(self) -> Any:
        self.looks += 1
        return super().items()


def test_only_new_items_are_encoded() -> None:
    old, new = Counted(USER), Counted(USER)
    encoder = BodyEncoder(PROVIDER)
    encoder.encode(prompt(input=[old]))
    encoder.encode(prompt(input=[old, new]))
    encoder.encode(prompt(input=[USER, old, new]))
    assert (old.looks, new.looks) == (1, 1)


def test_an_item_that_left_the_prompt_is_forgotten() -> None:
    item = Counted(USER)
    encoder = BodyEncoder(PROVIDER)
    for items in ([item], [USER], [item]):
        encoder.encode(prompt(input=items))
    assert item.looks == 2


def test_what_is_no_text_is_sent_as_a_question_mark() -> None:
    item = {"type": "function_call_output", "call_id": "c", "output": "name \udcff"}
    assert b"name ?" in BodyEncoder(PROVIDER).encode(prompt(input=[item]))
