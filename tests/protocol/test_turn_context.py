"""What session files keep of a turn's settings."""

from typing import Any

import pytest

from pycodex.protocol.permissions import FsRule, Permissions
from support.tool_calls import READ_ONLY, make_turn

ALWAYS = {"turn_id", "cwd", "current_date", "timezone", "approval_policy", "sandbox_policy", "model"}


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"effort": "high"}, {"effort": "high"}),
        ({"output_schema": {"a": 1}}, {"final_output_json_schema": {"a": 1}}),
        ({"user_instructions": "u", "developer_instructions": "d"}, {"user_instructions": "u"}),
        ({"permissions": READ_ONLY}, {"sandbox_policy": {"type": "read-only"}}),
    ],
)
def test_payload_holds_what_is_set(fields: dict[str, Any], named: dict[str, Any]) -> None:
    payload = make_turn(**fields).to_rollout()
    assert payload.keys() >= ALWAYS
    assert payload.items() >= named.items()


def test_what_is_not_set_is_left_out() -> None:
    payload = make_turn(effort=None, output_schema=None, user_instructions=None).to_rollout()
    assert not payload.keys() & {"effort", "final_output_json_schema", "user_instructions"}


def test_file_rules_can_be_told() -> None:
    rules = Permissions(mode="read-only", rules=(FsRule(path="/a", access="read"),))
    assert make_turn(permissions=rules).to_rollout()["sandbox_policy"] == {"type": "read-only"}


def test_mode_is_told_with_its_settings() -> None:
    assert make_turn(effort="high").to_rollout()["collaboration_mode"] == {
        "mode": "default",
        "settings": {"model": "m", "reasoning_effort": "high", "developer_instructions": None},
    }
    assert make_turn(mode="plan", mode_instructions="PLAN").to_rollout()["collaboration_mode"] == {
        "mode": "plan",
        "settings": {"model": "m", "reasoning_effort": None, "developer_instructions": "PLAN"},
    }
