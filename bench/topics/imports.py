"""What `pycodex sandbox` loads before it runs a command, and `exec` before it asks the model, module by module."""

import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from statistics import median

import trio

from bench.figures import Figure, Goal, Topic, at_most, timing
from bench.measure import elapsed_ms, spread_of
from bench.scene import Scene

SHOWN = 12
MODULE_MS = 3.0
NOBODY = (
    *("-c", 'model_providers.nobody={name="nobody",base_url="http://127.0.0.1:9/v1",request_max_retries=0}'),
    *("-c", "model_providers.nobody.stream_max_retries=0", "-c", "model_provider=nobody"),
)
_MARK = "import time:"

Loaded = dict[str, float]
"""Milliseconds that each module took by itself."""


async def measure(scene: Scene) -> list[Figure]:
    commands = {
        "sandbox": [*scene.pycodex, "sandbox", "linux", "--full-auto", "--", "true"],
        # There is nobody to ask at that address: it ends where the answer would be waited for.
        "exec": [*scene.pycodex, "exec", "--json", "--ephemeral", *NOBODY, "go"],
    }
    bare_runs: list[Loaded] = []
    our_runs: dict[str, list[Loaded]] = {name: [] for name in commands}
    starts_ms: list[float] = []
    for _ in range(scene.scaled(15, 3)):
        start = time.perf_counter()
        bare_runs.append(_loaded([sys.executable, "-c", "pass"], scene))
        starts_ms.append(elapsed_ms(start))
        for name, command in commands.items():
            our_runs[name].append(_loaded(command, scene))
        await trio.lowlevel.checkpoint()
    bare, budget = _medians(bare_runs), spread_of(starts_ms)
    added = {
        name: {module: ms for module, ms in _medians(runs).items() if module not in bare}
        for name, runs in our_runs.items()
    }
    lean_total = sum(added["sandbox"].values())
    lean_goal = at_most("<= 1 x bare interpreter, start to end", lean_total, budget.p50)
    slowest = max((ms, name) for name, ms in added["exec"].items() if name.startswith("pycodex."))
    module_goal = at_most(f"each module of ours <= {MODULE_MS:g} ms by itself", slowest[0], MODULE_MS)
    return [
        timing("bare interpreter, start to end", budget),
        Figure("bare interpreter, imports", sum(bare.values()), note=f"{len(bare)} modules"),
        *_figures("sandbox", added["sandbox"], lean_goal),
        *_figures("exec", added["exec"], module_goal),
    ]


def _figures(command: str, added: Loaded, goal: Goal) -> list[Figure]:
    largest = sorted(added, key=added.__getitem__, reverse=True)
    rest = largest[SHOWN:]
    total = sum(added.values())
    return [
        Figure(f"all that pycodex {command} adds", total, goals=(goal,), note=f"{len(added)} modules"),
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
        check=False,
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


TOPIC = Topic(
    "imports", "import time of `pycodex sandbox linux` and `pycodex exec`, by the interpreter's own account", measure
)
