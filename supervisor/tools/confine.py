"""From the permissions of a turn to what one command may touch, and the environment that goes with it.

Owns the way through survey and plan for tools. The disk is looked at anew for each call, because a `.git` may have
appeared since the last one; the confined child checks again what it opens. Takes a turn and services, gives values.
"""

import os

from pycodex.protocol.confinement import Confinement, Unenforceable
from pycodex.protocol.errors import ModelFacing, UserFacing
from pycodex.protocol.turn_context import TurnContext
from pycodex.sandbox.plan import plan
from pycodex.sandbox.survey import own_installation, survey
from pycodex.supervisor.tools.services import ToolServices

MOST_PATH_BYTES = 4095


class Unconfinable(ModelFacing):
    """The permissions of the turn cannot be made into a confinement; nothing was run."""


def confinement(turn: TurnContext, services: ToolServices, *, runtime_dir: str) -> Confinement:
    """What a command of this turn may touch; `unconfined_because` says so where the mode is full access.

    `runtime_dir` is the workers' own, which no command may see.
    """
    try:
        return plan(
            turn.permissions,
            survey(
                turn.permissions,
                cwd=turn.cwd,
                env=services.env,
                codex_home=services.codex_home,
                installation=(*own_installation(), *filter(None, (services.programs_dir,))),
            ),
            runtime_dir=os.path.realpath(runtime_dir),
            landlock_only=services.landlock_only,
            limits=services.limits,
            deny_read_defaults=services.deny_read_defaults,
        )
    except (Unenforceable, UserFacing) as error:
        raise Unconfinable(f"the sandbox cannot be set up, so nothing was run: {error}") from None


def working_directory(turn: TurnContext, workdir: str | None) -> str:
    """Where a call wants its command to run: where the path leads now, so that a person is asked about that.

    One that no file system can have is left as it is: whoever enters it will say what is wrong with it.
    """
    path = os.path.join(turn.cwd, workdir) if workdir else turn.cwd
    return path if "\0" in path or len(path) > MOST_PATH_BYTES else os.path.realpath(path)


def environment(turn: TurnContext, services: ToolServices, confined: Confinement) -> dict[str, str]:
    """What every command finds in its environment."""
    env = {**services.env, "CODEX_THREAD_ID": turn.thread_id}
    if services.programs_dir and "PATH" in env:
        env["PATH"] = f"{services.programs_dir}{os.pathsep}{env['PATH']}"
    if not confined.network and not confined.unconfined_because:
        env["CODEX_SANDBOX_NETWORK_DISABLED"] = "1"
    return env
