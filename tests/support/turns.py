"""A turn with nothing special about it, for tests that change one thing in it."""

from dataclasses import replace
from typing import Any

from pycodex.protocol.model_info import TOKENS, ModelInfo, TruncationPolicy
from pycodex.protocol.permissions import Permissions
from pycodex.protocol.turn_context import Shell, TurnContext

TRUNCATION = TruncationPolicy(TOKENS, 10_000)
MODEL_INFO = ModelInfo(slug="m", display_name="M", context_window=None, truncation=TRUNCATION)
PLAIN_TURN = TurnContext(
    thread_id="thread",
    turn_id="turn",
    cwd="/w",
    current_date="2026-01-02",
    timezone="Etc/UTC",
    approval_policy="never",
    permissions=Permissions(mode="read-only"),
    model="m",
    model_info=MODEL_INFO,
    effort=None,
    summary="auto",
    personality="pragmatic",
    truncation=TRUNCATION,
    shell=Shell("bash", "/bin/bash"),
    features=frozenset({"personality"}),
)


def turn_with(**changes: Any) -> TurnContext:
    return replace(PLAIN_TURN, **changes)
