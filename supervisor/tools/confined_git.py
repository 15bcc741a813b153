"""Questions to git about the repository of a turn.

Owns how git is asked: its configuration, which the workspace may have written, can make it start programs; so it runs
confined whatever the turn may do, may only look, and reaches no remote. What git cannot answer is None.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.frames import RunCommand
from pycodex.protocol.permissions import READ_ONLY, Permissions
from pycodex.supervisor.tools.confine import confinement, environment
from pycodex.supervisor.tools.services import ToolServices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pycodex.protocol.turn_context import TurnContext

TIMEOUT_MS = 5_000
_MAX_ANSWER_BYTES = 4096
GIT_ENV: "Mapping[str, str | None]" = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_DIR": None,
    "GIT_WORK_TREE": None,
}
"""What its environment must hold; None: must not hold."""


async def merge_base(turn: "TurnContext", services: ToolServices, branch: str) -> str | None:
    """The commit that HEAD and the branch have in common; with its upstream, if that is ahead of it."""
    git = _Git(turn, services)
    tip = await git.commit(branch)
    if tip is None:
        return None
    upstream = await git.commit(f"{branch}@{{upstream}}")
    if upstream is not None and await git.line("rev-list", "--count", f"{tip}..{upstream}") not in (None, "0"):
        tip = upstream
    return await git.line("merge-base", "HEAD", tip)


class _Git:
    def __init__(self, turn: "TurnContext", services: ToolServices) -> None:
        self._turn = replace(turn, permissions=Permissions(mode=READ_ONLY))
        self._services = services

    async def commit(self, name: str) -> str | None:
        """The id of the commit that the name stands for."""
        if "\0" in name:
            return None
        return await self.line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")

    async def line(self, *arguments: str) -> str | None:
        try:
            pool = await self._services.pool.ready()
            done = await pool.run(self._order(arguments, pool.runtime_dir))
        except ModelFacing:
            return None
        if done.code != 0 or done.stdout.dropped_bytes:
            return None
        return done.stdout.data.decode("utf-8", "replace").strip() or None

    def _order(self, arguments: tuple[str, ...], runtime_dir: str) -> RunCommand:
        confined = confinement(self._turn, self._services, runtime_dir=runtime_dir)
        env = {**environment(self._turn, self._services, confined), **GIT_ENV}
        return RunCommand(
            job_id="",
            argv=("git", *arguments),
            cwd=self._turn.cwd,
            env={name: value for name, value in env.items() if value is not None},
            confinement=confined,
            timeout_ms=TIMEOUT_MS,
            head_bytes=_MAX_ANSWER_BYTES,
        )
