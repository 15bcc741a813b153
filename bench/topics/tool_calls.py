"""What a call of each tool takes in a turn, beside a command of native Codex."""

import json
from dataclasses import dataclass

from bench.figures import NOT_INSTALLED, Figure, Goal, Topic, absent, at_most, timing
from bench.measure import Spread, spread_of
from bench.rivals import codex_program
from bench.scene import Scene
from bench.turns import Asks, Turns, asks_for_true, run_turn
from pycodex.supervisor.model.scripted import Event, call, custom

CODEX = "codex: exec_command"
MAX_FILE_TOOL = 0.10
MODEL = "bench-model"
PATCHED, READ = "patched.txt", "read.txt"


@dataclass(frozen=True, slots=True)
class _Tool:
    name: str
    asks: Asks
    most: float | None = None
    """At most so much of a command of Codex's."""


def _patch(number: int) -> list[Event]:
    """Back and forth, so that every patch changes something."""
    old, new = ("one", "two") if number % 2 else ("two", "one")
    return custom(
        "apply_patch", f"*** Begin Patch\n*** Update File: {PATCHED}\n@@\n a\n-{old}\n+{new}\n b\n*** End Patch\n"
    )


async def measure(scene: Scene) -> list[Figure]:
    (scene.workspace / PATCHED).write_text("a\none\nb\n", encoding="utf-8")
    (scene.workspace / READ).write_text("a line\n" * 200, encoding="utf-8")
    catalogue = scene.codex_home / "models.json"
    catalogue.write_text(json.dumps({"models": [_model()]}), encoding="utf-8")
    settings = f"model_catalog_json = {json.dumps(str(catalogue))}"
    reads = {"file_path": str(scene.workspace / READ), "limit": 50}
    tools = (
        _Tool("exec_command", asks_for_true),
        _Tool("shell", lambda _: call("shell", {"command": ["true"]})),
        _Tool("read_file", lambda _: call("read_file", reads), most=MAX_FILE_TOOL),
        _Tool("apply_patch", _patch, most=MAX_FILE_TOOL),
        _Tool("update_plan", lambda _: call("update_plan", {"plan": []})),
    )
    codex = codex_program()
    rival = Turns()
    turns = {tool.name: Turns() for tool in tools}
    for _ in range(scene.scaled(5, 1)):
        if codex is not None:
            await run_turn((codex,), scene, rival)
        for tool in tools:
            await run_turn(scene.pycodex, scene, turns[tool.name], asks=tool.asks, model=MODEL, settings=settings)
    spread = spread_of(rival.calls_ms) if codex is not None else None
    figures = [_figure(tool, spread_of(turns[tool.name].calls_ms), spread) for tool in tools]
    return [*figures, absent(CODEX, NOT_INSTALLED) if spread is None else timing(CODEX, spread)]


def _figure(tool: _Tool, ours: Spread, codex: Spread | None) -> Figure:
    goals: tuple[Goal, ...] = ()
    if tool.most is not None and codex is not None:
        goals = (at_most(f"p50 <= {tool.most:g} x {CODEX}", ours.p50, tool.most * codex.p50),)
    return timing(f"pycodex: {tool.name}", ours, goals=goals)


def _model() -> dict[str, object]:
    """One that is offered all of them."""
    return {
        "slug": MODEL,
        "display_name": MODEL,
        "truncation_policy": {"mode": "tokens", "limit": 10_000},
        "shell_type": "shell_command",
        "apply_patch_tool_type": "freeform",
        "supports_reasoning_summaries": False,
        "context_window": 272_000,
        "experimental_supported_tools": ["read_file"],
    }


TOPIC = Topic("tools", "calls of each tool in a turn", measure)
