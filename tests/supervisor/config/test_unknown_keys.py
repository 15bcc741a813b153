"""Slips of the pen are pointed out, once, and only in files."""

import tomllib

import pytest

from pycodex.supervisor.config.early import Layer
from pycodex.supervisor.config.unknown_keys import unknown_key_warnings


def warnings(text: str, path: str = "/c.toml") -> tuple[str, ...]:
    return unknown_key_warnings([Layer(path, tomllib.loads(text), text)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\nmodle = 'x'", ["2: unknown key `modle` is ignored; did you mean `model`?"]),
        ("qqqq = 1", ["1: unknown key `qqqq` is ignored"]),
        ("[qqqq]\na = 1\n[qqqq.b]\nc = 1", ["1: unknown key `qqqq` is ignored"]),
        (
            "[sandbox_workspace_write]\n\nnetwork_acess = true",
            [
                (
                    "3: unknown key `sandbox_workspace_write.network_acess` is ignored; "
                    "did you mean `sandbox_workspace_write.network_access`?"
                )
            ],
        ),
        (
            "[profiles.p]\nmodel_verbosty = 'low'",
            ["2: unknown key `profiles.p.model_verbosty` is ignored; did you mean `profiles.p.model_verbosity`?"],
        ),
        (
            "[model_providers.m]\nname = 'x'\nbaseurl = 'x'",
            ["3: unknown key `model_providers.m.baseurl` is ignored; did you mean `model_providers.m.base_url`?"],
        ),
        (
            "mcp_servers = {s = {command = 'x', argz = []}}",
            ["1: unknown key `mcp_servers.s.argz` is ignored; did you mean `mcp_servers.s.args`?"],
        ),
        (
            "[[skills.config]]\npath = 'x'\nenabled = true\n[[skills.config]]\npath = 'y'\nenabled = true\nenable = 1",
            ["7: unknown key `skills.config.enable` is ignored; did you mean `skills.config.enabled`?"],
        ),
        (
            "approval_policy = {granular = {rule = true}}",
            [
                (
                    "1: unknown key `approval_policy.granular.rule` is ignored; did you mean "
                    "`approval_policy.granular.rules`?"
                )
            ],
        ),
        (
            "[tools.web_search]\ncontext_sise = 'low'",
            [
                (
                    "2: unknown key `tools.web_search.context_sise` is ignored; "
                    "did you mean `tools.web_search.context_size`?"
                )
            ],
        ),
        (
            "[features]\nunifed_exec = true",
            ["2: unknown key `features.unifed_exec` is ignored; did you mean `features.unified_exec`?"],
        ),
    ],
)
def test_unknown_key_is_named_with_its_line(text: str, expected: list[str]) -> None:
    assert list(warnings(text)) == [f"/c.toml:{line}" for line in expected]


@pytest.mark.parametrize(
    "text",
    [
        "model = 'x'\nexperimental_instructions_file = 'x'",
        "[projects.'/any/path']\ntrust_level = 'trusted'",
        "[features]\nsome_day = true\ncollab = true",
        "[tui]\nlater = 1\n[notice]\nlater = 1\n[otel]\nlater = 1",
        "[agents.any]\ndescription = 'x'",
        "[permissions.any.filesystem]\n'/x' = {sub = 'read'}",
        "[shell_environment_policy.set]\nANY = 'x'",
        "[tools]\nweb_search = true",
        "[sandbox]\nlandlock_only = true\n[sandbox.limits]\nmemory_bytes = 1",
    ],
)
def test_names_of_the_user_and_of_newer_versions_are_no_mistakes(text: str) -> None:
    assert warnings(text) == ()


def test_override_is_never_complained_about() -> None:
    assert unknown_key_warnings([Layer("-c", {"modle": 1})]) == ()


def test_same_file_is_complained_about_once() -> None:
    layer = Layer("/c.toml", {"modle": 1}, "modle = 1")
    assert len(unknown_key_warnings([layer, layer])) == 1
