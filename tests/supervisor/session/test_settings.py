"""What a thread is set to, and what a wish of one turn changes for good."""

from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.model_info import BYTES, TOKENS, ModelInfo, TruncationPolicy
from pycodex.protocol.ops import UserTurn
from pycodex.protocol.permissions import Permissions
from pycodex.protocol.turn_context import Shell
from pycodex.supervisor.config.config import Flags
from pycodex.supervisor.config.load import load_config
from pycodex.supervisor.session.settings import Settings, TurnMaker, first_settings

BASE = Settings(
    cwd="/w",
    model="m",
    approval_policy="never",
    permissions=Permissions(mode="read-only"),
    effort=None,
    summary=None,
    personality=None,
    user_instructions="u",
    developer_instructions="d",
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cwd", "/other"),
        ("model", "other"),
        ("approval_policy", "on-request"),
        ("approval_policy", {"granular": {}}),
        ("permissions", Permissions(mode="danger-full-access")),
        ("effort", "high"),
        ("summary", "detailed"),
        ("personality", "friendly"),
        ("mode", "plan"),
    ],
)
def test_wish_changes_what_it_names_and_nothing_else(name: str, value: Any) -> None:
    changed = BASE.changed_by(UserTurn(items=(), **{name: value}))
    assert getattr(changed, name) == value
    for other in BASE.__slots__:
        if other != name:
            assert getattr(changed, other) == getattr(BASE, other)


def test_wish_without_settings_changes_nothing() -> None:
    assert BASE.changed_by(UserTurn(items=(), output_schema={})) == BASE


def test_what_the_model_is_told_of_a_mode_goes_with_the_mode() -> None:
    planning = BASE.changed_by(UserTurn(items=(), mode="plan", mode_instructions="PLAN"))
    assert (planning.mode, planning.mode_instructions) == ("plan", "PLAN")
    assert planning.changed_by(UserTurn(items=(), mode_instructions="lost")) == planning
    assert planning.changed_by(UserTurn(items=(), mode="default")) == BASE


def info_of(name: str) -> ModelInfo:
    policy = TruncationPolicy(TOKENS, 10) if name == "m" else TruncationPolicy(BYTES, 20)
    return ModelInfo(slug=name, display_name=name, context_window=None, truncation=policy)


def config_in(tmp_path: Path, *overrides: str) -> Any:
    env = {"CODEX_HOME": str(tmp_path)}
    return load_config(env=env, overrides=overrides, cwd="/", flags=Flags(), system_dir=str(tmp_path / "none"))


def test_turn_takes_its_limits_from_the_model_it_asks(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    maker = TurnMaker("thread", config, env={"TZ": "Etc/UTC"}, shell=Shell("sh", "/bin/sh"), lookup=info_of)
    first = maker.turn(BASE, turn_id="1", output_schema=None)
    second = maker.turn(BASE.changed_by(UserTurn(items=(), model="n")), turn_id="2", output_schema={"a": 1})
    assert (first.truncation.limit, second.truncation.limit) == (10, 20)
    assert (first.turn_id, second.turn_id) == ("1", "2")
    assert (first.output_schema, second.output_schema) == (None, {"a": 1})
    assert first.summary == info_of("m").default_reasoning_summary
    assert first.timezone == "Etc/UTC"
    assert first.features == config.features
    third = maker.turn(
        BASE.changed_by(UserTurn(items=(), mode="plan", mode_instructions="PLAN")), turn_id="3", output_schema=None
    )
    assert (first.mode, third.mode, third.mode_instructions) == ("default", "plan", "PLAN")


@pytest.mark.parametrize(
    ("overrides", "name", "value"),
    [
        ((), "cwd", "/"),
        ((), "effort", None),
        (('model_reasoning_effort="high"',), "effort", "high"),
        (('model_reasoning_summary="none"',), "summary", "none"),
        (('developer_instructions="x"',), "developer_instructions", "x"),
        (('personality="friendly"', "features.personality=false"), "personality", None),
        (('personality="friendly"', "features.personality=true"), "personality", "friendly"),
    ],
)
def test_first_settings_are_those_of_the_configuration(
    tmp_path: Path, overrides: tuple[str, ...], name: str, value: object
) -> None:
    settings = first_settings(config_in(tmp_path, *overrides), model="m", user_instructions=None)
    assert getattr(settings, name) == value
