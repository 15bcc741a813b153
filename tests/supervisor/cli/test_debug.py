"""`pycodex debug` shows what `pycodex exec` would send, and still runs the sandbox by its older name."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from pycodex.supervisor.model.scripted import Reply, say, serve_script
from support.cli import Ended

Call = Callable[..., Ended]


def shown(ended: Ended) -> list[dict[str, Any]]:
    assert (ended.code, ended.err) == (0, "")
    items: list[dict[str, Any]] = json.loads(ended.out)
    return items


def last_text(items: list[dict[str, Any]]) -> str:
    text: str = items[-1]["content"][-1]["text"]
    return text


async def test_the_input_is_what_exec_sends(pycodex: Call, home: Path, workspace: Path) -> None:
    (workspace / ".git").mkdir()
    (workspace / "AGENTS.md").write_text("Be brief.")
    async with serve_script([Reply(parts=say("ok"))]) as server:
        (home / "config.toml").write_text(
            'model = "gpt-5.4"\nmodel_provider = "mine"\ndeveloper_instructions = "é"\n'
            f'[model_providers.mine]\nname = "mine"\nbase_url = "{server.base_url}"\n'
        )
        sent = await trio.to_thread.run_sync(lambda: pycodex("exec", "-c", "sandbox_mode=workspace-write", "Tell me"))
        assert sent.code == 0, sent.err
        (request,) = server.requests
        ended = await trio.to_thread.run_sync(
            lambda: pycodex("-c", "sandbox_mode=workspace-write", "debug", "prompt-input", "Tell me")
        )
        assert len(server.requests) == 1
    assert shown(ended) == request.body["input"]
    assert len(list((home / "sessions").rglob("*.jsonl"))) == 1, "a session file beside that of exec"


def test_options_are_those_of_exec(pycodex: Call, home: Path, scratch: Path) -> None:
    elsewhere = scratch / "elsewhere"
    elsewhere.mkdir()
    (home / "config.toml").write_text('[profiles.p]\nsandbox_mode = "danger-full-access"\n')
    items = shown(pycodex("debug", "prompt-input", "-C", str(elsewhere), "-p", "p", "-m", "gpt-5.1", "--", "-x"))
    assert last_text(items) == "-x"
    assert f"<cwd>{elsewhere}</cwd>" in items[1]["content"][-1]["text"]
    assert "danger-full-access" in items[0]["content"][0]["text"]


def test_task_may_come_from_stdin_or_not_at_all(pycodex: Call) -> None:
    assert last_text(shown(pycodex("debug", "prompt-input", "-", stdin="from stdin\n"))) == "from stdin\n"
    assert len(shown(pycodex("debug", "prompt-input"))) == 2


def test_picture_that_cannot_be_read_is_told_to_the_model(pycodex: Call) -> None:
    items = shown(pycodex("debug", "prompt-input", "-i", "/nowhere.png", "--", "what is it?"))
    assert [part["text"].partition(":")[0] for part in items[-1]["content"]] == [
        "Codex could not read the local image at `/nowhere.png`",
        "what is it?",
    ]


def test_instructions_are_shown_as_text(pycodex: Call, scratch: Path) -> None:
    (scratch / "mine.md").write_text("Be a pirate.\n")
    ended = pycodex("debug", "prompt-input", "--instructions", "-c", f"model_instructions_file={scratch / 'mine.md'}")
    assert (ended.code, ended.out, ended.err) == (0, "Be a pirate.\n", "")


def test_mistake_in_the_configuration_is_told_as_exec_tells_it(pycodex: Call, home: Path) -> None:
    (home / "config.toml").write_text("model = 3\n")
    ended = pycodex("debug", "prompt-input", "x")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == pycodex("exec", "--skip-git-repo-check", "x").err


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox of Linux")
@pytest.mark.parametrize("words", [("linux",), ("landlock",), ("-c", "model=x", "linux", "--full-auto")])
def test_sandbox_answers_to_its_older_name(pycodex: Call, words: tuple[str, ...]) -> None:
    assert pycodex("debug", *words, "--", "echo", "hi") == Ended(0, "hi\n", "")


def test_alone_it_shows_its_help_on_stderr(pycodex: Call) -> None:
    assert pycodex("debug") == Ended(2, "", pycodex("debug", "--help").out)


@pytest.mark.parametrize("arguments", [("nope",), ("prompt-input", "--nope"), ("prompt-input", "a", "b")])
def test_wrong_usage_is_told(pycodex: Call, arguments: tuple[str, ...]) -> None:
    ended = pycodex("debug", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: un")
