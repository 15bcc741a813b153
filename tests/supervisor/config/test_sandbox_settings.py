"""What the configuration means for the sandbox."""

from pathlib import Path

import pytest

from pycodex.protocol.confinement import Limits
from pycodex.protocol.errors import UserFacing
from pycodex.protocol.permissions import Permissions
from pycodex.supervisor.config import early, sandbox_settings


def load(home: Path, *overrides: str, text: str = "") -> early.Settings:
    (home / "config.toml").write_text(text)
    return early.load({"CODEX_HOME": str(home), "HOME": str(home)}, overrides, cwd="/work")


def chosen(settings: early.Settings, *, profile: str | None = None, full_auto: bool = False) -> Permissions:
    return sandbox_settings.chosen_permissions(settings, profile=profile, full_auto=full_auto)


def test_default_is_read_only_whatever_the_configured_mode(tmp_path: Path) -> None:
    assert chosen(load(tmp_path, text='sandbox_mode = "danger-full-access"\n')).mode == "read-only"


def test_full_auto_honours_the_workspace_table(tmp_path: Path) -> None:
    text = "[sandbox_workspace_write]\nwritable_roots = ['/a']\nexclude_slash_tmp = true\n"
    settings = load(tmp_path, "sandbox_workspace_write.network_access=true", text=text)
    assert chosen(settings, full_auto=True) == Permissions(
        mode="workspace-write", writable_roots=("/a",), network_access=True, exclude_slash_tmp=True
    )


def test_workspace_table_that_is_no_table_is_told_even_in_read_only(tmp_path: Path) -> None:
    with pytest.raises(early.BadConfig, match="invalid type: integer `3`, expected struct SandboxWorkspaceWrite"):
        chosen(load(tmp_path, text="sandbox_workspace_write = 3\n"))


@pytest.mark.parametrize("text", ["[sandbox]\nlandlock_only = true\n", "[features]\nuse_legacy_landlock = true\n"])
def test_weaker_level_can_be_accepted_by_either_key(text: str, tmp_path: Path) -> None:
    assert sandbox_settings.landlock_only(load(tmp_path, text=text))
    assert not sandbox_settings.landlock_only(load(tmp_path))


def test_weaker_level_can_be_accepted_by_the_short_override(tmp_path: Path) -> None:
    assert sandbox_settings.landlock_only(load(tmp_path, "use_legacy_landlock=true"))


def test_default_denials_are_on_until_turned_off(tmp_path: Path) -> None:
    assert sandbox_settings.deny_read_defaults(load(tmp_path))
    assert not sandbox_settings.deny_read_defaults(load(tmp_path, "sandbox.deny_read_defaults=false"))


def test_limits_are_read(tmp_path: Path) -> None:
    settings = load(tmp_path, "sandbox.limits.processes=7", text="[sandbox.limits]\nmemory_bytes = 1000\n")
    assert sandbox_settings.limits(settings) == Limits(memory_bytes=1000, processes=7)
    assert sandbox_settings.limits(load(tmp_path)) == Limits()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ('"many"', 'invalid type: string "many", expected a number'),
        ("true", "invalid type: boolean `true`, expected a number"),
        ("0", "invalid value: integer `0`, expected a number above zero"),
        ("-4", "invalid value: integer `-4`, expected a number above zero"),
    ],
)
def test_limit_that_is_no_count_is_told_with_its_place(value: str, message: str, tmp_path: Path) -> None:
    settings = load(tmp_path, text=f"[sandbox.limits]\nprocesses = {value}\n")
    with pytest.raises(early.BadConfig) as caught:
        sandbox_settings.limits(settings)
    assert str(caught.value).startswith(f"{tmp_path / 'config.toml'}:2:13: {message}\n")


def test_full_auto_and_a_configured_profile_exclude_each_other(tmp_path: Path) -> None:
    text = 'default_permissions = "p"\n[permissions.p.filesystem]\n":root" = "read"\n'
    with pytest.raises(UserFacing, match="only supported for legacy `sandbox_mode` configs"):
        chosen(load(tmp_path, text=text), full_auto=True)


def test_unknown_limit_is_refused_as_it_would_not_hold(tmp_path: Path) -> None:
    with pytest.raises(UserFacing, match=r"unknown limit `sandbox.limits.memory`; known are memory_bytes"):
        sandbox_settings.limits(load(tmp_path, text="[sandbox.limits]\nmemory = 5\n"))
