"""A model client for tests: what a session would make, in one line.

Owns the wiring only; the server and the script are the test's.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import trio

from pycodex.supervisor.auth.credentials import Credentials
from pycodex.supervisor.auth.keeper import LoginKeeper
from pycodex.supervisor.config.provider import Provider
from pycodex.supervisor.model.catalog import Catalog
from pycodex.supervisor.model.client import ModelClient
from pycodex.supervisor.model.headers import identity_of
from pycodex.supervisor.model.request import Prompt
from pycodex.supervisor.model.stream import StreamEvent, TurnSource
from pycodex.supervisor.model.web import sender
from pycodex.supervisor.net.http import open_http

NO_HOME = "/nonexistent"
THREAD_ID = "0199a213-81c0-7800-8aa1-bbab2a035a53"


@asynccontextmanager
async def open_client(
    base_url: str | None, *, env: Mapping[str, str] | None = None, home: str = NO_HOME, **provider: Any
) -> AsyncIterator[ModelClient]:
    """A client of one provider that neither retries nor waits long, unless it is told to."""
    env = env or {}
    entry = {"id": "own", "name": "own", "request_max_retries": 0, "base_url": base_url, **provider}
    identity = identity_of(env, originator="codex_exec", client="codex-exec; 0.116.0")
    async with open_http(env) as http:
        spawn = trio.lowlevel.spawn_system_task
        keeper = LoginKeeper(home, env=env, send=sender(http, identity), spawn=spawn)
        yield ModelClient(http, Provider(**entry), Credentials(env, keeper), identity, THREAD_ID)


def simple_prompt(text: str = "go", **changes: Any) -> Prompt:
    values: dict[str, Any] = {
        "instructions": "Be good.",
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}],
        "tools": [],
        "parallel_tool_calls": False,
        "model": "gpt-5.4",
        "model_info": Catalog().find("gpt-5.4"),
        "thread_id": THREAD_ID,
        **changes,
    }
    return Prompt(**values)


def no_metadata() -> None:
    return None


async def events_of(turn: TurnSource, prompt: Prompt | None = None) -> list[StreamEvent]:
    """All events of one request."""
    async with turn.stream(prompt or simple_prompt()) as events:
        return [event async for event in events]
