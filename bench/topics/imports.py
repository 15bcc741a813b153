"""What `pycodex sandbox` loads before it runs a command, module by module."""

import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from statistics import median

import trio

from bench.figures import Figure, Topic, at_most, timing
from bench.measure import elapsed_ms, spread_of
from bench.scene import Scene

SHOWN = 12
_MARK = "import time:"

Loaded = dict[str, float]
"""Milliseconds that each module took by itself."""


async def measure(scene: Scene) -> list[Figure]:
    command = [*scene.pycodex, "sandbox", "linux", "--full-auto", "--", "true"]
    bare_runs: list[Loaded] = []
    our_runs: list[Loaded] = []
    starts_ms: list[float] = []
    for _ in range(scene.scaled(15, 3)):
        start = time.perf_counter()
        bare_runs.append(_loaded([sys.executable, "-c", "pass"], scene))
        starts_ms.append(elapsed_ms(start))
        our_runs.append(_loaded(command, scene))
        await trio.lowlevel.checkpoint()
    bare, ours = _medians(bare_runs), _medians(our_runs)
    added = {name: ms for name, ms in ours.items() if name not in bare}
    largest = sorted(added, key=added.__getitem__, reverse=True)
    total = sum(added.values())
    budget = spread_of(starts_ms)
    goal = at_most("<= 1 x bare interpreter, start to end", total, budget.p50)
    rest = largest[SHOWN:]
    return [
        timing("bare interpreter, start to end", budget),
        Figure("bare interpreter, imports", sum(bare.values()), note=f"{len(bare)} modules"),
        Figure("all that pycodex sandbox adds", total, goals=(goal,), note=f"{len(added)} modules"),
        *(Figure(f"  {name}", added[name]) for name in largest[:SHOWN]),
        Figure("  others", sum(added[name] for name in rest), note=f"{len(rest)} modules"),
    ]


def _loaded(argv: Sequence[str], scene: Scene) -> Loaded:
    # By the environment, because the command's own first line names its interpreter.
    done = subprocess.run(
        list(argv),
        cwd=scene.workspace,
        env={**scene.env, "PYTHONPROFILEIMPORTTIME": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded: Loaded = {}
    for line in done.stderr.splitlines():
        own, _, rest = line.removeprefix(_MARK).partition("|")
        if line.startswith(_MARK) and own.strip().isdigit():
            loaded[rest.rpartition("|")[2].strip()] = int(own) / 1000
    return loaded


def _medians(runs: list[Loaded]) -> Loaded:
    seen: defaultdict[str, list[float]] = defaultdict(list)
    for run in runs:
        for name, ms in run.items():
            seen[name].append(ms)
    return {name: median(each) for name, each in seen.items()}


TOPIC = Topic("imports", "import time of `pycodex sandbox linux`, by the interpreter's own account", measure)
