"""Threads that work for another one: what they are opened with, and what their opener sees of them.

Owns the terms and how a child's configuration follows from its parent's. Who opens threads is a parameter: a session
knows no other thread but the children of its own tasks, and each of them only as long as the task that opened it.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Protocol

from pycodex.protocol.events.union import AnyEvent
from pycodex.protocol.ops import Op
from pycodex.supervisor.config.config import Config
from pycodex.supervisor.session.settings import Settings
from pycodex.supervisor.workspace.roots import project_root


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildTerms:
    kind: str
    """What session files and providers call it."""
    settings: Settings
    instructions: str
    """In place of those of the model."""
    service_tier: str | None
    web_search: str


class ChildThread(Protocol):
    """Its first event is SessionConfigured."""

    async def submit(self, op: Op) -> str:
        """Gives the id of the turn that the wish starts, if it starts one."""
        ...

    async def next_event(self) -> AnyEvent:
        """Raises OutboxClosed after the last one."""
        ...

    def close(self) -> None:
        """Let it end: what it does is interrupted, and what it has started ends with it."""
        ...


OpenChild = Callable[[ChildTerms], AbstractAsyncContextManager[ChildThread]]
"""A thread for the time of the block. Afterwards nothing of it is left but its session file."""


def child_config(parent: Config, terms: ChildTerms) -> Config:
    """The parent's own, with what is set now. What is wrong with it the parent has told, and whoever is to be notified
    hears of the parent's turns."""
    settings = terms.settings
    return replace(
        parent,
        cwd=settings.cwd,
        project_root=project_root(settings.cwd, parent.project_root_markers),
        model=settings.model,
        approval_policy=settings.approval_policy,
        permissions=settings.permissions,
        model_reasoning_effort=settings.effort,
        model_reasoning_summary=settings.summary,
        personality=settings.personality,
        developer_instructions=settings.developer_instructions,
        model_instructions=terms.instructions,
        service_tier=terms.service_tier,
        web_search=terms.web_search,
        notify=(),
        warnings=(),
    )
