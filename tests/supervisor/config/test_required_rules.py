"""Rules of an administrator are read as they are meant, and a file that cannot be is no file to run with."""

from typing import Any

import pytest

from pycodex.supervisor.config.early import BadConfig
from pycodex.supervisor.config.required_rules import RequiredRule, required_rules

FILE = "/etc/codex/requirements.toml"


def rule(**fields: Any) -> dict[str, Any]:
    return {"prefix_rules": [{"pattern": [{"token": "rm"}], "decision": "forbidden", **fields}]}


def test_each_word_has_its_alternatives() -> None:
    table = rule(
        pattern=[{"token": "git"}, {"any_of": ["push", "fetch"]}], decision="prompt", justification="ask the owner"
    )
    assert required_rules(table, FILE) == (
        RequiredRule((("git",), ("push", "fetch")), decision="prompt", justification="ask the owner", source=FILE),
    )


def test_without_rules_nothing_is_demanded() -> None:
    assert required_rules(None, FILE) == ()


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ([], "rules prefix_rules must be a list of tables"),
        ({}, "rules prefix_rules must be a list of tables"),
        ({"prefix_rules": {}}, "rules prefix_rules must be a list of tables"),
        ({"prefix_rules": []}, "rules prefix_rules cannot be empty"),
        ({"prefix_rules": ["rm"]}, "rules prefix_rule at index 0 is not a table"),
        (rule(pattern=None), "rules prefix_rule at index 0 has an empty pattern"),
        (rule(pattern=[]), "rules prefix_rule at index 0 has an empty pattern"),
        *(
            (
                rule(pattern=[{"token": "x"}, token]),
                f"rules prefix_rule at index 0 has an invalid pattern token at {why}",
            )
            for token, why in (
                ("rm", "index 1: set either token or any_of"),
                ({}, "index 1: set either token or any_of"),
                ({"token": "a", "any_of": ["b"]}, "index 1: set either token or any_of, not both"),
                ({"token": " "}, "index 1: token cannot be empty"),
                ({"token": 1}, "index 1: token cannot be empty"),
                ({"any_of": []}, "index 1: any_of cannot be empty"),
                ({"any_of": ["a", ""]}, "index 1: any_of cannot include empty tokens"),
            )
        ),
        (rule(decision=None), "rules prefix_rule at index 0 is missing a decision"),
        (
            rule(decision="allow"),
            "has decision 'allow', which requirements cannot give: use 'prompt' or 'forbidden'",
        ),
        (
            rule(decision="deny"),
            "rules prefix_rule at index 0 has an unknown decision 'deny': use 'prompt' or 'forbidden'",
        ),
        (rule(justification=" "), "rules prefix_rule at index 0 has an empty justification"),
        (rule(justification=1), "rules prefix_rule at index 0 has an empty justification"),
    ],
)
def test_what_cannot_be_used_is_told(table: object, problem: str) -> None:
    with pytest.raises(BadConfig) as raised:
        required_rules(table, FILE)
    assert problem in str(raised.value)
