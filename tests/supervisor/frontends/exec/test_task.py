"""`exec` as a whole process: what reaches a terminal, and that whatever fails ends it in words."""

import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import trio

from pycodex.supervisor.model.scripted import Hold, Reply, ScriptedServer, call, say, serve_script
from support.cli import MAIN
from support.interpreter import MINIMAL_ENV, python_argv

HOSTILE = "\x1b]0;title\x07text"


@dataclass
class Place:
    home: Path
    workspace: Path
    server: ScriptedServer

    async def run(
        self, *arguments: str, code: str = MAIN, stdout: int | None = None
    ) -> "subprocess.CompletedProcess[bytes]":
        return await trio.run_process(
            python_argv(code, "exec", "--skip-git-repo-check", *arguments),
            cwd=self.workspace,
            env={**MINIMAL_ENV, "CODEX_HOME": str(self.home)},
            stdin=b"",
            **({"capture_stdout": True} if stdout is None else {"stdout": stdout}),
            capture_stderr=True,
            check=False,
        )


@asynccontextmanager
async def place_of(tmp_path: Path, *script: Reply, config: str = "") -> AsyncIterator[Place]:
    home, workspace = tmp_path / "home", tmp_path / "ws"
    home.mkdir()
    workspace.mkdir()
    async with serve_script(script) as server:
        provider = f'[model_providers.mock]\nname = "mock"\nbase_url = "{server.base_url}"\n'
        (home / "config.toml").write_text(f'model_provider = "mock"\n{provider}{config}')
        yield Place(home, workspace, server)


async def test_answer_does_not_speak_to_a_terminal(tmp_path: Path) -> None:
    terminal, theirs = os.openpty()
    try:
        async with place_of(tmp_path, Reply(parts=say(HOSTILE))) as place:
            done = await place.run("go", stdout=theirs)
        assert done.returncode == 0
        assert os.read(terminal, 1000) == b"\\x1b]0;title\\x07text\r\n"
    finally:
        os.close(terminal)
        os.close(theirs)


async def test_answer_to_a_pipe_is_as_the_model_gave_it(tmp_path: Path) -> None:
    async with place_of(tmp_path, Reply(parts=say(HOSTILE))) as place:
        done = await place.run("go")
    assert done.stdout == f"{HOSTILE}\n".encode()


async def test_names_of_unknown_keys_do_not_speak_to_a_terminal(tmp_path: Path) -> None:
    async with place_of(tmp_path, config='["\\u001b[31m"]\n') as place:
        done = await place.run("go")
    assert b"unknown key `\\x1b[31m`" in done.stderr


async def test_thread_that_cannot_be_made_is_told_by_its_reason(tmp_path: Path) -> None:
    code = (
        "import pycodex.supervisor.context.environment as e\ndef f(*_): raise ValueError('no shell')\n"
        f"e.user_shell = f\n{MAIN}"
    )
    async with place_of(tmp_path) as place:
        done = await place.run("go", code=code)
    assert done.returncode == 1
    assert done.stderr.startswith(b"Error: unexpected ValueError: no shell")


@pytest.mark.parametrize("flags", [(), ("--json",)])
async def test_thread_that_fails_ends_the_run(tmp_path: Path, flags: tuple[str, ...]) -> None:
    code = (
        "import pycodex.supervisor.session.session as s\ndef f(*_): raise ValueError('broken')\n"
        f"s.Session._start_turn = f\n{MAIN}"
    )
    async with place_of(tmp_path) as place:
        done = await place.run("go", *flags, code=code)
    assert done.returncode == 1
    assert b"the thread ended unexpectedly" in (done.stdout if flags else done.stderr)
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only where a device can be full")
async def test_output_that_cannot_be_written_ends_the_turn_in_words(tmp_path: Path) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    async with place_of(tmp_path, Reply(parts=[Hold()])) as place:
        done = await place.run("--json", "go", stdout=full)
        (session,) = place.home.glob("sessions/*/*/*/*.jsonl")
    os.close(full)
    assert (done.returncode, done.stderr) == (1, b"Error: cannot write to standard output: No space left on device\n")
    assert b"turn_aborted" in session.read_bytes().splitlines()[-1]


async def test_last_message_goes_where_it_was_asked_to_go(tmp_path: Path) -> None:
    """A command is confined, the writing of that file is not: a link that a command made must not lead it away."""
    precious = tmp_path / "precious"
    precious.write_text("as it was")
    made = call("exec_command", {"cmd": f"ln -s {precious} out.txt", "login": False})
    async with place_of(tmp_path, Reply(parts=made), Reply(parts=say("overwritten"))) as place:
        done = await place.run("-s", "workspace-write", "-o", "out.txt", "go")
        assert (place.workspace / "out.txt").is_symlink()
    assert precious.read_text() == "as it was"
    assert b"Failed to write last message file" in done.stderr


async def test_question_of_the_model_does_not_hold_up_the_run(tmp_path: Path) -> None:
    option = {"label": "A", "description": "a"}
    question = {"id": "q", "header": "h", "question": "Which?", "options": [option]}
    asked = call("request_user_input", {"questions": [question]}, "c")
    async with place_of(tmp_path, Reply(parts=asked), Reply(parts=say("on my own"))) as place:
        done = await place.run("-c", "features.default_mode_request_user_input=true", "go")
        (item,) = [each for each in place.server.requests[1].body["input"] if each.get("call_id") == "c"][1:]
    assert (done.returncode, done.stdout) == (0, b"on my own\n")
    assert item["output"] == '{"answers":{}}'
