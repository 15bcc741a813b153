"""What an administrator forbids is replaced, and told."""

from pathlib import Path

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config.config import Config, Flags, web_search_for
from pycodex.supervisor.config.load import load_config
from pycodex.supervisor.config.requirements import shown
from pycodex.supervisor.config.startup_errors import exec_error_text


def load(tmp_path: Path, *overrides: str, flags: Flags | None = None, **files: str) -> Config:
    for folder in ("home", "etc", "ws"):
        (tmp_path / folder).mkdir(exist_ok=True)
    for name, text in files.items():
        (tmp_path / f"etc/{name}.toml").write_text(text)
    return load_config(
        env={"CODEX_HOME": str(tmp_path / "home")},
        overrides=overrides,
        cwd=str(tmp_path / "ws"),
        flags=flags or Flags(),
        system_dir=str(tmp_path / "etc"),
    )


def test_without_a_file_everything_is_allowed(tmp_path: Path) -> None:
    config = load(tmp_path, "web_search=live", flags=Flags(sandbox_mode="danger-full-access"))
    assert (config.permissions.mode, config.web_search, config.warnings) == ("danger-full-access", "live", ())


def test_forbidden_sandbox_mode_becomes_read_only(tmp_path: Path) -> None:
    config = load(
        tmp_path, flags=Flags(sandbox_mode="danger-full-access"), requirements="allowed_sandbox_modes = ['read-only']"
    )
    assert config.permissions.mode == "read-only"
    assert not config.permissions.network_access
    assert config.warnings == (
        (
            "Configured value for `sandbox_mode` is disallowed by requirements; falling back to required value "
            "ReadOnly { access: FullAccess, network_access: false }. Details: invalid value for `sandbox_mode`: "
            f"`DangerFullAccess` is not in the allowed set [ReadOnly] (set by {tmp_path / 'etc/requirements.toml'})"
        ),
    )


def test_forbidden_approval_policy_becomes_the_first_allowed(tmp_path: Path) -> None:
    config = load(
        tmp_path, "approval_policy=never", requirements="allowed_approval_policies = ['on-request', 'untrusted']"
    )
    assert config.approval_policy == "on-request"
    assert config.warnings == (
        (
            "Configured value for `approval_policy` is disallowed by requirements; falling back to required value "
            "OnRequest. Details: invalid value for `approval_policy`: `Never` is not in the allowed set "
            f"[OnRequest, UnlessTrusted] (set by {tmp_path / 'etc/requirements.toml'})"
        ),
    )


def test_forbidden_default_is_replaced_without_a_word(tmp_path: Path) -> None:
    config = load(tmp_path, requirements="allowed_approval_policies = ['untrusted']")
    assert (config.approval_policy, config.warnings) == ("untrusted", ())


def test_forbidden_web_search_mode_is_told_as_the_reference_does(tmp_path: Path) -> None:
    config = load(tmp_path, "web_search=live", requirements="allowed_web_search_modes = ['cached']")
    assert config.web_search == "cached"
    assert config.warnings == (
        (
            "Configured value for `web_search_mode` is disallowed by requirements; falling back to "
            "required value Cached. "
            "Details: invalid value for `web_search_mode`: `Live` is not in the allowed set [Disabled, Cached] "
            f"(set by {tmp_path / 'etc/requirements.toml'})"
        ),
    )


@pytest.mark.parametrize(
    ("allowed", "configured", "mode", "expected"),
    [
        (None, "cached", "read-only", "cached"),
        (None, "cached", "danger-full-access", "live"),
        (None, "disabled", "danger-full-access", "disabled"),
        ("['cached']", "cached", "danger-full-access", "cached"),
        ("[]", "cached", "danger-full-access", "disabled"),
    ],
)
def test_search_goes_live_without_a_sandbox_if_it_may(
    allowed: str | None, configured: str, mode: str, expected: str, tmp_path: Path
) -> None:
    demand = "" if allowed is None else f"allowed_web_search_modes = {allowed}"
    assert web_search_for(load(tmp_path, f"web_search={configured}", requirements=demand), mode) == expected


def test_features_are_pinned(tmp_path: Path) -> None:
    config = load(tmp_path, "features.undo=false", requirements="[features]\nundo = true\nmulti_agent = false\n")
    assert "undo" in config.features
    assert "multi_agent" not in config.features


def test_managed_configuration_is_a_requirement_too(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        flags=Flags(sandbox_mode="danger-full-access"),
        managed_config="sandbox_mode = 'workspace-write'\napproval_policy = 'on-request'\n",
    )
    assert (config.permissions.mode, config.approval_policy) == ("read-only", "on-request")
    assert load(tmp_path, flags=Flags(approval_policy="never")).approval_policy == "on-request"


def test_newer_file_beats_the_older_one(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        requirements="allowed_sandbox_modes = ['read-only', 'danger-full-access']",
        managed_config="sandbox_mode = 'workspace-write'\n",
        flags=Flags(sandbox_mode="danger-full-access"),
    )
    assert config.permissions.mode == "danger-full-access"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "allowed_sandbox_modes=['workspace-write']",
            (
                "Error loading config.toml: invalid value for `allowed_sandbox_modes`: "
                "`[WorkspaceWrite]` is not in the "
                "allowed set must include 'read-only' to allow any SandboxPolicy (set by <file>)"
            ),
        ),
        (
            "allowed_approval_policies=[]",
            "Error loading config.toml: field `allowed_approval_policies` cannot be empty",
        ),
        (
            'allowed_sandbox_modes=["foo"]',
            (
                "Error loading config.toml: Error parsing requirements file <file>: TOML parse "
                "error at line 1, column 24\n"
                '  |\n1 | allowed_sandbox_modes=["foo"]\n  |                        ^^^^^\n'
                "unknown variant `foo`, expected one of `read-only`, `workspace-write`, `danger-full-access`, "
                "`external-sandbox`\n"
            ),
        ),
        (
            "allowed_sandbox_modes=3",
            (
                "Error loading config.toml: Error parsing requirements file <file>: TOML parse "
                "error at line 1, column 23\n"
                "  |\n1 | allowed_sandbox_modes=3\n  |                       ^\n"
                "invalid type: integer `3`, expected a sequence\n"
            ),
        ),
        (
            "foo=1\n[features]\nmemories=true\ncode_mode=3",
            (
                "Error loading config.toml: Error parsing requirements file <file>: TOML parse "
                "error at line 2, column 1\n"
                "  |\n2 | [features]\n  | ^^^^^^^^^^\ninvalid type: integer `3`, expected a boolean\n"
            ),
        ),
        ("[features]\nnope=true", "Error: invalid `features` requirement `nope` from <file>"),
        (
            "[features]\ncollab=true",
            "Error: invalid `features` requirement `collab` from <file>: use canonical feature key `multi_agent`",
        ),
    ],
)
def test_mistake_in_the_file_is_fatal(text: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(UserFacing) as caught:
        load(tmp_path, requirements=text)
    assert exec_error_text(caught.value) == expected.replace("<file>", str(tmp_path / "etc/requirements.toml"))


def test_mistake_in_the_managed_configuration_is_fatal(tmp_path: Path) -> None:
    with pytest.raises(UserFacing) as caught:
        load(tmp_path, managed_config="sandbox_mode = 'x'\n")
    assert exec_error_text(caught.value) == (
        "Error loading config.toml: Failed to parse config requirements as TOML: unknown variant `x`, expected one of "
        "`read-only`, `workspace-write`, `danger-full-access`\nin `sandbox_mode`\n"
    )


def test_granular_policy_is_named_in_full() -> None:
    policy = {"granular": {"sandbox_approval": True, "rules": False, "mcp_elicitations": True}}
    assert shown(policy) == (
        "Granular(GranularApprovalConfig { sandbox_approval: true, rules: false, skill_approval: false, "
        "request_permissions: false, mcp_elicitations: true })"
    )
