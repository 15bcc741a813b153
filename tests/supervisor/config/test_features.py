"""Names of features, and which are on."""

import json
from pathlib import Path

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config.features import ALIASES, NAMES, ON_BY_DEFAULT, STAGES, checked_name, enabled


@pytest.mark.parametrize("name", ["use_legacy_landlock", "collab"])
def test_known_name_is_kept_as_given(name: str) -> None:
    assert checked_name(name) == name


def test_unknown_name_is_told() -> None:
    with pytest.raises(UserFacing) as caught:
        checked_name("nope")
    assert str(caught.value) == "Unknown feature flag: nope"


def test_every_alias_means_a_feature() -> None:
    assert set(ALIASES.values()) <= NAMES
    assert not NAMES & ALIASES.keys()


def switched(settings: dict[str, object], profile: dict[str, object] | None = None) -> set[str]:
    """How the enabled features differ from the defaults; those that are off have a minus."""
    on = enabled(settings, profile or {})
    return {*(on - ON_BY_DEFAULT), *(f"-{name}" for name in ON_BY_DEFAULT - on)}


@pytest.mark.parametrize(
    ("settings", "profile", "expected"),
    [
        ({}, {}, set()),
        ({"features": {"undo": True, "nope": True}}, {}, {"undo"}),
        ({"features": {"collab": False}}, {}, {"-multi_agent"}),
        ({"features": {"undo": True}}, {"features": {"undo": False}}, set()),
        ({"experimental_use_unified_exec_tool": False}, {}, {"-unified_exec"}),
        ({"include_apply_patch_tool": True}, {}, set()),
        ({}, {"include_apply_patch_tool": True}, {"apply_patch_freeform"}),
        ({"features": {"enable_fanout": True, "multi_agent": False}}, {}, {"enable_fanout"}),
        ({"features": {"code_mode_only": True}}, {}, {"code_mode_only", "code_mode"}),
        ({"features": {"js_repl_tools_only": True}}, {}, set()),
        ({"features": {"js_repl_tools_only": True, "js_repl": True}}, {}, {"js_repl_tools_only", "js_repl"}),
    ],
)
def test_switches_are_put_together(settings: dict[str, object], profile: dict[str, object], expected: set[str]) -> None:
    assert switched(settings, profile) == expected


def test_demand_beats_every_switch() -> None:
    on = enabled({"features": {"undo": False}}, {"features": {"undo": False}}, {"undo": True, "steer": False})
    assert "undo" in on
    assert "steer" not in on


def test_stages_and_defaults_are_those_of_the_reference(shared_dir: Path) -> None:
    recorded = json.loads((shared_dir / "interop/expected/config-features.json").read_text())
    lines = recorded["runs"][0]["stdout"]
    ours = [f"{name:<31}  {STAGES[name]:<17}  {'true' if name in ON_BY_DEFAULT else 'false'}" for name in sorted(NAMES)]
    assert lines == ours
