"""Everything that is fixed for one turn. Made when it starts; nobody changes it.

Owns the value and its form in session files. Tools, context and the model's request are functions of it.
"""

from dataclasses import dataclass
from typing import Any

from pycodex.protocol.model_info import ModelInfo, TruncationPolicy
from pycodex.protocol.permissions import Permissions, told_as_legacy

ApprovalPolicy = str | dict[str, Any]

DEFAULT_MODE = "default"
PLAN_MODE = "plan"


@dataclass(frozen=True, slots=True)
class Shell:
    """The user's shell. `name` is what the model is told: bash, zsh, sh."""

    name: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    thread_id: str
    turn_id: str
    cwd: str
    current_date: str
    timezone: str
    approval_policy: ApprovalPolicy
    permissions: Permissions
    model: str
    model_info: ModelInfo
    effort: str | None
    summary: str
    personality: str | None
    truncation: TruncationPolicy
    shell: Shell
    user_instructions: str | None = None
    developer_instructions: str | None = None
    output_schema: Any = None
    features: frozenset[str] = frozenset()
    mode: str = DEFAULT_MODE
    """How model and person work together: DEFAULT_MODE or PLAN_MODE."""
    mode_instructions: str | None = None
    """What the model is told of the mode, if anything."""

    @property
    def collaboration_mode(self) -> dict[str, Any]:
        settings = {
            "model": self.model,
            "reasoning_effort": self.effort,
            "developer_instructions": self.mode_instructions,
        }
        return {"mode": self.mode, "settings": settings}

    def to_rollout(self) -> dict[str, Any]:
        """The payload of a `turn_context` line."""
        payload = {
            "turn_id": self.turn_id,
            "cwd": self.cwd,
            "current_date": self.current_date,
            "timezone": self.timezone,
            "approval_policy": self.approval_policy,
            "sandbox_policy": told_as_legacy(self.permissions),
            "model": self.model,
            "personality": self.personality,
            "collaboration_mode": self.collaboration_mode,
            "realtime_active": False,
            "effort": self.effort,
            "summary": self.summary,
            "user_instructions": self.user_instructions,
            "developer_instructions": self.developer_instructions,
            "final_output_json_schema": self.output_schema,
            "truncation_policy": {"mode": self.truncation.mode, "limit": self.truncation.limit},
        }
        return {name: value for name, value in payload.items() if value is not None}
