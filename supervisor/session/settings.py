"""What a thread is set to, and how one turn's settings follow from it.

Owns the settings that may change from turn to turn, and the making of a turn's fixed context from them. Takes a
configuration at the start, wishes of single turns later; knows no task and no file.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pycodex.protocol.model_info import ModelInfo
from pycodex.protocol.ops import UserTurn
from pycodex.protocol.permissions import Permissions
from pycodex.protocol.turn_context import DEFAULT_MODE, ApprovalPolicy, Shell, TurnContext
from pycodex.supervisor.config.config import Config
from pycodex.supervisor.context.environment import date_and_timezone


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`effort` and `summary` are None where the model's own default shall hold."""

    cwd: str
    model: str
    approval_policy: ApprovalPolicy
    permissions: Permissions
    effort: str | None
    summary: str | None
    personality: str | None
    user_instructions: str | None
    developer_instructions: str | None
    mode: str = DEFAULT_MODE
    mode_instructions: str | None = None

    def changed_by(self, wish: UserTurn) -> "Settings":
        """The settings from this turn on: what the wish names is replaced."""
        wished: dict[str, Any] = {
            "cwd": wish.cwd,
            "model": wish.model,
            "approval_policy": wish.approval_policy,
            "permissions": wish.permissions,
            "effort": wish.effort,
            "summary": wish.summary,
            "personality": wish.personality,
            "mode": wish.mode,
        }
        changed = replace(self, **{name: value for name, value in wished.items() if value is not None})
        return changed if wish.mode is None else replace(changed, mode_instructions=wish.mode_instructions)


def first_settings(config: Config, *, model: str, user_instructions: str | None) -> Settings:
    return Settings(
        cwd=config.cwd,
        model=model,
        approval_policy=config.approval_policy,
        permissions=config.permissions,
        effort=config.model_reasoning_effort,
        summary=config.model_reasoning_summary,
        personality=config.personality if "personality" in config.features else None,
        user_instructions=user_instructions,
        developer_instructions=config.developer_instructions,
    )


class TurnMaker:
    """Makes the context of each turn of one thread."""

    def __init__(
        self,
        thread_id: str,
        config: Config,
        *,
        env: Mapping[str, str],
        shell: Shell,
        lookup: Callable[[str], ModelInfo],
    ) -> None:
        self._thread_id = thread_id
        self._features = config.features
        self._env = env
        self._shell = shell
        self._lookup = lookup

    def turn(self, settings: Settings, *, turn_id: str, output_schema: object) -> TurnContext:
        info = self._lookup(settings.model)
        date, timezone = date_and_timezone(self._env)
        return TurnContext(
            thread_id=self._thread_id,
            turn_id=turn_id,
            cwd=settings.cwd,
            current_date=date,
            timezone=timezone,
            approval_policy=settings.approval_policy,
            permissions=settings.permissions,
            model=settings.model,
            model_info=info,
            effort=settings.effort,
            summary=settings.summary or info.default_reasoning_summary,
            personality=settings.personality,
            truncation=info.truncation,
            shell=self._shell,
            user_instructions=settings.user_instructions,
            developer_instructions=settings.developer_instructions,
            output_schema=output_schema,
            features=self._features,
            mode=settings.mode,
            mode_instructions=settings.mode_instructions,
        )
