"""The session file that a thread begins with: a new one, a copy of another thread's, or its own from before.

Owns how each comes into being, and that long files are read and copied beside everything else.
"""

import time
from itertools import chain
from typing import TYPE_CHECKING

import trio

from pycodex.protocol.events.turn import ThreadRolledBack
from pycodex.protocol.items import written
from pycodex.protocol.rollout import EVENT_MSG, RESPONSE_ITEM, SESSION_META, SessionMeta, line_now
from pycodex.supervisor.rollout.writer import RolloutWriter, new_rollout_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pycodex.protocol.events.goal import ThreadGoal
    from pycodex.protocol.items import Item
    from pycodex.protocol.rollout import RolloutLine
    from pycodex.supervisor.rollout.reader import Replayed


def new_file(codex_home: str, meta: SessionMeta, history: "Sequence[Item]") -> RolloutWriter:
    """One that begins with a history is on disk at once: nobody else has that."""
    path = new_rollout_path(codex_home, meta.id, time.time())
    if not history:
        return RolloutWriter.new(path, meta)
    head = line_now(SESSION_META, meta.to_payload())
    return RolloutWriter.forked(path, (head, *(line_now(RESPONSE_ITEM, written(item)) for item in history)))


async def forked_file(codex_home: str, meta: SessionMeta, path: str, *, drops_turns: int) -> RolloutWriter:
    """A new file with all that the one at `path` holds, and a mark that so many of its last turns do not count."""
    from pycodex.supervisor.rollout.long_files import is_long
    from pycodex.supervisor.rollout.reader import fork_lines

    def write() -> RolloutWriter:
        lines = chain(fork_lines(path, meta), _taken_back(drops_turns))
        return RolloutWriter.forked(new_rollout_path(codex_home, meta.id, time.time()), lines)

    # Nobody else would close what it has opened, so its end is waited for.
    return await trio.to_thread.run_sync(write) if is_long(path) else write()


def _taken_back(turns: int) -> "Iterator[RolloutLine]":
    if turns > 0:
        yield line_now(EVENT_MSG, ThreadRolledBack(num_turns=turns).to_stored())


async def replayed(path: str) -> "Replayed":
    """Raises RolloutUnreadable."""
    from pycodex.supervisor.rollout.long_files import beside
    from pycodex.supervisor.rollout.reader import replay

    return await beside(replay, path)


async def goal_in(path: str, thread_id: str) -> "ThreadGoal | None":
    from pycodex.supervisor.rollout.goals import stored_goal
    from pycodex.supervisor.rollout.long_files import beside

    return await beside(lambda file: stored_goal(file, thread_id), path)
