"""Every known key is shown."""

from typing import Any

import pytest

from pycodex.supervisor.config.schema import ROOT
from pycodex.supervisor.config.shown import shown

EMPTY = {
    "mcp_servers": {},
    "model_providers": {},
    "plugins": {},
    "profiles": {},
    "shell_environment_policy": dict.fromkeys(
        ("inherit", "ignore_default_excludes", "exclude", "set", "include_only", "experimental_use_profile")
    ),
}


def test_where_nothing_is_set_every_key_is_null_but_for_a_few_tables() -> None:
    told = shown({})
    assert told.keys() == ROOT.fields.keys() - {"sandbox"}
    assert {key: value for key, value in told.items() if value is not None} == EMPTY


def test_unknown_keys_are_left_out() -> None:
    assert "nonsense" not in shown({"nonsense": 1})


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("model", "m", "m"),
        ("sandbox", {"landlock_only": True}, {"landlock_only": True}),
        ("skills", {}, {}),
        ("analytics", {}, {"enabled": None}),
        ("features", {"undo": True, "newer": False}, {"undo": True, "newer": False}),
        ("plugins", {"a@b": {}}, {"a@b": {"enabled": True}}),
        ("tool_suggest", {}, {"discoverables": []}),
        ("projects", {"/x": {}}, {"/x": {"trust_level": None}}),
        ("tools", {"web_search": True}, {"view_image": None, "web_search": None}),
        (
            "tools",
            {"web_search": {"context_size": "low"}},
            {"view_image": None, "web_search": {"context_size": "low", "allowed_domains": None, "location": None}},
        ),
        (
            "sandbox_workspace_write",
            {"network_access": True},
            {
                "writable_roots": [],
                "network_access": True,
                "exclude_tmpdir_env_var": False,
                "exclude_slash_tmp": False,
            },
        ),
        (
            "approval_policy",
            {"granular": {"sandbox_approval": True, "rules": False, "mcp_elicitations": True}},
            {
                "granular": {
                    "sandbox_approval": True,
                    "rules": False,
                    "mcp_elicitations": True,
                    "skill_approval": False,
                    "request_permissions": False,
                }
            },
        ),
        (
            "agents",
            {"role": {"description": "d"}},
            {
                "max_threads": None,
                "max_depth": None,
                "job_max_runtime_seconds": None,
                "role": {"description": "d", "config_file": None, "nickname_candidates": None},
            },
        ),
        (
            "mcp_servers",
            {
                "a": {"command": "x", "startup_timeout_sec": 3},
                "b": {"url": "u", "startup_timeout_ms": 1500, "enabled": False},
            },
            {
                "a": {
                    "command": "x",
                    "args": [],
                    "enabled": True,
                    "startup_timeout_sec": 3.0,
                    "tool_timeout_sec": None,
                },
                "b": {"url": "u", "enabled": False, "startup_timeout_sec": 1.5, "tool_timeout_sec": None},
            },
        ),
    ],
)
def test_tables_that_are_set_show_what_they_leave_out(key: str, value: Any, told: Any) -> None:
    assert shown({key: value})[key] == told
