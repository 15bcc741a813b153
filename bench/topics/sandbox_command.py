"""`pycodex sandbox` around `true`, beside the native Codex and bubblewrap doing the same."""

from bench.figures import Figure, Topic, at_most, timing
from bench.measure import in_turns, process
from bench.orders import TRUE, workspace_write
from bench.rivals import bwrap_argv, codex_program, sort_out
from bench.scene import Scene

BASELINE = "subprocess.run /bin/true"
ARGUMENTS = ("sandbox", "linux", "--full-auto", "--", "true")
OURS = "pycodex sandbox linux --full-auto -- true"
OURS_READ_ONLY = "pycodex sandbox linux -- true"
CODEX = "codex sandbox linux --full-auto -- true"
BWRAP = "bwrap, equivalent mounts"


async def measure(scene: Scene) -> list[Figure]:
    codex = codex_program()
    candidates = {
        CODEX: [codex, *ARGUMENTS] if codex else None,
        BWRAP: bwrap_argv(workspace_write(scene), [TRUE]),
    }
    rivals, missing = sort_out(candidates, scene)
    commands = {
        BASELINE: [TRUE],
        OURS: [*scene.pycodex, *ARGUMENTS],
        OURS_READ_ONLY: [*scene.pycodex, "sandbox", "linux", "--", "true"],
        **rivals,
    }
    variants = {name: process(argv, cwd=scene.workspace, env=scene.env) for name, argv in commands.items()}
    spreads = await in_turns(variants, rounds=scene.scaled(80, 12))
    goals = {}
    if CODEX in spreads:
        goals[OURS] = (at_most("p50 <= 1 x codex", spreads[OURS].p50, spreads[CODEX].p50),)
    figures = [
        timing(name, spread, baseline=spreads[BASELINE], goals=goals.get(name, ())) for name, spread in spreads.items()
    ]
    return [*figures, *missing.values()]


TOPIC = Topic("sandbox", "one confined command from the command line", measure)
