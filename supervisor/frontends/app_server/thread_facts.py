"""What clients are told of a loaded thread besides its events: what it runs with, and where it came from.

Owns the settings as the client has made them, so that whoever joins later is told the same. The engine holds its own.
"""

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from pycodex.protocol.ops import UserTurn
from pycodex.protocol.permissions import Permissions
from pycodex.protocol.turn_context import DEFAULT_MODE
from pycodex.supervisor.config.config import Config
from pycodex.supervisor.frontends.app_server.sandbox_policies import told_policy

if TYPE_CHECKING:
    from pycodex.supervisor.frontends.app_server.wishes import SettingParams

Json = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class ThreadFacts:
    config: Config
    model: str
    permissions: Permissions
    approval_policy: Any
    approvals_reviewer: str
    cwd: str
    effort: str | None
    service_tier: str | None
    source: Any
    summary: str | None = None
    personality: str | None = None
    mode: str = DEFAULT_MODE
    mode_instructions: str | None = None
    forked_from_id: str | None = None
    originator: str | None = None
    preview: str | None = None
    """None: what the session file says."""
    created_at: int = field(default_factory=lambda: int(time.time()))

    @classmethod
    def of(cls, config: Config, *, source: Any) -> Self:
        """Of a thread that has just been loaded with this configuration."""
        from pycodex.supervisor.session.basis import ThreadModel

        return cls(
            config=config,
            model=ThreadModel(config).name,
            permissions=config.permissions,
            approval_policy=config.approval_policy,
            approvals_reviewer=config.approvals_reviewer,
            cwd=config.cwd,
            effort=config.model_reasoning_effort,
            service_tier=config.service_tier,
            summary=config.model_reasoning_summary,
            personality=config.personality,
            source=source,
        )

    def note(self, wish: UserTurn, params: "SettingParams") -> None:
        """What is asked for holds for later turns, too."""
        self.cwd = wish.cwd or self.cwd
        self.model = wish.model or self.model
        self.effort = wish.effort or self.effort
        self.summary = wish.summary or self.summary
        self.personality = wish.personality or self.personality
        self.service_tier = self.service_tier if wish.service_tier is None else wish.service_tier or None
        self.permissions = wish.permissions or self.permissions
        self.approval_policy = wish.approval_policy or self.approval_policy
        self.approvals_reviewer = params.approvals_reviewer or self.approvals_reviewer
        if wish.mode is not None:
            self.mode, self.mode_instructions = wish.mode, wish.mode_instructions

    def told_settings(self) -> Json:
        """The same as newer clients are told it, whenever it changes."""
        told = self.told()
        return {
            "cwd": self.cwd,
            "approvalPolicy": told["approvalPolicy"],
            "approvalsReviewer": told["approvalsReviewer"],
            "sandboxPolicy": told["sandbox"],
            "activePermissionProfile": None,
            "model": self.model,
            "modelProvider": told["modelProvider"],
            "serviceTier": self.service_tier,
            "effort": self.effort,
            "summary": self.summary,
            "collaborationMode": {
                "mode": self.mode,
                "settings": {
                    "model": self.model,
                    "reasoning_effort": self.effort,
                    "developer_instructions": self.mode_instructions,
                },
            },
            "personality": self.personality,
        }

    def told(self) -> Json:
        """The part of an answer that says what the thread runs with."""
        return {
            "model": self.model,
            "modelProvider": self.config.provider.id,
            "serviceTier": self.service_tier,
            "cwd": self.cwd,
            "approvalPolicy": self.approval_policy,
            "approvalsReviewer": self.approvals_reviewer,
            "sandbox": told_policy(self.permissions),
            "reasoningEffort": self.effort,
        }
