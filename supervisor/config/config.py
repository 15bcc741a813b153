"""The configuration as one value, complete and checked.

Owns the names of its fields and what they mean; where each comes from is decided in `load`. Knows no file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pycodex.protocol.confinement import Limits
from pycodex.protocol.permissions import DANGER_FULL_ACCESS, Permissions
from pycodex.supervisor.config.early import Settings
from pycodex.supervisor.config.provider import Provider
from pycodex.supervisor.config.required_rules import RequiredRule
from pycodex.supervisor.config.shell_environment import ShellEnvironmentPolicy

if TYPE_CHECKING:
    from pycodex.supervisor.config.mcp_servers import McpServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What dedicated flags of the command line ask for. They beat the profile, which beats the layers."""

    profile: str | None = None
    model: str | None = None
    sandbox_mode: str | None = None
    full_auto: bool = False
    bypass: bool = False
    """--dangerously-bypass-approvals-and-sandbox"""
    add_dirs: tuple[str, ...] = ()
    oss: bool = False
    local_provider: str | None = None
    approval_policy: str | None = None
    ephemeral: bool = False


class Skill(NamedTuple):
    """One entry of `[[skills.config]]`."""

    path: str
    enabled: bool


# Neither compared nor shown (it holds tokens), so neither is generated: that would take a millisecond at every start.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Config:
    codex_home: str
    cwd: str
    profile: str | None
    settings: Settings
    """The merged layers, for keys that only one place needs. The profile and the flags are not in it."""

    # What the model is and how it is asked.
    model: str | None
    """None: the catalogue's default."""
    provider: Provider
    providers: Mapping[str, Provider]
    review_model: str | None
    model_reasoning_effort: str | None
    plan_mode_reasoning_effort: str | None
    model_reasoning_summary: str | None
    model_supports_reasoning_summaries: bool | None
    model_verbosity: str | None
    model_context_window: int | None
    model_auto_compact_token_limit: int | None
    model_instructions: str | None
    """The text that replaces the model's own instructions."""
    model_catalog_path: str | None
    service_tier: str | None
    personality: str | None
    chatgpt_base_url: str

    # What it is told.
    developer_instructions: str | None
    compact_prompt: str | None
    commit_attribution: str | None
    project_doc_max_bytes: int
    project_doc_fallback_filenames: tuple[str, ...]
    project_root_markers: tuple[str, ...]
    project_root: str | None
    """The nearest directory with a marker, from `cwd` up."""
    skills: tuple[Skill, ...]
    bundled_skills: bool

    # What it may do.
    approval_policy: str | dict[str, Any]
    """A word, or `{"granular": {...}}`."""
    approvals_reviewer: str
    required_rules: tuple[RequiredRule, ...]
    """What an administrator forbids, or wants to be asked about."""
    permissions: Permissions
    landlock_only: bool
    limits: Limits
    deny_read_defaults: bool
    trust_level: str | None
    shell_environment_policy: ShellEnvironmentPolicy
    allow_login_shell: bool
    background_terminal_max_timeout_ms: int
    tool_output_token_limit: int | None
    web_search: str
    """What is wanted; `web_search_for` says what a turn gets."""
    allowed_web_search: tuple[str, ...]
    web_search_options: Mapping[str, Any]
    """The table `[tools.web_search]`."""
    mcp_servers: "Mapping[str, McpServer]"
    mcp_oauth_callback_port: int | None
    """Where a browser comes back to after the login to a server; None: any."""
    mcp_oauth_callback_url: str | None
    """By name, sorted; also those that are disabled."""
    features: frozenset[str]
    agents_max_threads: int
    agents_max_depth: int
    agents_job_max_runtime_seconds: int | None

    # Around it.
    notify: tuple[str, ...]
    hide_agent_reasoning: bool
    show_raw_agent_reasoning: bool
    file_opener: str | None
    history_persistence: str
    history_max_bytes: int | None
    log_dir: str
    ephemeral: bool
    cli_auth_credentials_store: str
    forced_login_method: str | None
    forced_chatgpt_workspace_id: str | None

    warnings: tuple[str, ...]
    """For the front-end to show at the start."""
    unknown_keys: tuple[str, ...]
    """One line for each, ready for stderr."""


def web_search_for(config: Config, sandbox_mode: str) -> str:
    """The mode of web search for a turn: without a sandbox there is no point in cached pages."""
    if sandbox_mode == DANGER_FULL_ACCESS and config.web_search != "disabled":
        return next(mode for mode in ("live", "cached", "disabled") if mode in config.allowed_web_search)
    return config.web_search
