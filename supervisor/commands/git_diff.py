"""What a checkout holds that its remote does not: the nearest commit that is there, and the difference from it.

Owns which commit that is and which commands of git are asked. Git reads the repository's configuration, which can make
it start programs; so it runs confined, may only look and reaches no remote. Gives None where there is nothing to say.
"""

import os
from dataclasses import dataclass

from pycodex.protocol.errors import ModelFacing
from pycodex.supervisor.commands.one_off import OneOff, Outcome, Wish
from pycodex.supervisor.commands.workplace import LOOKING, Workplace
from pycodex.supervisor.tools.confined_git import GIT_ENV, TIMEOUT_MS

_MAX_OUTPUT_BYTES = 32 << 20
_MAX_UNTRACKED = 500
_MAX_BRANCHES = 100
_DIFF = ("diff", "--no-textconv", "--no-ext-diff")


@dataclass(frozen=True, slots=True)
class DiffToRemote:
    sha: str
    diff: str


async def diff_to_remote(workplace: Workplace, cwd: str) -> DiffToRemote | None:
    """The difference of the work tree, with files that git does not know yet."""
    git = _Git(workplace, os.path.join(workplace.config.cwd, cwd))
    try:
        remotes = sorted(await git.lines("remote"), key=lambda name: name != "origin")
        sha = await git.nearest_remote_commit(remotes)
        if sha is None:
            return None
        return DiffToRemote(sha, await git.diff_from(sha))
    except (ModelFacing, UnicodeDecodeError, _GitFailed):
        return None


class _GitFailed(Exception):
    """Git has no answer."""


class _Git:
    def __init__(self, workplace: Workplace, cwd: str) -> None:
        self._workplace = workplace
        self._cwd = cwd

    async def _run(self, *arguments: str) -> Outcome:
        wish = Wish(
            argv=("git", *arguments),
            cwd=self._cwd,
            permissions=LOOKING,
            env=GIT_ENV,
            timeout_ms=TIMEOUT_MS,
            cap_bytes=_MAX_OUTPUT_BYTES,
        )
        outcome = await OneOff(wish).run(self._workplace)
        if outcome.is_cut:
            raise _GitFailed(f"git {arguments[0]} says more than {_MAX_OUTPUT_BYTES} bytes")
        return outcome

    async def text(self, *arguments: str) -> str:
        """What it says; a difference is no failure."""
        outcome = await self._run(*arguments)
        if outcome.exit_code != 0 and not (arguments[0] == "diff" and outcome.exit_code == 1):
            raise _GitFailed(f"git {arguments[0]} ended with {outcome.exit_code}")
        return outcome.stdout.decode()

    async def lines(self, *arguments: str) -> list[str]:
        return [line for line in (await self.text(*arguments)).splitlines() if line.strip()]

    async def _line(self, *arguments: str) -> str | None:
        try:
            return (await self.text(*arguments)).strip() or None
        except _GitFailed:
            return None

    async def nearest_remote_commit(self, remotes: list[str]) -> str | None:
        """Of the branches that a remote has: the tip of the one that the fewest commits lie on top of."""
        nearest: tuple[int, str] | None = None
        for branch in await self._branches(remotes):
            for remote in remotes:
                reference = f"refs/remotes/{remote}/{branch}"
                sha = await self._line("rev-parse", "--verify", "--quiet", reference)
                if sha is None:
                    continue
                distance = await self._distance(branch, reference)
                if distance is not None and (nearest is None or distance < nearest[0]):
                    nearest = distance, sha
                break
        return None if nearest is None else nearest[1]

    async def _distance(self, branch: str, reference: str) -> int | None:
        for tip in (f"refs/heads/{branch}", reference):
            count = await self._line("rev-list", "--count", f"{tip}..HEAD", "--")
            if count is not None:
                return int(count)
        return None

    async def _branches(self, remotes: list[str]) -> list[str]:
        """The current one, the default one, and those of remotes that hold all that is committed here."""
        branches = []
        current = await self._line("rev-parse", "--abbrev-ref", "HEAD")
        if current is not None and current != "HEAD":
            branches.append(current)
        default = await self._default_branch(remotes)
        if default is not None:
            branches.append(default)
        for remote in remotes:
            try:
                names = await self.lines(
                    "for-each-ref", "--format=%(refname:short)", "--contains=HEAD", f"refs/remotes/{remote}"
                )
            except _GitFailed:
                continue
            branches += (name.removeprefix(f"{remote}/") for name in names if name.startswith(f"{remote}/"))
        return list(dict.fromkeys(branches))[:_MAX_BRANCHES]

    async def _default_branch(self, remotes: list[str]) -> str | None:
        for remote in remotes:
            head = await self._line("symbolic-ref", "--quiet", f"refs/remotes/{remote}/HEAD")
            if head is not None:
                return head.rpartition("/")[2]
        for name in ("main", "master"):
            if await self._line("rev-parse", "--verify", "--quiet", f"refs/heads/{name}") is not None:
                return name
        return None

    async def diff_from(self, sha: str) -> str:
        parts = [await self.text(*_DIFF, sha, "--")]
        untracked = (await self.text("ls-files", "--others", "--exclude-standard", "-z")).split("\0")
        for name in filter(None, untracked[:_MAX_UNTRACKED]):
            try:
                parts.append(await self.text(*_DIFF, "--binary", "--no-index", "--", "/dev/null", name))
            except (_GitFailed, UnicodeDecodeError):
                # Gone or unreadable by now; the others are still worth telling.
                continue
        return "".join(parts)
