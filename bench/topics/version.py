"""`pycodex --version`: the floor of every start."""

import sys

from bench.figures import Figure, Topic, at_most, timing
from bench.measure import in_turns, process
from bench.orders import TRUE
from bench.rivals import codex_program, sort_out
from bench.scene import Scene

BASELINE = "subprocess.run /bin/true"
INTERPRETER = "python -I -c pass"
OURS = "pycodex --version"
CODEX = "codex --version"
MAX_MS = 60


async def measure(scene: Scene) -> list[Figure]:
    codex = codex_program()
    rivals, missing = sort_out({CODEX: [codex, "--version"] if codex else None}, scene)
    commands = {
        BASELINE: [TRUE],
        INTERPRETER: [sys.executable, "-I", "-c", "pass"],
        OURS: [*scene.pycodex, "--version"],
        **rivals,
    }
    variants = {name: process(argv, cwd=scene.workspace, env=scene.env) for name, argv in commands.items()}
    spreads = await in_turns(variants, rounds=scene.scaled(60, 10))
    goals = {OURS: (at_most(f"p50 <= {MAX_MS} ms", spreads[OURS].p50, MAX_MS),)}
    figures = [
        timing(name, spread, baseline=spreads[BASELINE], goals=goals.get(name, ())) for name, spread in spreads.items()
    ]
    return [*figures, *missing.values()]


TOPIC = Topic("version", "pycodex --version", measure)
