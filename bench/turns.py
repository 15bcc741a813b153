"""Turns of an agent on a scripted model, timed from outside.

Owns the model that asks for the same call again and again, and the moments of its requests. Works for any program that
takes the arguments of `exec`. Takes what to call, gives what the runs took.
"""

import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import trio

from bench.scene import Scene
from pycodex.supervisor.model.scripted import Event, Reply, Request, call, say, serve_script

CALLS = 30
CONFIG = """\
model = "{model}"
model_provider = "bench"
check_for_update_on_startup = false
{settings}
[analytics]
enabled = false
[model_providers.bench]
name = "bench"
base_url = "{base_url}"
"""

Asks = Callable[[int], list[Event]]
"""What the model wants in the answer of this number, from 1 on."""


def asks_for_true(number: int) -> list[Event]:
    del number
    return call("exec_command", {"cmd": "true"})


@dataclass(slots=True)
class Turns:
    """What the runs of one program took."""

    starts_ms: list[float] = field(default_factory=list)
    calls_ms: list[float] = field(default_factory=list)


async def run_turn(
    program: Sequence[str],
    scene: Scene,
    turns: Turns,
    *,
    asks: Asks = asks_for_true,
    model: str = "gpt-5.4",
    settings: str = "",
) -> None:
    asked_at: list[float] = []

    def answer(request: Request) -> Reply:
        if not request.path.endswith("/responses"):
            return Reply(status=404, body=b"{}")
        asked_at.append(time.perf_counter())
        return Reply(parts=asks(len(asked_at)) if len(asked_at) <= CALLS else say("done"))

    config = scene.codex_home / "config.toml"
    async with serve_script(answer) as server:
        text = CONFIG.format(base_url=server.base_url, model=model, settings=settings)
        config.write_text(text, encoding="utf-8")
        try:
            started_at = time.perf_counter()
            await trio.run_process(
                [*program, "exec", "--json", "--full-auto", "go"],
                cwd=scene.workspace,
                env=scene.env,
                capture_stdout=True,
                stderr=subprocess.DEVNULL,
            )
        finally:
            config.unlink()
    turns.starts_ms.append((asked_at[0] - started_at) * 1000)
    # The first call also waits for the workers to get ready.
    turns.calls_ms += [(after - before) * 1000 for before, after in pairwise(asked_at[1:])]
