"""Both ways to ask for escalation are understood, and both names of the timeout."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.protocol.errors import ModelFacing
from pycodex.supervisor.tools import shell_parameters
from pycodex.supervisor.tools.handlers import shell, shell_command
from pycodex.supervisor.tools.shell_parameters import read


@pytest.mark.parametrize(
    ("given_fields", "asked"),
    [
        ({}, "use_default"),
        ({"sandbox_permissions": None}, "use_default"),
        ({"sandbox_permissions": "require_escalated"}, "require_escalated"),
        ({"with_escalated_permissions": True}, "require_escalated"),
        ({"with_escalated_permissions": False}, "use_default"),
        ({"with_escalated_permissions": "yes"}, "use_default"),
        ({"with_escalated_permissions": True, "sandbox_permissions": "use_default"}, "use_default"),
        ({"workdir": "with_escalated_permissions"}, "use_default"),
    ],
)
def test_wish_for_escalation(given_fields: dict[str, object], asked: str) -> None:
    given = read(json.dumps({"command": ["true"], **given_fields}), shell.SHAPE)
    assert given["sandbox_permissions"] == asked


def test_list_of_arguments_has_no_old_name() -> None:
    given = read('[["with_escalated_permissions"]]', shell.SHAPE)
    assert given["sandbox_permissions"] == "use_default"


def test_timeout_has_two_names() -> None:
    assert read('{"command":[],"timeout":5}', shell.SHAPE)["timeout_ms"] == 5
    assert read('{"command":[],"timeout_ms":6}', shell.SHAPE)["timeout_ms"] == 6


# As the reference words them.
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("[]", "invalid length 0, expected struct ShellToolCallParams with 7 elements at line 1 column 2"),
        (
            '[["true"],null,5000,"bogus"]',
            (
                "unknown variant `bogus`, expected one of `use_default`, `require_escalated`, "
                "`with_additional_permissions` at line 1 column 27"
            ),
        ),
        ('[["true"],null,5000,null,7]', "invalid type: integer `7`, expected a sequence at line 1 column 26"),
        (
            '[["true"],null,5000,null,null,7]',
            "invalid type: integer `7`, expected struct PermissionProfile at line 1 column 31",
        ),
        ('[["true"],null,5000,null,null,null,7]', "invalid type: integer `7`, expected a string at line 1 column 36"),
        ('{"command":["true"],"timeout":1000,"timeout_ms":2000}', "duplicate field `timeout_ms` at line 1 column 47"),
        ('{"command":["true"],"timeout":"x"}', 'invalid type: string "x", expected u64 at line 1 column 33'),
        ('{"command":5} x', "trailing characters at line 1 column 15"),
        ('{"command":[1]}', "invalid type: integer `1`, expected a string at line 1 column 13"),
        ('{"command":"ls"}', 'invalid type: string "ls", expected a sequence at line 1 column 15'),
        ("{}", "missing field `command` at line 1 column 2"),
    ],
)
def test_errors_of_shell(arguments: str, error: str) -> None:
    with pytest.raises(ModelFacing) as caught:
        read(arguments, shell.SHAPE)
    assert str(caught.value) == f"failed to parse function arguments: {error}"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("[]", "invalid length 0, expected struct ShellCommandToolCallParams with 8 elements at line 1 column 2"),
        ('["true",null,7]', "invalid type: integer `7`, expected a boolean at line 1 column 14"),
        ('["true",null,null,"x"]', 'invalid type: string "x", expected u64 at line 1 column 21'),
        ('["true",null,null,null,null,7]', "invalid type: integer `7`, expected a sequence at line 1 column 29"),
        ('{"command":5} x', "trailing characters at line 1 column 15"),
        ('{"command":["ls"]}', "invalid type: sequence, expected a string at line 1 column 11"),
    ],
)
def test_errors_of_shell_command(arguments: str, error: str) -> None:
    with pytest.raises(ModelFacing) as caught:
        read(arguments, shell_command.SHAPE)
    assert str(caught.value) == f"failed to parse function arguments: {error}"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from([*shell.SHAPE.by_name, "login", "with_escalated_permissions"])


@given(st.text(max_size=40) | st.one_of(JSON, st.dictionaries(NAMES, JSON, max_size=5)).map(json.dumps))
def test_any_arguments_are_read_or_refused(arguments: str) -> None:
    for shape in (shell.SHAPE, shell_command.SHAPE):
        with suppress(ModelFacing):
            assert read(arguments, shape).keys() == {field.name for field in shape.fields}


def test_schema_says_which_fields_there_are() -> None:
    names = {field.name for field in (shell_parameters.WORKDIR, *shell_parameters.FIELDS)}
    assert shell_parameters.properties().keys() == names - {"additional_permissions"}
