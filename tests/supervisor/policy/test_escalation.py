"""Whoever may not ask for more is told so in the words that models know."""

from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.errors import ModelFacing
from pycodex.supervisor.policy import escalation
from support.tool_calls import make_turn

GRANULAR = {"granular": {"sandbox_approval": True, "rules": False, "mcp_elicitations": True}}
GRANULAR_NAME = (
    "Granular(GranularApprovalConfig { sandbox_approval: true, rules: false, skill_approval: false, "
    "request_permissions: false, mcp_elicitations: true })"
)


@pytest.mark.parametrize(
    ("policy", "name"),
    [
        ("never", "Never"),
        ("on-failure", "OnFailure"),
        ("untrusted", "UnlessTrusted"),
        (GRANULAR, GRANULAR_NAME),
    ],
)
@pytest.mark.parametrize(
    ("asked", "additional"),
    [("require_escalated", None), ("with_additional_permissions", None), ("use_default", {})],
)
def test_only_on_request_may_anything_be_asked(
    policy: Any, name: str, asked: str, additional: dict[str, Any] | None
) -> None:
    turn = make_turn(approval_policy=policy)
    with pytest.raises(ModelFacing) as raised:
        escalation.check(turn, asked=asked, additional=additional, verb="cannot")
    assert str(raised.value) == (
        f"approval policy is {name}; reject command — you cannot ask for escalated permissions "
        f"if the approval policy is {name}"
    )
    escalation.check(turn, asked="use_default", additional=None, verb="cannot")


@pytest.mark.parametrize(("asked", "additional"), [("with_additional_permissions", None), ("use_default", {})])
def test_additional_permissions_need_their_feature(asked: str, additional: dict[str, Any] | None) -> None:
    turn = make_turn(approval_policy="on-request")
    with pytest.raises(ModelFacing, match=r"^additional permissions are disabled; enable `features\.exec_permission"):
        escalation.check(turn, asked=asked, additional=additional, verb="cannot")
    allowed = make_turn(approval_policy="on-request", features=frozenset({"exec_permission_approvals"}))
    escalation.check(allowed, asked=asked, additional=additional, verb="cannot")
    escalation.check(turn, asked="require_escalated", additional=None, verb="cannot")


@pytest.mark.parametrize("verb", ["cannot", "should not"])
def test_text_says_what_the_tool_says(verb: str) -> None:
    turn = make_turn(approval_policy="never")
    with pytest.raises(ModelFacing) as raised:
        escalation.check(turn, asked="require_escalated", additional=None, verb=verb)
    assert f"— you {verb} ask for escalated permissions" in str(raised.value)


def test_policies_have_names_for_models() -> None:
    assert escalation.policy_name("on-request") == "OnRequest"
    everything = dict.fromkeys(
        ("sandbox_approval", "rules", "skill_approval", "request_permissions", "mcp_elicitations"), True
    )
    assert escalation.policy_name({"granular": everything}) == GRANULAR_NAME.replace("false", "true")


# What is asked for

EXTRA = "with_additional_permissions"


def extra_of(additional: dict[str, Any] | None, asked: str = EXTRA) -> escalation.Extra | None:
    return escalation.extra_of(additional, asked=asked, cwd="/ws/sub")


def problem_with(additional: dict[str, Any] | None, asked: str = EXTRA) -> str:
    with pytest.raises(ModelFacing) as raised:
        extra_of(additional, asked)
    return str(raised.value)


@pytest.mark.parametrize(
    ("additional", "expected"),
    [
        ({"network": {"enabled": True}}, escalation.Extra(network=True)),
        ({"file_system": {"read": ["/a"]}}, escalation.Extra(read=("/a",))),
        ({"file_system": {"write": ["/a", "b"]}}, escalation.Extra(write=("/a", "/ws/sub/b"))),
        ({"file_system": {"read": None, "write": ["."]}, "network": None}, escalation.Extra(write=("/ws/sub",))),
        (
            {"file_system": {"read": ["../x/./y/", "~"], "write": ["/a/../b"]}, "network": {"enabled": True}},
            escalation.Extra(read=("/ws/x/y", "/ws/sub/~"), write=("/b",), network=True),
        ),
        ({"network": {"enabled": True}, "macos": None, "later": 1}, escalation.Extra(network=True)),
        ({"file_system": {"read": ["/a"] * 64}}, escalation.Extra(read=("/a",) * 64)),
    ],
)
def test_what_is_asked_for_is_told_with_absolute_paths(additional: dict[str, Any], expected: escalation.Extra) -> None:
    assert extra_of(additional) == expected


@pytest.mark.parametrize("asked", ["use_default", "require_escalated"])
def test_nothing_is_added_unless_it_is_asked_for(asked: str) -> None:
    assert extra_of(None, asked) is None
    assert problem_with({"network": {"enabled": True}}, asked) == (
        "`additional_permissions` requires `sandbox_permissions` set to `with_additional_permissions`"
    )


def test_asking_for_more_without_saying_what_is_an_error() -> None:
    assert problem_with(None) == (
        "missing `additional_permissions`; provide at least one of `network`, `file_system`, or `macos` when using "
        "`with_additional_permissions`"
    )


@pytest.mark.parametrize(
    "additional",
    [
        {},
        {"network": {}},
        {"network": {"enabled": False}},
        {"network": {"enabled": None}},
        {"network": {"enabled": 1}},
        {"network": {"enabled": "true"}},
        {"file_system": {}},
        {"file_system": {"read": [], "write": []}},
        {"file_system": None, "network": None},
    ],
)
def test_asking_for_nothing_is_an_error(additional: dict[str, Any]) -> None:
    assert problem_with(additional) == (
        "`additional_permissions` must include at least one requested permission in `network`, `file_system`, or "
        "`macos`"
    )


@pytest.mark.parametrize(
    ("additional", "problem"),
    [
        ({"macos": {}}, "`additional_permissions.macos` is only supported on macOS"),
        ({"network": True}, "`additional_permissions.network` must be a table"),
        ({"file_system": ["/a"]}, "`additional_permissions.file_system` must be a table"),
        *(
            ({"file_system": {"read": value}}, "`additional_permissions.file_system.read` must be a list of paths")
            for value in ("/a", [1], ["/a", None], [""], ["a\0b"], {"a": 1}, True)
        ),
        ({"file_system": {"write": "/a"}}, "`additional_permissions.file_system.write` must be a list of paths"),
        (
            {"file_system": {"write": ["/a"] * 65}},
            "`additional_permissions.file_system.write` must not name more than 64 paths",
        ),
    ],
)
def test_what_makes_no_sense_is_named(additional: dict[str, Any], problem: str) -> None:
    assert problem_with(additional) == problem


def test_path_is_told_as_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    asked = {"file_system": {"write": ["link/new", "link/../x"]}}
    extra = escalation.extra_of(asked, asked=EXTRA, cwd=str(tmp_path))
    real = tmp_path.resolve()
    assert extra == escalation.Extra(write=(f"{real}/real/new", f"{real}/x"))


def test_what_is_asked_for_can_be_told_and_sent() -> None:
    extra = escalation.Extra(read=("/a",), write=("/b", "/c"), network=True)
    told = extra.told()
    assert [told.index(part) for part in ("/a", "/b", "/c", "the network")] == sorted(
        told.index(part) for part in ("/a", "/b", "/c", "the network")
    )
    assert extra.to_wire() == {"network": {"enabled": True}, "file_system": {"read": ["/a"], "write": ["/b", "/c"]}}
    assert escalation.Extra(read=("/a",)).to_wire() == {"file_system": {"read": ["/a"], "write": None}}
    assert escalation.Extra(network=True).to_wire() == {"network": {"enabled": True}}
