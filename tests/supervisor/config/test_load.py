"""What is chosen when several say something, and what holds when nobody does."""

import json
import os
from pathlib import Path

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.permissions import FsRule, Permissions
from pycodex.supervisor.config.config import Config, Flags, Skill
from pycodex.supervisor.config.load import load_config
from pycodex.supervisor.config.shell_environment import ShellEnvironmentPolicy


def load(
    root: Path, *overrides: str, text: str = "", flags: Flags | None = None, env: dict[str, str] | None = None
) -> Config:
    for folder in ("home", "ws/.git"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "home/config.toml").write_text(text)
    return load_config(
        env={"CODEX_HOME": str(root / "home"), "HOME": str(root), **(env or {})},
        overrides=overrides,
        cwd=str(root / "ws"),
        flags=flags or Flags(),
        system_dir=str(root / "etc"),
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path.resolve()


def test_defaults(root: Path) -> None:
    config = load(root)
    assert config.codex_home == str(root / "home")
    assert config.cwd == str(root / "ws")
    assert (config.profile, config.model, config.provider.id) == (None, None, "openai")
    assert (config.approval_policy, config.approvals_reviewer, config.trust_level) == ("on-request", "user", None)
    assert config.permissions == Permissions(mode="read-only")
    assert (config.landlock_only, config.deny_read_defaults) == (False, True)
    assert (config.model_reasoning_effort, config.model_reasoning_summary, config.model_verbosity) == (None, None, None)
    assert (config.model_instructions, config.model_catalog_path, config.service_tier) == (None, None, None)
    assert (config.personality, config.web_search) == ("pragmatic", "cached")
    assert (config.project_doc_max_bytes, config.project_doc_fallback_filenames) == (32768, ())
    assert (config.project_root_markers, config.project_root) == ((".git",), str(root / "ws"))
    assert config.shell_environment_policy == ShellEnvironmentPolicy()
    assert (config.allow_login_shell, config.background_terminal_max_timeout_ms) == (True, 300_000)
    assert (config.notify, config.file_opener, config.history_persistence) == ((), "vscode", "save-all")
    assert (config.log_dir, config.chatgpt_base_url) == (str(root / "home/log"), "https://chatgpt.com/backend-api/")
    assert (config.skills, config.bundled_skills, config.ephemeral) == ((), True, False)
    assert (config.agents_max_threads, config.agents_max_depth, config.agents_job_max_runtime_seconds) == (6, 1, None)
    assert (config.warnings, config.unknown_keys) == ((), ())


def test_settings_arrive_in_their_fields(root: Path) -> None:
    config = load(
        root,
        text="""
        model = "m"
        review_model = "r"
        model_reasoning_effort = "ultra"
        model_context_window = 1000
        model_auto_compact_token_limit = 900
        model_supports_reasoning_summaries = true
        service_tier = "fast"
        developer_instructions = "d"
        compact_prompt = "  c  "
        project_doc_fallback_filenames = [" A.md ", "  "]
        background_terminal_max_timeout = 1
        tool_output_token_limit = 5
        notify = ["n", "x"]
        hide_agent_reasoning = true
        file_opener = "none"
        log_dir = "logs"
        forced_chatgpt_workspace_id = "  "
        [history]
        persistence = "none"
        max_bytes = 7
        [shell_environment_policy]
        inherit = "core"
        set = { A = "1" }
        [[skills.config]]
        path = "s"
        enabled = false
        [skills.bundled]
        enabled = false
        """,
    )
    assert (config.model, config.review_model, config.model_reasoning_effort) == ("m", "r", "ultra")
    assert (config.model_context_window, config.model_auto_compact_token_limit) == (1000, 900)
    assert (config.model_supports_reasoning_summaries, config.service_tier) == (True, "fast")
    assert (config.developer_instructions, config.compact_prompt) == ("d", "c")
    assert config.project_doc_fallback_filenames == ("A.md",)
    assert config.background_terminal_max_timeout_ms == 5000
    assert (config.tool_output_token_limit, config.notify, config.hide_agent_reasoning) == (5, ("n", "x"), True)
    assert (config.file_opener, config.log_dir) == (None, str(root / "home/logs"))
    assert config.forced_chatgpt_workspace_id is None
    assert (config.history_persistence, config.history_max_bytes) == ("none", 7)
    assert config.shell_environment_policy == ShellEnvironmentPolicy(inherit="core", set={"A": "1"})
    assert config.skills == (Skill(path=str(root / "home/s"), enabled=False),)
    assert not config.bundled_skills


PROFILE = """\
model = "layer"
model_verbosity = "low"
[profiles.p]
model = "profile"
web_search = "live"
[profiles.p.features]
undo = true
"""


@pytest.mark.parametrize(
    ("overrides", "flags", "model"),
    [
        ((), Flags(), "layer"),
        (("model=c",), Flags(), "c"),
        ((), Flags(profile="p"), "profile"),
        (("model=c",), Flags(profile="p"), "profile"),
        (("profile=p",), Flags(), "profile"),
        (("model=c",), Flags(profile="p", model="flag"), "flag"),
    ],
)
def test_flag_beats_profile_beats_layers(overrides: tuple[str, ...], flags: Flags, model: str, root: Path) -> None:
    assert load(root, *overrides, text=PROFILE, flags=flags).model == model


def test_profile_fills_only_what_it_says(root: Path) -> None:
    config = load(root, text=PROFILE, flags=Flags(profile="p"))
    assert (config.profile, config.model_verbosity, config.web_search) == ("p", "low", "live")
    assert "undo" in config.features


def test_recorded_profile_scenario(shared_dir: Path, root: Path) -> None:
    """The models that the reference asked for with `-p`, `-c` and `-m` in turn."""
    scenario = json.loads((shared_dir / "interop/scenarios/config-profile.json").read_text())
    fields = json.loads((shared_dir / "interop/expected/config-profile.json").read_text())["model"]["fields"]
    flags = (
        ((), Flags(profile="fast")),
        (("model=gpt-5.1",), Flags(profile="fast")),
        ((), Flags(profile="fast", model="gpt-5.1")),
        (("profile=fast",), Flags()),
    )
    text = scenario["config"] + scenario["config_end"]
    for (overrides, given), seen in zip(flags, fields, strict=True):
        config = load(root, *overrides, text=text, flags=given)
        assert (config.model, config.model_reasoning_effort, config.model_verbosity) == (
            seen["model"],
            seen["reasoning.effort"],
            seen["text.verbosity"],
        )


@pytest.mark.parametrize(("level", "programs"), [(None, ()), ("untrusted", ()), ("trusted", ("theirs",))])
def test_program_of_a_project_counts_only_if_it_is_trusted(
    level: str | None, programs: tuple[str, ...], root: Path
) -> None:
    """It would run unconfined."""
    (root / "ws/.codex").mkdir(parents=True)
    (root / "ws/.codex/config.toml").write_text('notify = ["theirs"]\n')
    text = f'[projects."{root / "ws"}"]\ntrust_level = "{level}"\n' if level else ""
    assert load(root, text=text).notify == programs


# Sandbox and approval


@pytest.mark.parametrize(
    ("level", "mode", "policy"),
    [
        (None, "read-only", "on-request"),
        ("trusted", "workspace-write", "on-request"),
        ("untrusted", "workspace-write", "untrusted"),
    ],
)
def test_modes_follow_trust_where_nothing_is_said(level: str | None, mode: str, policy: str, root: Path) -> None:
    text = f'[projects."{root / "ws"}"]\ntrust_level = "{level}"\n' if level else ""
    config = load(root, text=text)
    assert (config.trust_level, config.permissions.mode, config.approval_policy) == (level, mode, policy)


@pytest.mark.parametrize(
    ("flags", "mode", "policy"),
    [
        (Flags(), "workspace-write", "untrusted"),
        (Flags(sandbox_mode="read-only"), "read-only", "untrusted"),
        (Flags(profile="p"), "danger-full-access", "on-failure"),
        (Flags(profile="p", sandbox_mode="read-only", approval_policy="never"), "read-only", "never"),
        (Flags(full_auto=True, sandbox_mode="read-only"), "workspace-write", "on-request"),
        (Flags(full_auto=True, approval_policy="never"), "workspace-write", "never"),
        (Flags(bypass=True), "danger-full-access", "never"),
    ],
)
def test_flags_choose_the_mode_and_the_policy(flags: Flags, mode: str, policy: str, root: Path) -> None:
    text = """
        sandbox_mode = "workspace-write"
        approval_policy = "untrusted"
        [profiles.p]
        sandbox_mode = "danger-full-access"
        approval_policy = "on-failure"
    """
    config = load(root, text=text, flags=flags)
    assert (config.permissions.mode, config.approval_policy) == (mode, policy)


def test_full_access_has_the_network(root: Path) -> None:
    assert load(root, flags=Flags(bypass=True)).permissions == Permissions(
        mode="danger-full-access", network_access=True
    )


def test_granular_policy_is_kept_as_a_table(root: Path) -> None:
    granular = {"sandbox_approval": True, "rules": False, "mcp_elicitations": True}
    text = "approval_policy = {granular = {sandbox_approval = true, rules = false, mcp_elicitations = true}}"
    assert load(root, text=text).approval_policy == {"granular": granular}


def test_writable_roots_come_in_the_reference_order(root: Path) -> None:
    config = load(
        root,
        'sandbox_workspace_write.writable_roots=["/usr", "rel"]',
        flags=Flags(sandbox_mode="workspace-write", add_dirs=("/opt", "more", "/usr")),
    )
    ws = root / "ws"
    memories = str(root / "home/memories")
    assert config.permissions.writable_roots == ("/usr", str(ws / "rel"), "/opt", str(ws / "more"), memories)
    assert os.path.isdir(memories)


def test_added_directories_mean_nothing_without_a_writable_workspace(root: Path) -> None:
    assert load(root, flags=Flags(add_dirs=("/opt",))).permissions == Permissions(mode="read-only")


def test_permission_profile_grants_the_added_directories_too(root: Path) -> None:
    text = 'default_permissions = "p"\n[permissions.p.filesystem]\n":root" = "read"\n"/srv" = "write"\n'
    config = load(root, text=text, flags=Flags(add_dirs=("/opt", "/srv")))
    assert config.permissions == Permissions(
        mode="workspace-write",
        rules=(
            FsRule(special="root", access="read"),
            FsRule(path="/srv", access="write"),
            FsRule(path="/opt", access="write"),
            FsRule(path=str(root / "home/memories"), access="write"),
        ),
    )


@pytest.mark.parametrize("flags", [Flags(sandbox_mode="read-only"), Flags(profile="p")])
def test_named_mode_beats_a_permission_profile(flags: Flags, root: Path) -> None:
    text = (
        'default_permissions = "d"\n[permissions.d.filesystem]\n":root" = "write"\n'
        '[profiles.p]\nsandbox_mode = "read-only"\n'
    )
    assert load(root, text=text, flags=flags).permissions == Permissions(mode="read-only")


def test_mistake_in_the_workspace_table_is_told_in_every_mode(root: Path) -> None:
    with pytest.raises(UserFacing, match="expected struct SandboxWorkspaceWrite"):
        load(root, "sandbox_workspace_write=3")


def test_home_that_cannot_hold_memories_is_told(root: Path) -> None:
    (root / "home").mkdir()
    (root / "home/memories").write_text("")
    with pytest.raises(UserFacing, match=r"cannot create directory .*/home/memories: File exists"):
        load(root)


# Model, features, files


@pytest.mark.parametrize(
    ("text", "flags", "provider", "model", "raw"),
    [
        ("", Flags(oss=True, local_provider="ollama"), "ollama", "gpt-oss:20b", True),
        ('oss_provider = "lmstudio"', Flags(oss=True), "lmstudio", "openai/gpt-oss-20b", True),
        (
            'oss_provider = "lmstudio"\n[profiles.p]\noss_provider = "ollama"',
            Flags(oss=True, profile="p"),
            "ollama",
            "gpt-oss:20b",
            True,
        ),
        ('model = "x"', Flags(oss=True, local_provider="ollama"), "ollama", "gpt-oss:20b", True),
        ("", Flags(oss=True, local_provider="ollama", model="y"), "ollama", "y", True),
        ("show_raw_agent_reasoning = false", Flags(oss=True, local_provider="ollama"), "ollama", "gpt-oss:20b", False),
        ('model = "x"', Flags(local_provider="foo"), "openai", "x", False),
    ],
)
def test_local_models(text: str, flags: Flags, provider: str, model: str, raw: bool, root: Path) -> None:
    config = load(root, text=text, flags=flags)
    assert (config.provider.id, config.model, config.show_raw_agent_reasoning) == (provider, model, raw)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ((), "cached"),
        (("features.web_search_request=true",), "live"),
        (("features.web_search=true",), "live"),
        (("features.web_search_request=true", "features.web_search_cached=true"), "cached"),
        (("features.web_search_request=true", "web_search=disabled"), "disabled"),
    ],
)
def test_web_search_by_older_switches(overrides: tuple[str, ...], expected: str, root: Path) -> None:
    assert load(root, *overrides).web_search == expected


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ((), {}),
        (("tools.web_search=true",), {}),
        (('tools.web_search={context_size="high"}',), {"context_size": "high"}),
        (
            (
                'tools.web_search={context_size="high",allowed_domains=["a.org"],location={country="DE",city="X"}}',
                'profiles.p.tools.web_search={context_size="low",location={region="R"}}',
                'profile="p"',
            ),
            {
                "context_size": "low",
                "allowed_domains": ["a.org"],
                "location": {"country": "DE", "city": "X", "region": "R"},
            },
        ),
        (
            ('tools.web_search={context_size="high"}', "profiles.p.tools.view_image=true", 'profile="p"'),
            {"context_size": "high"},
        ),
        (
            ('tools.web_search={context_size="high"}', "profiles.p.tools.web_search={location={}}", 'profile="p"'),
            {"context_size": "high", "location": {}},
        ),
    ],
)
def test_options_of_web_search_are_those_of_the_profile_over_the_others(
    overrides: tuple[str, ...], expected: dict[str, object], root: Path
) -> None:
    assert load(root, *overrides).web_search_options == expected


def test_fast_tier_and_personality_need_their_features(root: Path) -> None:
    config = load(root, "features.fast_mode=false", "features.personality=false", "service_tier=fast")
    assert (config.service_tier, config.personality) == (None, None)
    config = load(root, "features.fast_mode=false", "features.personality=false", "service_tier=flex")
    assert config.service_tier == "flex"


def test_unfinished_features_are_warned_of(root: Path) -> None:
    config = load(root, "features.memories=true", "features.code_mode=true", "features.undo=true")
    assert config.warnings == (
        (
            "Under-development features enabled: code_mode, memories. Under-development features "
            "are incomplete and may "
            "behave unpredictably. To suppress this warning, set `suppress_unstable_features_warning = true` in "
            f"{root / 'home/config.toml'}."
        ),
    )
    assert load(root, "features.memories=true", "suppress_unstable_features_warning=true").warnings == ()


def test_instructions_are_read_trimmed_from_beside_their_file(root: Path) -> None:
    (root / "home").mkdir()
    (root / "home/i.md").write_text("\n  do it  \n")
    (root / "home/c.md").write_text("short\n")
    text = 'model_instructions_file = "i.md"\nexperimental_compact_prompt_file = "c.md"\n'
    config = load(root, text=text)
    assert (config.model_instructions, config.compact_prompt) == ("do it", "short")
    assert load(root, "compact_prompt=own", text=text).compact_prompt == "own"


def test_empty_instructions_are_told(root: Path) -> None:
    (root / "home").mkdir()
    (root / "home/i.md").write_text(" \n")
    with pytest.raises(UserFacing) as caught:
        load(root, text='model_instructions_file = "i.md"\n')
    assert str(caught.value) == f"model instructions file is empty: {root / 'home/i.md'}"


def test_pipe_in_place_of_instructions_does_not_hold_us_up(root: Path) -> None:
    (root / "home").mkdir()
    os.mkfifo(root / "home/i.md")
    with pytest.raises(UserFacing, match=r"failed to read model instructions file .*: not a regular file"):
        load(root, text='model_instructions_file = "i.md"\n')


def test_unknown_keys_of_files_are_reported_and_those_of_flags_are_not(root: Path) -> None:
    config = load(root, "modle=x", "no.such.key=1", text='modle = "x"\n')
    assert config.unknown_keys == (
        f"{root / 'home/config.toml'}:1: unknown key `modle` is ignored; did you mean `model`?",
    )
