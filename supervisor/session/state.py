"""What a thread carries from one turn to the next.

Owns no behaviour of note: it is the shared desk of a session and its tasks, of which only one works at a time.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pycodex.supervisor.context.fragments import Surroundings
from pycodex.supervisor.context.skills import Skill
from pycodex.supervisor.model.client import ModelClient
from pycodex.supervisor.model.usage import UsageLedger
from pycodex.supervisor.session.goals import Goals
from pycodex.supervisor.session.journal import Journal
from pycodex.supervisor.session.notify import Notifier
from pycodex.supervisor.session.opening import Given
from pycodex.supervisor.session.pending import Pending
from pycodex.supervisor.session.settings import Settings, TurnMaker
from pycodex.supervisor.tools.services import ToolServices

if TYPE_CHECKING:
    from pycodex.protocol.items import Item
    from pycodex.supervisor.session.children import OpenChild


@dataclass(slots=True, kw_only=True)
class ThreadState:
    thread_id: str
    settings: Settings
    turns: TurnMaker
    journal: Journal
    client: ModelClient
    stream_max_retries: int
    tools: ToolServices
    goals: Goals
    usage: UsageLedger
    notifier: Notifier
    skills: tuple[Skill, ...]
    around: Surroundings
    """What the model is told of its surroundings; with the instructions that every request carries."""
    open_child: "OpenChild"
    review_model: str | None = None
    """The model of reviewers; None: that of the turn."""
    verbosity: str | None = None
    service_tier: str | None = None
    pending: Pending = field(default_factory=Pending)
    rate_limits: dict[str, Any] | None = None
    reasoning_included: bool = False
    """Whether the provider counts past reasoning in its usage, so that we need not estimate it."""
    reference_context: dict[str, Any] | None = None
    """The settings that the model was last told, as the session file has them; None: tell everything again."""
    previous_model: str | None = None
    summaries: set[str] = field(default_factory=set)
    """Texts in the person's name that are summaries of what was said before them."""
    compact_prompt: str | None = None
    """How the model is asked for a summary; None: in our words."""
    waiting_input: list[Given] = field(default_factory=list)
    """What was said while a turn was running."""
    waiting_items: "list[Item]" = field(default_factory=list)
    """What was put in for the model to see meanwhile."""
