"""The goal of a thread that does not run: a wish about it goes straight into its session file.

Owns that the file gets one line and that whoever asked learns of it only then. What a wish means is up to `goals`; a
goal that is set to active here is gone on with when somebody resumes the thread.
"""

from pycodex.protocol.events.goal import ThreadGoal
from pycodex.protocol.events.union import AnyEvent
from pycodex.protocol.ops import ClearGoal, SetGoal
from pycodex.supervisor.context.history import History
from pycodex.supervisor.model.usage import UsageLedger
from pycodex.supervisor.rollout.writer import RolloutWriter
from pycodex.supervisor.session.goals import Goals
from pycodex.supervisor.session.journal import Journal
from pycodex.supervisor.session.outbox import Outbox


async def record_wish(path: str, thread_id: str, wish: SetGoal | ClearGoal, *, stored: ThreadGoal | None) -> AnyEvent:
    """The event that answers the wish, as a running thread would tell it. Raises RolloutUnwritable."""
    file, outbox = RolloutWriter.resumed(path), Outbox()
    try:
        goals = Goals(thread_id, Journal(History(), file, outbox), UsageLedger(), stored=stored)
        if isinstance(wish, SetGoal):
            goals.set(wish)
        else:
            goals.clear(wish.request_id)
        # The journal keeps to itself what it could not write.
        file.flush()
    finally:
        file.close()
    return await outbox.get()
