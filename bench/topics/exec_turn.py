"""`pycodex exec` on a scripted model: how long until it asks, and how long a tool call takes, beside native Codex."""

from collections.abc import Sequence

from bench.figures import NOT_INSTALLED, Figure, Topic, absent, at_most, timing
from bench.measure import Spread, spread_of
from bench.rivals import codex_program
from bench.scene import Scene
from bench.turns import Turns, run_turn

OURS, CODEX = "pycodex exec", "codex exec"
MAX_START, MAX_CALL = 2.0, 0.15


async def measure(scene: Scene) -> list[Figure]:
    codex = codex_program()
    programs: dict[str, Sequence[str]] = {OURS: scene.pycodex}
    if codex is not None:
        programs[CODEX] = (codex,)
    turns = {name: Turns() for name in programs}
    for _ in range(scene.scaled(7, 1)):
        for name, program in programs.items():
            await run_turn(program, scene, turns[name])
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


TOPIC = Topic("exec", "a turn of pycodex exec on a scripted model", measure)
