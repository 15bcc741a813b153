"""What clients are told of a loaded thread besides its events: what it runs with, and where it came from.

Owns the settings as the client has made them, so that whoever joins later is told the same. The engine holds its own.
"""

import time
from dataclasses import dataclass, field
from typing import Any, Self

from pycodex.protocol.permissions import Permissions
from pycodex.supervisor.config.config import Config
from pycodex.supervisor.frontends.app_server.sandbox_policies import told_policy

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
    forked_from_id: str | None = None
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
            source=source,
        )

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
