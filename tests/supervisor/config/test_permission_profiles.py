"""Profiles become rules; mistakes in them are told, never ignored."""

from pathlib import Path

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.permissions import FsRule, Permissions
from pycodex.supervisor.config import early
from pycodex.supervisor.config.sandbox_settings import chosen_permissions

PROFILE = """\
[permissions.p.filesystem]
":root" = "read"
":project_roots" = { "." = "write", "docs" = "read" }
"/secret" = "none"
"""


def chosen(home: Path, text: str, *overrides: str, profile: str | None = None) -> Permissions:
    (home / "config.toml").write_text(text)
    settings = early.load({"CODEX_HOME": str(home), "HOME": str(home)}, overrides, cwd="/work")
    return chosen_permissions(settings, profile=profile, full_auto=False)


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        (":read-only", "read-only"),
        (":workspace", "workspace-write"),
        (":danger-no-sandbox", "danger-full-access"),
        (":danger-full-access", "danger-full-access"),
    ],
)
def test_built_in_profiles(name: str, mode: str, tmp_path: Path) -> None:
    assert chosen(tmp_path, "", profile=name).mode == mode


def test_built_in_workspace_profile_honours_the_workspace_table(tmp_path: Path) -> None:
    override = "sandbox_workspace_write.network_access=true"
    assert chosen(tmp_path, "", override, profile=":workspace").network_access


def test_entries_become_rules(tmp_path: Path) -> None:
    assert chosen(tmp_path, PROFILE, profile="p") == Permissions(
        mode="workspace-write",
        rules=(
            FsRule(special="root", access="read"),
            FsRule(special="project_roots", access="write"),
            FsRule(special="project_roots", subpath="docs", access="read"),
            FsRule(path="/secret", access="none"),
        ),
    )


def test_network_of_a_profile(tmp_path: Path) -> None:
    assert chosen(tmp_path, PROFILE + "[permissions.p.network]\nenabled = true\n", profile="p").network_access


def test_configured_profile_is_used(tmp_path: Path) -> None:
    assert chosen(tmp_path, 'default_permissions = "p"\n' + PROFILE).rules


def test_later_mode_beats_an_earlier_profile(tmp_path: Path) -> None:
    text = 'default_permissions = "p"\n' + PROFILE
    assert chosen(tmp_path, text, "sandbox_mode=read-only") == Permissions(mode="read-only")


def test_unknown_special_place_is_kept_for_the_plan_to_ignore(tmp_path: Path) -> None:
    text = '[permissions.p.filesystem]\n":root" = "read"\n":later" = "write"\n'
    assert chosen(tmp_path, text, profile="p").rules[1] == FsRule(special="later", access="write")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PROFILE, "config defines `[permissions]` profiles but does not set `default_permissions`"),
        ('default_permissions = "q"\n' + PROFILE, "default_permissions refers to undefined profile `q`"),
        ('default_permissions = "q"\n', "default_permissions requires a `[permissions]` table"),
        (
            'default_permissions = "p"\n[permissions.p.filesystem]\nrel = "read"\n',
            "filesystem path `rel` must be absolute, use `~/...`, or start with `:`",
        ),
        (
            'default_permissions = "p"\n[permissions.p.filesystem]\n":project_roots" = { "../x" = "write" }\n',
            "filesystem subpath `../x` must be a descendant path without `.` or `..` components",
        ),
        (
            'default_permissions = "p"\n[permissions.p.filesystem]\n"/ws/**/.env" = "none"\n',
            "filesystem path `/ws/**/.env` is a pattern; profiles here take only plain paths",
        ),
    ],
)
def test_mistake_is_told(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserFacing) as caught:
        chosen(tmp_path, text)
    assert str(caught.value) == message


def test_profile_without_files_is_refused_not_widened(tmp_path: Path) -> None:
    with pytest.raises(UserFacing, match="permission profile `p` grants access to no file"):
        chosen(tmp_path, "[permissions.p]\n", profile="p")


def test_unknown_profile_is_told_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UserFacing, match="profile `q` is not defined; there are `p`, `:read-only`, `:workspace`"):
        chosen(tmp_path, PROFILE, profile="q")


def test_unknown_access_is_told_with_its_place(tmp_path: Path) -> None:
    text = '[permissions.p.filesystem]\n":root" = "reed"\n'
    with pytest.raises(early.BadConfig, match=r"config\.toml:2:11: unknown variant `reed`, expected one of `read`"):
        chosen(tmp_path, text, profile="p")
