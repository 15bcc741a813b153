"""The configuration of a thread: what is on disk, with what the client asks for on top."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pycodex.protocol.app.thread_starts import ThreadForkParams, ThreadResumeParams, ThreadStartParams
from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config.config import Config, Flags
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, RpcError

if TYPE_CHECKING:
    from pycodex.supervisor.frontends.app_server.server import AppServer
    from pycodex.supervisor.policy.rules import Rules

    ThreadParams = ThreadStartParams | ThreadResumeParams | ThreadForkParams


def thread_config(server: "AppServer", params: "ThreadParams", *, otherwise_cwd: str | None = None) -> Config:
    """Raises RpcError."""
    overrides = dict(params.config or {})
    if params.model_provider is not None:
        overrides["model_provider"] = params.model_provider
    policy = plain(params.approval_policy)
    flags = Flags(
        model=params.model,
        sandbox_mode=params.sandbox,
        approval_policy=policy if isinstance(policy, str) else None,
        ephemeral=bool(getattr(params, "ephemeral", None)),
    )
    if isinstance(policy, dict):
        overrides["approval_policy"] = policy
    try:
        config = server.load_config(cwd=params.cwd or otherwise_cwd, overrides=overrides, flags=flags)
    except UserFacing as error:
        raise RpcError(f"failed to load configuration: {error}") from error
    return replace(config, **_replaced(params))


def _replaced(params: "ThreadParams") -> Mapping[str, Any]:
    wished = {
        "model_instructions": params.base_instructions,
        "developer_instructions": params.developer_instructions,
        "personality": getattr(params, "personality", None),
        "service_tier": params.service_tier,
        "approvals_reviewer": params.approvals_reviewer,
    }
    return {name: value for name, value in wished.items() if value is not None}


def plain(policy: Any) -> Any:
    """A policy of approvals as the engine writes it."""
    return policy.model_dump(mode="json") if hasattr(policy, "model_dump") else policy


def loaded_rules(config: Config) -> "Rules":
    """Raises RpcError: without its rules a thread might run what they forbid."""
    from pycodex.supervisor.policy.rule_files import BadRules, load_rules

    try:
        return load_rules(config)
    except BadRules as error:
        text = f"error creating thread: Fatal error: failed to load rules: {error}"
        raise RpcError(text, code=INTERNAL_ERROR) from error
