"""What tools use that lives as long as their session."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pycodex.protocol.confinement import Limits
from pycodex.supervisor.tools.processes import Processes
from pycodex.supervisor.workers.late_pool import PoolSource


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServices:
    pool: PoolSource
    processes: Processes
    codex_home: str
    env: Mapping[str, str]
    """The environment of commands, as `shell_environment_policy` leaves it."""
    allow_login_shell: bool = True
    background_max_ms: int = 300_000
    limits: Limits = field(default_factory=Limits)
    landlock_only: bool = False
    deny_read_defaults: bool = True
