"""What commands that belong to no thread are run with: the configured sandbox, environment and workers.

Owns the way from permissions to a `Confinement` for such commands, which is the one that tools take: a survey of the
disk, then the plan. Takes a configuration; knows nothing of who wants a command run.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from pycodex.protocol.confinement import Confinement, Unenforceable
from pycodex.protocol.errors import ModelFacing, UserFacing
from pycodex.protocol.permissions import READ_ONLY, Permissions
from pycodex.sandbox.plan import plan
from pycodex.sandbox.survey import own_installation, survey
from pycodex.supervisor.config.config import Config
from pycodex.supervisor.config.shell_environment import command_environment
from pycodex.supervisor.workers.late_pool import PoolSource

LOOKING = Permissions(mode=READ_ONLY)
"""For commands of our own that only look: they change nothing and reach nobody, whatever the configuration says."""


class Unconfinable(ModelFacing):
    """The permissions cannot be made into a confinement; nothing was run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    config: Config
    env: Mapping[str, str]
    """Of this program."""
    pool: PoolSource

    def confinement(self, permissions: Permissions, *, runtime_dir: str) -> Confinement:
        """What a command may touch. `runtime_dir` is the workers' own, which no command may see."""
        config = self.config
        try:
            found = survey(
                permissions,
                cwd=config.cwd,
                env=self.env,
                codex_home=config.codex_home,
                installation=own_installation(),
            )
            return plan(
                permissions,
                found,
                runtime_dir=os.path.realpath(runtime_dir),
                landlock_only=config.landlock_only,
                limits=config.limits,
                deny_read_defaults=config.deny_read_defaults,
            )
        except (Unenforceable, UserFacing) as error:
            raise Unconfinable(f"the sandbox cannot be set up, so nothing was run: {error}") from None

    def environment(self, confined: Confinement, changes: Mapping[str, str | None]) -> dict[str, str]:
        """What a command finds in its environment; a change to None takes a variable away."""
        env = command_environment(self.config.shell_environment_policy, self.env, None)
        for name, value in changes.items():
            if value is None:
                env.pop(name, None)
            else:
                env[name] = value
        if not confined.network and not confined.unconfined_because:
            env["CODEX_SANDBOX_NETWORK_DISABLED"] = "1"
        return env


def with_own_programs(env: Mapping[str, str]) -> dict[str, str]:
    """The user's programs are found first, then those that were installed with us."""
    folders = (env.get("PATH", os.defpath), os.path.dirname(sys.executable))
    return {**env, "PATH": os.pathsep.join(filter(None, folders))}
