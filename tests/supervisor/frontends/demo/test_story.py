"""The scripted model goes by what it is told, not by the clock."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from pycodex.supervisor.frontends.demo import story
from pycodex.supervisor.model.scripted import Request

LOOKED = '1:def slug(title):\n3:    return title.lower().replace(" ", "-")\n'


def answer(output: str, *, code: int = 0) -> str:
    return f"Command: x\nChunk ID: abc\nWall time: 0.1 seconds\nProcess exited with code {code}\nOutput:\n{output}"


STORY: tuple[tuple[str, str], ...] = (
    (story.LOOK, answer(LOOKED)),
    (story.TEST, answer("FAILED (failures=1)\n", code=1)),
    (story.HOOK, answer("cp: .git/hooks/pre-commit: Read-only file system\n", code=1)),
    (story.HOME_HOOK, answer("mkdir: /home/u/.git-hooks: Read-only file system\n", code=1)),
    (story.EDIT, answer("diff\n")),
    (story.AGAIN, answer("OK\n")),
)


def request(outputs: Mapping[str, str]) -> Request:
    items = [{"type": "message", "role": "user", "content": []}]
    items += [{"type": "function_call_output", "call_id": key, "output": text} for key, text in outputs.items()]
    return Request(
        method="POST", path="/v1/responses", headers={}, raw=json.dumps({"input": items}).encode(), connection=0
    )


def items(outputs: Mapping[str, str]) -> list[dict[str, Any]]:
    parts = story.reply_to(request(outputs)).parts
    return [part["item"] for part in parts if isinstance(part, dict) and part["type"] == "response.output_item.done"]


def called(outputs: Mapping[str, str]) -> list[str]:
    return [item["call_id"] for item in items(outputs) if item["type"] == "function_call"]


def said(outputs: Mapping[str, str]) -> str:
    return "".join(item["content"][0]["text"] for item in items(outputs) if item["type"] == "message")


@pytest.mark.parametrize("told", range(len(STORY)))
def test_each_output_leads_to_the_next_command(told: int) -> None:
    assert STORY[told][0] in called(dict(STORY[:told]))


def test_what_was_refused_is_quoted() -> None:
    assert "Read-only file system" in said(dict(STORY[:3]))


def test_the_line_to_edit_is_the_one_that_was_read() -> None:
    told = {**dict(STORY[:4]), story.LOOK: answer("8:    return title\n")}
    edit = next(item for item in items(told) if item.get("call_id") == story.EDIT)
    assert "'8s/return .*/" in json.loads(edit["arguments"])["cmd"]


def test_without_git_the_file_itself_is_shown() -> None:
    told = {**dict(STORY[:4]), story.LOOK: answer(f"bash: git: command not found\n{LOOKED}")}
    edit = next(item for item in items(told) if item.get("call_id") == story.EDIT)
    assert json.loads(edit["arguments"])["cmd"].endswith("cat slug.py")


def test_the_end_comes_after_the_last_plan() -> None:
    everything = dict(STORY)
    assert called(everything) == ["plan-done"]
    assert called({**everything, "plan-done": "Plan updated"}) == []
    assert said({**everything, "plan-done": "Plan updated"}).startswith("Done: ")


@pytest.mark.parametrize(
    ("call_id", "output"),
    [
        (story.LOOK, answer("")),
        (story.LOOK, "exec_command failed for `x`: the sandbox cannot be set up, so nothing was run"),
        (story.TEST, answer("python3: command not found\n", code=127)),
        (story.TEST, answer("OK\n")),
        (story.HOOK, answer("")),
        (story.HOME_HOOK, answer("")),
        (story.EDIT, answer("sed: no such file\n", code=2)),
        (story.AGAIN, answer("FAILED (failures=1)\n", code=1)),
    ],
)
def test_what_was_not_to_be_expected_ends_the_turn(call_id: str, output: str) -> None:
    number = [key for key, _ in STORY].index(call_id)
    told = {**dict(STORY[:number]), call_id: output}
    assert called(told) == []
    assert said(told)
