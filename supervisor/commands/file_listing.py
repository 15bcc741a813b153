"""The files below some directories, as a search tool sees them: without what git ignores.

Owns the command line of ripgrep and how its answer is read. It runs confined like any command, may only look, and takes
no place from others for long: number, length and time are bounded. Gives files in pieces, as they are found.
"""

import os
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from pycodex.protocol.frames import STDOUT
from pycodex.supervisor.commands.one_off import OneOff, Wish
from pycodex.supervisor.commands.workplace import LOOKING, Workplace, with_own_programs
from pycodex.supervisor.workspace.file_search import Candidate

MAX_FILES = 200_000
_MAX_OUTPUT_BYTES = 64 << 20
_TIMEOUT_MS = 120_000
# A configuration file could make it run another program on every file.
_ARGV = ("rg", "--no-config", "--no-messages", "--files", "--hidden", "--follow", "--null", "--")

Add = Callable[[list[Candidate]], None]


async def list_files(workplace: Workplace, roots: Sequence[str], add: Add) -> None:
    """Until all were told to `add`, or as many as there may be. Raises ModelFacing if nothing can be listed."""
    reader = _Reader([_Root.named(root, workplace.config.cwd) for root in roots], add)
    wish = Wish(
        argv=(*_ARGV, *(root.path for root in reader.roots)),
        cwd="/",
        permissions=LOOKING,
        env={"PATH": with_own_programs(workplace.env)["PATH"]},
        timeout_ms=_TIMEOUT_MS,
        cap_bytes=_MAX_OUTPUT_BYTES,
    )
    command = OneOff(wish, reader.read)
    reader.enough = command.terminate
    await command.run(workplace)


class _Root(NamedTuple):
    """`name` is what the client calls it."""

    path: str
    name: str

    @classmethod
    def named(cls, name: str, cwd: str) -> "_Root":
        return cls(os.path.normpath(os.path.join(cwd, name)), name)

    @property
    def prefix(self) -> bytes:
        return f"{self.path.rstrip('/')}/".encode(errors="surrogateescape")


class _Reader:
    """Cuts what ripgrep says into files."""

    def __init__(self, roots: Sequence[_Root], add: Add) -> None:
        # The deepest first: a file belongs to the nearest root above it.
        self.roots = sorted(roots, key=lambda root: -root.path.count("/"))
        self._prefixes = [(root.prefix, root.name) for root in self.roots]
        self._add = add
        self._left = MAX_FILES
        self._rest = b""
        self.enough: Callable[[], Awaitable[None]] | None = None
        """Called once no more files are taken."""

    async def read(self, stream: str, data: bytes, is_last: bool) -> None:
        del is_last
        if stream != STDOUT or not self._left:
            return
        *names, self._rest = (self._rest + data).split(b"\0")
        found = [candidate for name in names[: self._left] if (candidate := self._candidate(name)) is not None]
        self._left -= min(self._left, len(names))
        self._add(found)
        if not self._left and self.enough is not None:
            await self.enough()

    def _candidate(self, name: bytes) -> Candidate | None:
        """None for a name that is no UTF-8: nobody could type it."""
        for prefix, root in self._prefixes:
            if name.startswith(prefix):
                try:
                    return Candidate(root, name[len(prefix) :].decode())
                except UnicodeDecodeError:
                    return None
        return None
