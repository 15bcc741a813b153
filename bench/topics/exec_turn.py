"""`pycodex exec` on a scripted model: how long until it asks, and how long a tool call takes, beside native Codex."""

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import trio

from bench.figures import NOT_INSTALLED, Figure, Topic, absent, at_most, timing
from bench.measure import Spread, spread_of
from bench.rivals import codex_program
from bench.scene import Scene
from pycodex.supervisor.model.scripted import Reply, Request, call, say, serve_script

CALLS = 30
CONFIG = """\
model = "gpt-5.4"
model_provider = "bench"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.bench]
name = "bench"
base_url = "{base_url}"
"""
OURS, CODEX = "pycodex exec", "codex exec"
MAX_START, MAX_CALL = 2.0, 0.15


@dataclass(slots=True)
class Turns:
    """What the runs of one program took."""

    starts_ms: list[float] = field(default_factory=list)
    calls_ms: list[float] = field(default_factory=list)


async def measure(scene: Scene) -> list[Figure]:
    codex = codex_program()
    programs: dict[str, Sequence[str]] = {OURS: scene.pycodex}
    if codex is not None:
        programs[CODEX] = (codex,)
    turns = {name: Turns() for name in programs}
    for _ in range(scene.scaled(7, 1)):
        for name, program in programs.items():
            await _run(program, scene, turns[name])
    starts = {name: spread_of(each.starts_ms) for name, each in turns.items()}
    calls = {name: spread_of(each.calls_ms) for name, each in turns.items()}
    figures = [
        *_compared("start to first request", starts, MAX_START),
        *_compared("tool call, answer to next request", calls, MAX_CALL),
    ]
    return figures if codex is not None else [*figures, absent(CODEX, NOT_INSTALLED)]


def _compared(what: str, spreads: dict[str, Spread], most: float) -> list[Figure]:
    rival = spreads.get(CODEX)
    goal = () if rival is None else (at_most(f"p50 <= {most:g} x codex", spreads[OURS].p50, most * rival.p50),)
    return [timing(f"{name}: {what}", each, goals=goal if name == OURS else ()) for name, each in spreads.items()]


async def _run(program: Sequence[str], scene: Scene, turns: Turns) -> None:
    asked_at: list[float] = []

    def answer(request: Request) -> Reply:
        if not request.path.endswith("/responses"):
            return Reply(status=404, body=b"{}")
        asked_at.append(time.perf_counter())
        return Reply(parts=call("exec_command", {"cmd": "true"}) if len(asked_at) <= CALLS else say("done"))

    config = scene.codex_home / "config.toml"
    async with serve_script(answer) as server:
        config.write_text(CONFIG.format(base_url=server.base_url), encoding="utf-8")
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


TOPIC = Topic("exec", "a turn of pycodex exec on a scripted model", measure)
