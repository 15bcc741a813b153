"""How long a caller waits for `/bin/true` through the supervisor's pool.

Spaced calls find a warm worker, as the calls of an agent do; calls back to back also pay for the fork of the workers
after them.
"""

from functools import partial

from bench.figures import Figure, Topic, at_most, timing
from bench.measure import WARM_UP_CALLS, Spread, Variant, awaited, blocking, in_turns, process
from bench.orders import BOTH_FLAVOURS, TRUE, confined_order, run_checked, unconfined_order, workspace_write
from bench.processes import spent_ms
from bench.rivals import bwrap_argv, sort_out
from bench.scene import Scene
from pycodex.protocol.frames import RunCommand
from pycodex.supervisor.workers.pool import Pool, open_pool

BASELINE = "subprocess.run"
UNCONFINED = "pool, unconfined"
CONFINED = "pool, workspace-write"
BWRAP = "bwrap, equivalent mounts"
PLANNING = "survey and plan of one order"
MAX_RATIO = 6
BATCH = 25


async def measure(scene: Scene) -> list[Figure]:
    async with open_pool(BOTH_FLAVOURS) as pool:
        confined = confined_order(scene, pool)
        level = (await run_checked(pool, confined)).exited.enforced.level
        variants: dict[str, Variant] = {
            BASELINE: process([TRUE]),
            UNCONFINED: _through(pool, unconfined_order(scene)),
            CONFINED: _through(pool, confined),
        }
        rivals, missing = sort_out({BWRAP: bwrap_argv(confined.confinement, [TRUE])}, scene)
        variants |= {name: process(argv) for name, argv in rivals.items()}
        close = await in_turns(variants, rounds=scene.scaled(8, 1), batch=BATCH)
        variants[PLANNING] = blocking(partial(workspace_write, scene, runtime_dir=pool.runtime_dir))
        spaced = await in_turns(variants, rounds=scene.scaled(200, 25))
    cpu_ms = await _processor_ms(scene)
    return [
        timing(BASELINE, spaced[BASELINE], baseline=spaced[BASELINE]),
        timing(UNCONFINED, spaced[UNCONFINED], baseline=spaced[BASELINE]),
        _confined(CONFINED, spaced, note=f"enforced: {level}"),
        missing.get(BWRAP) or timing(BWRAP, spaced[BWRAP], baseline=spaced[BASELINE]),
        timing(PLANNING, spaced[PLANNING]),
        timing(f"{BASELINE}, back to back", close[BASELINE], baseline=close[BASELINE]),
        timing(f"{UNCONFINED}, back to back", close[UNCONFINED], baseline=close[BASELINE]),
        _confined(CONFINED, close, suffix=", back to back"),
        *(timing(f"{name}, back to back", close[name], baseline=close[BASELINE]) for name in rivals),
        Figure("processor time of one call, back to back", cpu_ms, note="supervisor, zygote, workers and command"),
    ]


async def _processor_ms(scene: Scene) -> float:
    """Of one confined call and of all that is done to be ready for the next: what calls cost beyond an empty pool."""
    calls = scene.scaled(200, 25)
    spent = []
    for number in (0, calls):
        before = spent_ms()
        async with open_pool() as pool:
            order = confined_order(scene, pool)
            for _ in range(WARM_UP_CALLS + number):
                await run_checked(pool, order)
        spent.append(spent_ms() - before)
    return (spent[1] - spent[0]) / calls


def _through(pool: Pool, order: RunCommand) -> Variant:
    return awaited(partial(run_checked, pool, order))


def _confined(name: str, spreads: dict[str, Spread], *, suffix: str = "", note: str = "") -> Figure:
    ours, baseline = spreads[name], spreads[BASELINE]
    goals = [
        at_most(f"p50 <= {MAX_RATIO} x subprocess.run", ours.p50, MAX_RATIO * baseline.p50),
        at_most("p95 <= 2 x p50", ours.p95, 2 * ours.p50),
    ]
    if BWRAP in spreads:
        goals.append(at_most("p50 <= 1 x bwrap", ours.p50, spreads[BWRAP].p50))
    return timing(name + suffix, ours, baseline=baseline, goals=tuple(goals), note=note)


TOPIC = Topic("dispatch", "/bin/true through the supervisor's pool", measure)
