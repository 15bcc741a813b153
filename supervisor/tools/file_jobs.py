"""Work on files for a tool, done inside a confined process.

Owns the way from a turn's permissions to a file job and back. What a job does is in `worker/jobs`, known here only by
its name. Takes arguments that msgpack can carry, gives what the job answered.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pycodex.protocol.confinement import Confinement
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.frames import BadFrame, RunFileJob
from pycodex.supervisor.tools.confine import confinement
from pycodex.supervisor.tools.tool import ToolScope

if TYPE_CHECKING:
    from pycodex.supervisor.workers.pool import FileAnswer


async def run_job(
    name: str,
    arguments: Mapping[str, object],
    scope: ToolScope,
    *,
    answer_cap_bytes: int = RunFileJob.output_cap_bytes,
    confine: Callable[[Confinement], Confinement] | Confinement | None = None,
    finish: bool = False,
) -> "FileAnswer":
    """Raises ModelFacing: JobFailed with the job's own text, or what kept it from being run.

    `confine` is what the job may touch, or says it from what the turn allows. With `finish` a job that has begun is not
    ended half-way.
    """
    turn, services = scope.turn, scope.services
    pool = await services.pool.ready()
    confined = confine if isinstance(confine, Confinement) else _confined(scope, pool.runtime_dir, confine)
    try:
        return await pool.run_file_job(
            name,
            arguments,
            cwd=turn.cwd,
            confinement=confined,
            session_id=turn.thread_id,
            answer_cap_bytes=answer_cap_bytes,
            finish=finish,
        )
    except BadFrame as error:
        raise ModelFacing(f"{name}: the arguments are too large: {error}") from None
    except UnicodeEncodeError:
        raise ModelFacing(f"{name}: the arguments are not valid Unicode") from None


def _confined(scope: ToolScope, runtime_dir: str, confine: Callable[[Confinement], Confinement] | None) -> Confinement:
    confined = confinement(scope.turn, scope.services, runtime_dir=runtime_dir)
    return confined if confine is None else confine(confined)


def senseless(name: str) -> ModelFacing:
    """For an answer of another form than the job gives: whatever the child read may have turned it against us."""
    return ModelFacing(f"{name}: the answer makes no sense")
