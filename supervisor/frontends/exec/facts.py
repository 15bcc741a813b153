"""What is known of a thread when its first turn begins, and the header that tells it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from pycodex.protocol import permissions as modes
from pycodex.protocol.events.turn import SessionConfigured
from pycodex.protocol.permissions import FsRule, Permissions
from pycodex.protocol.turn_context import ApprovalPolicy
from pycodex.supervisor.config.config import Config

_SPECIAL_PLACES = {
    modes.CURRENT_WORKING_DIRECTORY: "workdir",
    modes.PROJECT_ROOTS: "workdir",
    modes.SLASH_TMP: "/tmp",
    modes.TMPDIR: "$TMPDIR",
    modes.ROOT: "/",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadFacts:
    thread_id: str
    cwd: str
    model: str
    provider_id: str
    approval: ApprovalPolicy
    permissions: Permissions
    effort: str | None
    summary: str | None
    codex_home: str

    @classmethod
    def of(cls, configured: SessionConfigured, config: Config) -> Self:
        """Of a thread that has just begun."""
        return cls(
            thread_id=configured.session_id,
            cwd=config.cwd,
            model=configured.model,
            provider_id=config.provider.id,
            approval=config.approval_policy,
            permissions=config.permissions,
            effort=config.model_reasoning_effort,
            summary=config.model_reasoning_summary,
            codex_home=config.codex_home,
        )

    def header(self) -> Iterator[tuple[str, str]]:
        yield "workdir", self.cwd
        yield "model", self.model
        yield "provider", self.provider_id
        yield "approval", self.approval if isinstance(self.approval, str) else next(iter(self.approval), "")
        yield "sandbox", sandbox_text(self.permissions, self.codex_home)
        yield "reasoning effort", self.effort or "none"
        yield "reasoning summaries", self.summary or "none"
        yield "session id", self.thread_id


def sandbox_text(permissions: Permissions, codex_home: str) -> str:
    """The mode, where it lets commands write, and whether they have a network."""
    text = permissions.mode
    if text == modes.DANGER_FULL_ACCESS:
        return text
    if text == modes.WORKSPACE_WRITE:
        places = dict.fromkeys(_writable_places(permissions, codex_home))
        text += f" [{', '.join(places)}]"
    return f"{text} (network access enabled)" if permissions.network_access else text


def _writable_places(permissions: Permissions, codex_home: str) -> Iterator[str]:
    if permissions.rules:
        yield from (_place(rule) for rule in permissions.rules if rule.access == "write")
        return
    yield "workdir"
    if not permissions.exclude_slash_tmp:
        yield "/tmp"
    if not permissions.exclude_tmpdir_env_var:
        yield "$TMPDIR"
    yield from permissions.writable_roots
    yield f"{codex_home}/memories"


def _place(rule: FsRule) -> str:
    place = rule.path or _SPECIAL_PLACES.get(rule.special, f":{rule.special}")
    return f"{place}/{rule.subpath}" if rule.subpath else place
