"""The two JSON spellings of permissions: what is read, what is written, what is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.protocol.permissions import (
    FsRule,
    Permissions,
    from_legacy,
    from_split,
    to_legacy,
    to_split,
    told_as_legacy,
    widened,
)
from pycodex.protocol.record import BadRecord

RESTRICTED = {"type": "restricted", "include_platform_defaults": False, "readable_roots": ["/data"]}

LEGACY: list[tuple[dict[str, Any], Permissions]] = [
    ({"type": "read-only"}, Permissions(mode="read-only")),
    ({"type": "read-only", "network_access": True}, Permissions(mode="read-only", network_access=True)),
    (
        {"type": "read-only", "access": RESTRICTED},
        Permissions(mode="read-only", restricted_read=True, readable_roots=("/data",)),
    ),
    (
        {
            "type": "workspace-write",
            "writable_roots": ["/a", "/b"],
            "read_only_access": {**RESTRICTED, "include_platform_defaults": True},
            "network_access": True,
            "exclude_tmpdir_env_var": True,
            "exclude_slash_tmp": True,
        },
        Permissions(
            mode="workspace-write",
            writable_roots=("/a", "/b"),
            network_access=True,
            exclude_tmpdir_env_var=True,
            exclude_slash_tmp=True,
            restricted_read=True,
            platform_defaults=True,
            readable_roots=("/data",),
        ),
    ),
    ({"type": "danger-full-access"}, Permissions(mode="danger-full-access", network_access=True)),
    ({"type": "external-sandbox", "network_access": "restricted"}, Permissions(mode="external-sandbox")),
    (
        {"type": "external-sandbox", "network_access": "enabled"},
        Permissions(mode="external-sandbox", network_access=True),
    ),
]


@pytest.mark.parametrize(("policy", "permissions"), LEGACY)
def test_tagged_policy_is_read_and_written_the_same(policy: dict[str, Any], permissions: Permissions) -> None:
    assert from_legacy(policy) == permissions
    assert to_legacy(permissions) == policy


@pytest.mark.parametrize(
    ("policy", "permissions"),
    [
        ({"type": "workspace-write"}, Permissions(mode="workspace-write")),
        ({"type": "external-sandbox"}, Permissions(mode="external-sandbox")),
        ({"type": "read-only", "access": {"type": "full-access"}}, Permissions(mode="read-only")),
        ({"type": "read-only", "a_later_key": 1}, Permissions(mode="read-only")),
        (
            {"type": "read-only", "access": {"type": "restricted"}},
            Permissions(mode="read-only", restricted_read=True, platform_defaults=True),
        ),
    ],
)
def test_omitted_fields_of_a_tagged_policy_have_defaults(policy: dict[str, Any], permissions: Permissions) -> None:
    assert from_legacy(policy) == permissions


@pytest.mark.parametrize(
    ("policy", "named"),
    [
        ("read-only", "expected a map"),
        ({}, "unknown type None"),
        ({"type": "write-everything"}, "write-everything"),
        ({"type": "workspace-write", "writable_roots": ["relative"]}, "relative"),
        ({"type": "workspace-write", "writable_roots": "/a"}, "writable_roots"),
        ({"type": "workspace-write", "writable_roots": [7]}, "7"),
        ({"type": "workspace-write", "network_access": "yes"}, "network_access"),
        ({"type": "external-sandbox", "network_access": True}, "True"),
        ({"type": "read-only", "access": {"type": "some"}}, "some"),
        ({"type": "read-only", "access": {"type": "restricted", "readable_roots": ["x"]}}, "readable_roots"),
    ],
)
def test_malformed_tagged_policy_is_refused_by_name(policy: object, named: str) -> None:
    with pytest.raises(BadRecord, match=named):
        from_legacy(policy)


def _path(path: str, access: str) -> dict[str, Any]:
    return {"path": {"type": "path", "path": path}, "access": access}


def _special(kind: str, access: str, **more: str) -> dict[str, Any]:
    return {"path": {"type": "special", "value": {"kind": kind, **more}}, "access": access}


def test_split_policy_keeps_every_entry_even_unknown_ones() -> None:
    entries = [
        _special("root", "read"),
        _special("minimal", "read"),
        _special("project_roots", "none", subpath="secrets"),
        _special("unknown", "write", path=":later", subpath="x"),
        _special("invented_tomorrow", "write"),
        _path("/x", "write"),
    ]
    permissions = from_split({"kind": "restricted", "entries": entries}, "enabled")
    assert permissions.network_access
    assert permissions.rules == (
        FsRule(special="root", access="read"),
        FsRule(special="minimal", access="read"),
        FsRule(special="project_roots", subpath="secrets", access="none"),
        FsRule(special="unknown", path=":later", subpath="x", access="write"),
        FsRule(special="invented_tomorrow", access="write"),
        FsRule(path="/x", access="write"),
    )
    assert to_split(permissions) == ({"kind": "restricted", "entries": entries}, "enabled")


@pytest.mark.parametrize(
    ("kind", "network", "mode"),
    [
        ("unrestricted", "enabled", "danger-full-access"),
        ("unrestricted", "restricted", "external-sandbox"),
        ("external-sandbox", "enabled", "external-sandbox"),
        ("external-sandbox", "restricted", "external-sandbox"),
    ],
)
def test_split_kinds_without_file_rules(kind: str, network: str, mode: str) -> None:
    permissions = from_split({"kind": kind}, network)
    assert (permissions.mode, permissions.network_access) == (mode, network == "enabled")


def test_restricted_split_policy_without_entries_is_not_the_same_as_a_mode() -> None:
    permissions = from_split({"kind": "restricted", "entries": []}, "restricted")
    assert permissions.rules
    assert not permissions.network_access


@pytest.mark.parametrize(
    ("files", "network", "named"),
    [
        ([], "restricted", "expected a map"),
        ({"kind": "loose"}, "restricted", "loose"),
        ({"kind": "restricted", "entries": {}}, "restricted", "entries"),
        ({"kind": "restricted", "entries": [_path("x", "read")]}, "restricted", "absolute"),
        ({"kind": "restricted", "entries": [_path("/x", "execute")]}, "restricted", "execute"),
        ({"kind": "restricted", "entries": [_special("project_roots", "read", subpath="/etc")]}, "restricted", "/etc"),
        ({"kind": "restricted", "entries": [_special("tmpdir", "read", subpath="a/../..")]}, "restricted", "leaves"),
        ({"kind": "restricted", "entries": [{"path": {"type": "glob"}, "access": "read"}]}, "restricted", "glob"),
        ({"kind": "restricted", "entries": [_special("", "read")]}, "restricted", "malformed"),
        ({"kind": "restricted"}, "on", "on"),
        ({"kind": "restricted"}, None, "None"),
    ],
)
def test_malformed_split_policy_is_refused_by_name(files: object, network: object, named: str) -> None:
    with pytest.raises(BadRecord, match=named):
        from_split(files, network)


def test_rules_are_told_by_what_they_let_be_written() -> None:
    rules = (
        FsRule(special="root", access="read"),
        FsRule(path="/a", access="write"),
        FsRule(special="current_working_directory", access="write"),
        FsRule(special="slash_tmp", access="write"),
        FsRule(path="/secret", access="none"),
    )
    told = told_as_legacy(Permissions(mode="workspace-write", network_access=True, rules=rules))
    assert told == {
        "type": "workspace-write",
        "writable_roots": ["/a"],
        "network_access": True,
        "exclude_tmpdir_env_var": True,
        "exclude_slash_tmp": False,
    }


def test_rules_have_no_tagged_form() -> None:
    with pytest.raises(BadRecord, match="file rules"):
        to_legacy(Permissions(mode="read-only", rules=(FsRule(path="/x", access="none"),)))


@pytest.mark.parametrize(
    ("permissions", "entries"),
    [
        (Permissions(mode="read-only"), [_special("root", "read")]),
        (
            Permissions(mode="workspace-write", writable_roots=("/a",), exclude_tmpdir_env_var=True),
            [
                _special("root", "read"),
                _path("/a", "write"),
                _special("current_working_directory", "write"),
                _special("slash_tmp", "write"),
            ],
        ),
        (
            Permissions(
                mode="workspace-write",
                restricted_read=True,
                platform_defaults=True,
                readable_roots=("/data",),
                exclude_slash_tmp=True,
            ),
            [
                _special("minimal", "read"),
                _path("/data", "read"),
                _special("current_working_directory", "read"),
                _special("current_working_directory", "write"),
                _special("tmpdir", "write"),
            ],
        ),
    ],
)
def test_modes_are_written_as_the_rules_they_stand_for(permissions: Permissions, entries: list[Any]) -> None:
    assert to_split(permissions) == ({"kind": "restricted", "entries": entries}, "restricted")


_paths = st.text(min_size=1, max_size=8).map(lambda text: f"/{text}")
_specials = st.sampled_from(["root", "minimal", "project_roots", "tmpdir", "slash_tmp", "unknown", "else"])
_access = st.sampled_from(["read", "write", "none"])
_rules = st.one_of(
    st.builds(lambda path, access: FsRule(path=path, access=access), _paths, _access),
    st.builds(lambda special, access: FsRule(special=special, subpath="a/b", access=access), _specials, _access),
)


@given(st.lists(_rules, min_size=1, max_size=6), st.booleans())
def test_any_rules_survive_both_wires(rules: list[FsRule], network: bool) -> None:
    mode = "workspace-write" if any(rule.access == "write" for rule in rules) else "read-only"
    permissions = Permissions(mode=mode, network_access=network, rules=tuple(rules))
    assert from_split(*to_split(permissions)) == permissions
    assert Permissions.from_plain(permissions.to_plain()) == permissions


# What is allowed besides


@pytest.mark.parametrize("mode", ["danger-full-access", "external-sandbox"])
@pytest.mark.parametrize("network", [True, False])
def test_where_there_are_no_limits_nothing_is_widened(mode: str, *, network: bool) -> None:
    permissions = Permissions(mode=mode, network_access=network)
    assert widened(permissions, read=("/r",), write=("/w",), network=True) == permissions


RULES = (FsRule(special="root", access="read"), FsRule(path="/secret", access="none"))


@pytest.mark.parametrize(
    "permissions",
    [
        Permissions(mode="read-only"),
        Permissions(mode="read-only", restricted_read=True),
        Permissions(mode="workspace-write"),
        Permissions(mode="read-only", rules=RULES),
    ],
)
def test_network_can_be_added_and_never_taken(permissions: Permissions) -> None:
    assert widened(permissions, network=True) == permissions.replace(network_access=True)
    assert widened(permissions) == permissions
    connected = permissions.replace(network_access=True)
    assert widened(connected, network=False) == connected


READS = FsRule(path="/r", access="read")
WRITES = (FsRule(path="/w", access="write"), FsRule(path="/v", access="write"))
ROOT = FsRule(special="root", access="read")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # All can be read already; what is written makes it a workspace of its own, without the working directory.
        (Permissions(mode="read-only"), Permissions(mode="workspace-write", rules=(ROOT, *WRITES))),
        (
            Permissions(mode="read-only", restricted_read=True, platform_defaults=True, readable_roots=("/data",)),
            Permissions(
                mode="workspace-write",
                restricted_read=True,
                platform_defaults=True,
                readable_roots=("/data", "/r"),
                rules=(
                    FsRule(special="minimal", access="read"),
                    FsRule(path="/data", access="read"),
                    READS,
                    FsRule(special="current_working_directory", access="read"),
                    *WRITES,
                ),
            ),
        ),
        (
            Permissions(mode="workspace-write", writable_roots=("/a",), exclude_slash_tmp=True),
            Permissions(mode="workspace-write", writable_roots=("/a", "/w", "/v"), exclude_slash_tmp=True),
        ),
        (
            Permissions(mode="workspace-write", restricted_read=True, readable_roots=("/data",)),
            Permissions(
                mode="workspace-write",
                restricted_read=True,
                readable_roots=("/data", "/r"),
                writable_roots=("/w", "/v"),
            ),
        ),
        (
            Permissions(mode="read-only", rules=RULES),
            Permissions(mode="workspace-write", rules=(*RULES, READS, *WRITES)),
        ),
        (
            Permissions(mode="workspace-write", writable_roots=("/a",), rules=RULES),
            Permissions(mode="workspace-write", writable_roots=("/a",), rules=(*RULES, READS, *WRITES)),
        ),
    ],
    ids=["read-only", "restricted", "workspace", "restricted workspace", "rules", "rules of a workspace"],
)
def test_paths_are_added_to_what_each_mode_allows(before: Permissions, after: Permissions) -> None:
    assert widened(before, read=("/r",), write=("/w", "/v")) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Permissions(mode="read-only"), Permissions(mode="read-only")),
        (
            Permissions(mode="read-only", restricted_read=True),
            Permissions(mode="read-only", restricted_read=True, readable_roots=("/r",)),
        ),
        (Permissions(mode="workspace-write"), Permissions(mode="workspace-write")),
        (Permissions(mode="read-only", rules=RULES), Permissions(mode="read-only", rules=(*RULES, READS))),
    ],
)
def test_more_to_read_gives_nothing_to_write(before: Permissions, after: Permissions) -> None:
    assert widened(before, read=("/r",)) == after
