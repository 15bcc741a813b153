"""The words of an explanation, for terms that a test cannot set up on this machine."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.confinement import Confinement
from pycodex.supervisor.cli.policy_explain_text import explained_lines, policy_text
from pycodex.supervisor.cli.terminal import Palette
from pycodex.supervisor.config.config import Config, Flags
from pycodex.supervisor.config.load import load_config
from pycodex.supervisor.policy.explanation import explain
from pycodex.supervisor.policy.located_rules import LocatedRules
from pycodex.supervisor.policy.questions import Terms, question_about
from pycodex.supervisor.policy.rules import PrefixRule, Rules

REQUIRED = LocatedRules(
    Rules(prefix_rules=(PrefixRule(program="rm", decision="forbidden", justification="ask the owner"),)),
    demanded=("/etc/codex/requirements.toml",),
)

Lines = Callable[..., list[str]]


@pytest.fixture
def lines(tmp_path: Path) -> Lines:
    def call(*argv: str, palette: Palette, located: LocatedRules = REQUIRED) -> list[str]:
        config = loaded(tmp_path)
        terms = Terms(config.approval_policy, config.permissions.mode, "/bin/bash")
        explanation = explain(question_about(argv, rules=located.rules, terms=terms), located)
        confinement = Confinement(unconfined_because="a test") if explanation.run is not None else None
        return list(explained_lines(explanation, confinement, config, palette))

    return call


def loaded(root: Path) -> Config:
    env = {"CODEX_HOME": str(root), "HOME": str(root)}
    return load_config(env=env, overrides=(), cwd=str(root), flags=Flags(), system_dir=str(root / "etc"))


def test_rules_of_an_administrator_are_named_as_such(lines: Lines) -> None:
    said = lines("rm", "x", palette=Palette(colour=False))
    expected = "rm x  forbidden  rule of the administrator, /etc/codex/requirements.toml, on `rm`: ask the owner"
    assert f"part            {expected}" in said


def test_colours_only_where_they_are_wanted(lines: Lines) -> None:
    plain, coloured = (lines("rm", "x", palette=Palette(colour=wanted)) for wanted in (False, True))
    assert not any("\x1b" in line for line in plain)
    assert any("\x1b[31mforbidden\x1b[0m" in line for line in coloured)


def test_long_commands_are_cut_in_the_table_only(lines: Lines) -> None:
    long = "x" * 100
    said = lines("touch", long, palette=Palette(colour=False))
    assert said[0] == f"command         touch {long}"
    assert f"part            touch {'x' * 51}...  allow      approval policy on-request" in said


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        ("never", "never"),
        (
            {"granular": {"sandbox_approval": True, "rules": False, "mcp_elicitations": True}},
            "granular (sandbox_approval, mcp_elicitations)",
        ),
        ({"granular": {"sandbox_approval": False}}, "granular (nothing is asked)"),
    ],
)
def test_policies_by_their_names(policy: Any, text: str) -> None:
    assert policy_text(policy) == text
