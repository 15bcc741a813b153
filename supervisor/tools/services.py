"""What tools use that lives as long as their session."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pycodex.protocol.confinement import Limits
from pycodex.supervisor.policy.approvals import Approvals
from pycodex.supervisor.tools.dynamic_tools import Declaration
from pycodex.supervisor.tools.login_shells import LoginShells
from pycodex.supervisor.tools.processes import Processes
from pycodex.supervisor.workers.late_pool import PoolSource

if TYPE_CHECKING:
    from pycodex.supervisor.mcp.connections import McpConnections


class GoalDesk(Protocol):
    """What the thread works towards by itself."""

    @property
    def is_active(self) -> bool: ...

    def mark(self, status: str, *, turn_id: str) -> None:
        """The model says what has become of it. Raises ModelFacing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServices:
    pool: PoolSource
    processes: Processes
    codex_home: str
    env: Mapping[str, str]
    """The environment of commands, as `shell_environment_policy` leaves it."""
    logins: LoginShells | None = None
    """None: commands that want a login log in themselves."""
    approvals: Approvals = field(default_factory=Approvals)
    """What the person has laid down about commands, and allowed in this session."""
    programs_dir: str = ""
    """Where commands find programs of ours; empty: nowhere."""
    allow_login_shell: bool = True
    background_max_ms: int = 300_000
    limits: Limits = field(default_factory=Limits)
    landlock_only: bool = False
    deny_read_defaults: bool = True
    web_search_mode: Callable[[str], str] = lambda _: "disabled"
    """How the provider may search the web (disabled, cached or live) under a mode of the sandbox."""
    web_search_options: Mapping[str, Any] = field(default_factory=dict)
    """The table `[tools.web_search]`."""
    dynamic_tools: tuple[Declaration, ...] = ()
    """Those that the client brought along."""
    asks_person: bool = True
    """Whether the model may put questions to the person; one that works for another thread may not."""
    goals: GoalDesk | None = None
    mcp: "McpConnections | None" = None
    """None: no server is configured."""
