"""What a client wants a thread to be set to, in the words of the engine."""

import os
from typing import Any

from pycodex.protocol.app.newer_threads import ThreadSettingsUpdateParams
from pycodex.protocol.app.turns import TurnStartParams
from pycodex.protocol.ops import UserTurn
from pycodex.protocol.user_input import UserInput
from pycodex.supervisor.frontends.app_server.sandbox_policies import permissions_of
from pycodex.supervisor.frontends.app_server.thread_configs import plain

SettingParams = TurnStartParams | ThreadSettingsUpdateParams


def wish_of(params: SettingParams, inputs: tuple[UserInput, ...] = ()) -> UserTurn:
    policy: Any = params.sandbox_policy
    wish = UserTurn(
        items=inputs,
        cwd=None if params.cwd is None else os.path.realpath(params.cwd),
        approval_policy=plain(params.approval_policy),
        permissions=None if policy is None else permissions_of(policy.to_json()),
        model=params.model,
        effort=params.effort,
        summary=params.summary,
        personality=params.personality,
        service_tier=(params.service_tier or "") if "service_tier" in params.model_fields_set else None,
    )
    mode = params.collaboration_mode
    if mode is None:
        return wish
    return wish.replace(
        mode=mode.mode,
        mode_instructions=mode.settings.developer_instructions,
        model=mode.settings.model,
        effort=mode.settings.reasoning_effort or wish.effort,
    )
