"""Work on files for a tool, done inside a confined process.

Owns the way from a turn's permissions to a file job and back. What a job does is in `worker/jobs`, known here only by
its name. Takes arguments that msgpack can carry, gives what the job answered.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pycodex.supervisor.tools.confine import confinement
from pycodex.supervisor.tools.tool import ToolScope

if TYPE_CHECKING:
    from pycodex.supervisor.workers.pool import FileAnswer


async def run_job(name: str, arguments: Mapping[str, object], scope: ToolScope) -> "FileAnswer":
    """Raises ModelFacing: JobFailed with the job's own text, or what kept it from being run."""
    turn, services = scope.turn, scope.services
    pool = await services.pool.ready()
    confined = confinement(turn, services, runtime_dir=pool.runtime_dir)
    return await pool.run_file_job(name, arguments, cwd=turn.cwd, confinement=confined, session_id=turn.thread_id)
