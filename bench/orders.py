"""Orders for the pool, and running them so that a figure never stands for a call that went wrong.

Owns how the pool topics make their orders: planned as for a user in workspace-write, or named as unconfined. Measures
nothing.
"""

from bench.scene import Scene
from pycodex.protocol.confinement import Confinement
from pycodex.protocol.frames import RunCommand
from pycodex.protocol.permissions import Permissions
from pycodex.sandbox.plan import plan
from pycodex.sandbox.survey import survey
from pycodex.supervisor.workers.lease import CONFINED, UNCONFINED, Completed
from pycodex.supervisor.workers.pool import Pool, PoolSettings
from pycodex.supervisor.workers.roster import RosterSettings

TRUE = "/bin/true"
BOTH_FLAVOURS = PoolSettings(workers=RosterSettings(flavours=(CONFINED, UNCONFINED)))


class WentWrong(Exception):
    """A call that is measured must succeed."""


def workspace_write(scene: Scene, *, runtime_dir: str = "") -> Confinement:
    permissions = Permissions(mode="workspace-write")
    found = survey(permissions, cwd=str(scene.workspace), env=scene.env, codex_home=str(scene.codex_home))
    return plan(permissions, found, runtime_dir=runtime_dir)


def confined_order(scene: Scene, pool: Pool, *argv: str) -> RunCommand:
    return _order(scene, workspace_write(scene, runtime_dir=pool.runtime_dir), argv)


def unconfined_order(scene: Scene, *argv: str) -> RunCommand:
    return _order(scene, Confinement(unconfined_because="benchmark"), argv)


def _order(scene: Scene, confinement: Confinement, argv: tuple[str, ...]) -> RunCommand:
    return RunCommand(job_id="", argv=argv or (TRUE,), cwd=str(scene.workspace), env=scene.env, confinement=confinement)


async def run_checked(pool: Pool, order: RunCommand, *, session_id: str = "") -> Completed:
    done = await pool.run(order, session_id=session_id)
    if done.code != 0:
        raise WentWrong(f"{order.argv} ended with code {done.code}, signal {done.signal}: {done.stderr.data!r:.200}")
    return done
