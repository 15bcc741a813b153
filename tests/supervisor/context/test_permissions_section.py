"""What the model is told of its permissions is what holds."""

from typing import Any

import pytest

from pycodex.protocol.permissions import FsRule, Permissions
from pycodex.supervisor.context.permissions_section import (
    GRANULAR_KINDS,
    approval_terms,
    permissions_section,
    writable_roots,
)

WRITE = Permissions(mode="workspace-write")


def section(permissions: Permissions = WRITE, policy: str | dict[str, Any] = "never", **options: Any) -> str:
    return permissions_section(permissions, policy, **{"cwd": "/w", "tmpdir": None, **options})


@pytest.mark.parametrize(
    ("permissions", "mode", "network"),
    [
        (Permissions(mode="read-only"), "read-only", "restricted"),
        (Permissions(mode="read-only", network_access=True), "read-only", "enabled"),
        (WRITE, "workspace-write", "restricted"),
        (WRITE.replace(network_access=True), "workspace-write", "enabled"),
        (Permissions(mode="danger-full-access", network_access=True), "danger-full-access", "enabled"),
        (Permissions(mode="external-sandbox"), "danger-full-access", "restricted"),
    ],
)
def test_mode_and_network_are_named(permissions: Permissions, mode: str, network: str) -> None:
    text = section(permissions)
    assert f"`sandbox_mode` is `{mode}`" in text
    assert f"Network access is {network}." in text


@pytest.mark.parametrize("policy", ["never", "untrusted", "on-failure", "on-request"])
def test_policy_is_named_with_what_it_means_for_escalation(policy: str) -> None:
    text = section(policy=policy)
    assert f"`approval_policy` is `{policy}`" in text
    assert "sandbox_permissions" in text
    assert ("require_escalated" in text) == (policy == "on-request")


def test_on_request_says_how_to_ask_and_what_is_judged() -> None:
    text = section(policy="on-request")
    for fact in (
        "`justification`",
        "question",
        "`prefix_rule`",
        "`|`",
        "`&&`",
        "`||`",
        "`;`",
        "subshell",
        "heredoc",
        "rm",
    ):
        assert fact in text


def granular(**flags: bool) -> dict[str, Any]:
    return {"granular": {"sandbox_approval": False, "rules": False, "mcp_elicitations": False, **flags}}


def test_granular_says_which_questions_reach_the_user() -> None:
    text = section(policy=granular(rules=True, skill_approval=True))
    asked, rejected = text.split("May be put to the user:")[1].split("Rejected without asking:")
    assert [kind for kind in GRANULAR_KINDS if f"- `{kind}`" in asked] == ["rules", "skill_approval"]
    assert [kind for kind in GRANULAR_KINDS if f"- `{kind}`" in rejected] == [
        "sandbox_approval",
        "request_permissions",
        "mcp_elicitations",
    ]


def test_granular_leaves_out_an_empty_list() -> None:
    everything = section(policy=granular(**dict.fromkeys(GRANULAR_KINDS, True)))
    assert "Rejected without asking" not in everything
    assert "May be put to the user" not in section(policy=granular())


def test_policies_are_compared_by_what_they_grant() -> None:
    assert approval_terms(granular()) == approval_terms(granular(skill_approval=False))
    assert approval_terms(granular()) != approval_terms(granular(rules=True))
    assert approval_terms("never") != approval_terms(granular())


@pytest.mark.parametrize(
    ("permissions", "tmpdir", "roots"),
    [
        (Permissions(mode="read-only"), "/t", []),
        (Permissions(mode="danger-full-access"), "/t", []),
        (WRITE, None, ["/w", "/tmp"]),
        (WRITE, "", ["/w", "/tmp"]),
        (WRITE, "/var/tmp/", ["/w", "/tmp", "/var/tmp"]),
        (WRITE, "relative", ["/w", "/tmp"]),
        (WRITE, "/tmp/", ["/w", "/tmp"]),
        (
            WRITE.replace(writable_roots=("/h/memories", "/opt/../usr", "/w")),
            None,
            ["/h/memories", "/usr", "/w", "/tmp"],
        ),
        (WRITE.replace(exclude_slash_tmp=True), "/t", ["/w", "/t"]),
        (WRITE.replace(exclude_tmpdir_env_var=True), "/t", ["/w", "/tmp"]),
        (
            WRITE.replace(
                rules=(
                    FsRule(special="root", access="read"),
                    FsRule(special="current_working_directory", subpath="out", access="write"),
                    FsRule(special="tmpdir", access="write"),
                    FsRule(special="unknown", access="write"),
                    FsRule(path="/data", access="write"),
                )
            ),
            "/t",
            ["/w/out", "/t", "/data"],
        ),
    ],
)
def test_writable_roots(permissions: Permissions, tmpdir: str | None, roots: list[str]) -> None:
    assert writable_roots(permissions, "/w", tmpdir) == roots


def test_roots_are_the_last_line() -> None:
    assert section(policy="on-request").splitlines()[-1] == "The writable roots are `/w`, `/tmp`."
    alone = section(WRITE.replace(exclude_slash_tmp=True, exclude_tmpdir_env_var=True))
    assert alone.splitlines()[-1] == "The writable root is `/w`."


@pytest.mark.parametrize("mode", ["read-only", "danger-full-access", "external-sandbox"])
def test_other_modes_name_no_roots(mode: str) -> None:
    assert "writable root is" not in section(Permissions(mode=mode))
    assert "writable roots are" not in section(Permissions(mode=mode))


def test_limits_on_reading_are_told() -> None:
    text = section(WRITE.replace(restricted_read=True, readable_roots=("/data",), platform_defaults=True))
    assert "only `/data`, `/w`, the system's own directories can be read" in text
    denied = WRITE.replace(rules=(FsRule(special="root", access="read"), FsRule(path="/w/.env", access="none")))
    assert "neither be read nor written: `/w/.env`" in section(denied)
    assert "can be read" not in section(denied)


def test_allowed_prefixes_are_ordered_by_words_then_length_then_letters() -> None:
    prefixes = [("git", "status"), ("ls",), ("a", "b", "c"), ("zz",), ('q"uote', "x y"), ("cat",), ("ls",)]
    text = section(policy="on-request", allowed_prefixes=prefixes)
    assert [line for line in text.splitlines() if line.startswith('- ["')] == [
        '- ["ls"]',
        '- ["zz"]',
        '- ["cat"]',
        '- ["git", "status"]',
        '- ["q\\"uote", "x y"]',
        '- ["a", "b", "c"]',
    ]


@pytest.mark.parametrize(("policy", "shown"), [("never", False), ("untrusted", False), (granular(), True)])
def test_prefixes_are_told_where_they_matter(policy: Any, shown: bool) -> None:
    assert ('- ["ls"]' in section(policy=policy, allowed_prefixes=[("ls",)])) == shown


@pytest.mark.parametrize(("count", "width", "kept"), [(100, 1, 100), (101, 1, 100), (90, 100, 42)])
def test_a_long_list_of_prefixes_is_cut_and_says_so(count: int, width: int, kept: int) -> None:
    prefixes = [(f"cmd{number:03}", "x" * width) for number in range(count)]
    text = section(policy="on-request", allowed_prefixes=prefixes)
    assert text.count('- ["cmd') == kept
    assert ("the rest is left out" in text) == (kept < count)
