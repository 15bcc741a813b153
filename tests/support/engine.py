"""The engine in this process, with a scripted model and real workers, and talks with its threads.

Owns a scratch home and workspace, the settings that lead to the scripted model, and the reading of events. Knows
nothing of what is said.
"""

import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any

from pycodex.protocol.events.turn import SessionConfigured, TaskComplete, TurnAborted
from pycodex.protocol.events.union import AnyEvent
from pycodex.protocol.ops import Interrupt, UserTurn
from pycodex.protocol.user_input import Text
from pycodex.supervisor.config.config import Config, Flags
from pycodex.supervisor.config.load import load_config
from pycodex.supervisor.model.headers import identity_of
from pycodex.supervisor.model.scripted import Event, Script, ScriptedServer, call, serve_script
from pycodex.supervisor.session.codex_thread import CodexThread
from pycodex.supervisor.session.outbox import OutboxClosed
from pycodex.supervisor.threads import ThreadManager, open_threads
from support.interpreter import MINIMAL_ENV
from support.pools import short_base

PROVIDER = "mock"
MODEL = "gpt-5.4"

Kind = type[Any] | UnionType


@dataclass(frozen=True)
class Place:
    """A home and a workspace for one engine, or for several after each other."""

    home: Path
    workspace: Path
    runtime: str

    @property
    def env(self) -> dict[str, str]:
        """What `pycodex` gets to see; no key, no proxy and no setting of whoever runs the tests."""
        return {
            **MINIMAL_ENV,
            "CODEX_HOME": str(self.home),
            "HOME": str(self.home.parent),
            "XDG_RUNTIME_DIR": self.runtime,
            "TZ": "Etc/UTC",
        }

    def point_at(self, base_url: str, **provider: Any) -> None:
        """Write the configuration: one provider there, which is not asked twice unless the test wants it."""
        entry = {
            "name": "Mock",
            "base_url": base_url,
            "request_max_retries": 0,
            "stream_max_retries": 0,
            "stream_idle_timeout_ms": 60_000,
            **provider,
        }
        lines = [
            f'model = "{MODEL}"',
            f'model_provider = "{PROVIDER}"',
            f"[model_providers.{PROVIDER}]",
            *(f"{key} = {json.dumps(value)}" for key, value in entry.items()),
        ]
        (self.home / "config.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def sessions(self) -> list[Path]:
        return sorted((self.home / "sessions").rglob("*.jsonl"))

    def lines(self) -> list[dict[str, Any]]:
        """Of the only session file."""
        (path,) = self.sessions()
        return lines_of(path)


@contextmanager
def open_place(base: Path) -> Iterator[Place]:
    """`base` is a directory of the test's own. Afterwards no socket may be left."""
    home, workspace = base / "home" / ".codex", base / "ws"
    home.mkdir(parents=True)
    workspace.mkdir()
    subprocess.run(["git", "init", "-q", str(workspace)], check=True, env={**MINIMAL_ENV, "HOME": str(base)})
    with short_base() as runtime:
        yield Place(home, workspace, runtime)
        assert os.listdir(runtime) == []


class Talk:
    """One thread, and all that it said so far."""

    def __init__(self, thread: CodexThread) -> None:
        self.thread = thread
        self.events: list[Any] = []
        """Of any kind: a test knows which one it looks at."""

    async def event(self) -> Any:
        event = await self.thread.next_event()
        self.events.append(event)
        return event

    async def until(self, kind: Kind, holds: Callable[[Any], bool] = lambda _: True) -> Any:
        """Read on up to the next such event."""
        while not (isinstance(event := await self.event(), kind) and holds(event)):
            pass
        return event

    async def say(self, text: str, **wish: Any) -> str:
        """Start a turn; gives its id."""
        return await self.thread.submit(UserTurn(items=(Text(text=text),), **wish))

    async def ended(self) -> list[Any]:
        """Read to the end of the turn; gives what came since the call."""
        start = len(self.events)
        await self.until(TaskComplete | TurnAborted)
        return self.events[start:]

    async def turn(self, text: str, **wish: Any) -> list[Any]:
        await self.say(text, **wish)
        return await self.ended()

    async def interrupt(self) -> None:
        await self.thread.submit(Interrupt())

    async def rest(self) -> list[Any]:
        """What comes until nothing more will."""
        start = len(self.events)
        while True:
            try:
                await self.event()
            except OutboxClosed:
                return self.events[start:]


@dataclass
class Engine:
    place: Place
    server: ScriptedServer
    threads: ThreadManager

    def config(self, *overrides: str, cwd: Path | None = None, **flags: Any) -> Config:
        return config_of(self.place, *overrides, cwd=cwd, **flags)

    async def start(self, *overrides: str, **flags: Any) -> Talk:
        """A new thread, from its second event on."""
        return await self.talk_with(await self.threads.start(self.config(*overrides, **flags), source="exec"))

    async def resume(self, path: Path | str, *overrides: str, **flags: Any) -> Talk:
        return await self.talk_with(await self.threads.resume(self.config(*overrides, **flags), str(path)))

    async def talk_with(self, thread: CodexThread) -> Talk:
        talk = Talk(thread)
        assert isinstance(await talk.event(), SessionConfigured)
        return talk

    @property
    def inputs(self) -> list[list[dict[str, Any]]]:
        """What the model was sent with each request."""
        return [request.body["input"] for request in self.server.requests]


def config_of(place: Place, *overrides: str, cwd: Path | None = None, **flags: Any) -> Config:
    return load_config(
        env=place.env,
        overrides=overrides,
        cwd=str(cwd or place.workspace),
        flags=Flags(**{"approval_policy": "never", **flags}),
        system_dir=str(place.home / "no-system"),
    )


@asynccontextmanager
async def open_engine(place: Place, script: Script, **provider: Any) -> AsyncIterator[Engine]:
    """Afterwards the engine has ended in good order."""
    identity = identity_of(place.env, originator="codex_exec", client="codex-exec; 0.116.0")
    async with serve_script(script) as server:
        place.point_at(server.base_url, **provider)
        async with open_threads(identity=identity, env=place.env) as threads:
            yield Engine(place, server, threads)


# Words


def run(cmd: str, call_id: str | None = None, **arguments: Any) -> list[Event]:
    """The model runs a command."""
    return call("exec_command", {"cmd": cmd, "login": False, **arguments}, call_id)


def plan(*steps: str, call_id: str | None = None) -> list[Event]:
    return call("update_plan", {"plan": [{"step": step, "status": "pending"} for step in steps]}, call_id)


def kinds(events: Iterable[AnyEvent]) -> list[str]:
    return [event._tag for event in events]


def of_kind(events: Iterable[AnyEvent], kind: Kind) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def lines_of(path: Path | str) -> list[dict[str, Any]]:
    """Every line of a session file; none may be anything but JSON."""
    text = Path(path).read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def line_kinds(lines: Iterable[Mapping[str, Any]]) -> list[str]:
    """`event_msg` and items by what they hold: `task_started`, `message:user`, `function_call`."""
    return [_line_kind(line["type"], line["payload"]) for line in lines]


def _line_kind(kind: str, payload: Mapping[str, Any]) -> str:
    if kind == "event_msg":
        return str(payload["type"])
    if kind == "response_item":
        return f"message:{payload['role']}" if payload["type"] == "message" else str(payload["type"])
    return kind


def outputs(items: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What calls were answered with, by their ids."""
    return {item["call_id"]: item["output"] for item in items if item["type"] == "function_call_output"}


def said(items: Sequence[Mapping[str, Any]], role: str) -> list[str]:
    """Texts of the messages of one role."""
    return [
        "".join(part["text"] for part in item["content"])
        for item in items
        if item["type"] == "message" and item["role"] == role
    ]
