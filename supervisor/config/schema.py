"""Which key of config.toml is of which kind.

Owns the list of known keys and nothing else: how a kind is checked is in `kinds`, what a key means is decided where it
is used. Keys that nothing uses yet are listed too, as a mistake in them is fatal in the reference.
"""

from typing import Any

from pycodex.supervisor.config.kinds import (
    ANY,
    BOOLEAN,
    I32,
    I64,
    PATH,
    PATHS,
    SECONDS,
    STRING,
    STRING_MAP,
    STRINGS,
    U16,
    U32,
    U64,
    USIZE,
    Choice,
    Either,
    Kind,
    Mismatch,
    Names,
    Scalar,
    Sequence,
    Table,
    Where,
)

RESERVED_PROVIDERS = ("lmstudio", "ollama", "openai")

_NO_CHAT = (
    '`wire_api = "chat"` is no longer supported.\n'
    'How to fix: set `wire_api = "responses"` in your provider config.\n'
    "More info: https://github.com/openai/codex/discussions/7782"
)
_ONLY_FOR_HTTP = ("url", "bearer_token_env_var", "bearer_token", "http_headers", "env_http_headers", "oauth_resource")
_ONLY_FOR_STDIO = ("args", "env", "env_vars", "cwd", "bearer_token")


class _WireApi(Scalar):
    def __init__(self) -> None:
        super().__init__("a string", str)

    def check(self, value: Any, where: Where) -> None:
        super().check(value, where)
        if value == "chat":
            raise Mismatch(where, _NO_CHAT)
        if value != "responses":
            raise Mismatch(where, f"unknown variant `{value}`, expected `responses`")


def _check_transport(server: dict[str, Any], where: Where) -> None:
    if "command" not in server and "url" not in server:
        raise Mismatch(where, "invalid transport")
    kind, foreign = ("stdio", _ONLY_FOR_HTTP) if "command" in server else ("streamable_http", _ONLY_FOR_STDIO)
    for key in foreign:
        if key in server:
            raise Mismatch(where, f"{key} is not supported for {kind}")


def _check_reserved(providers: dict[str, Any], where: Where) -> None:
    taken = ", ".join(f"`{name}`" for name in RESERVED_PROVIDERS if name in providers)
    if taken:
        raise Mismatch(
            where,
            f"model_providers contains reserved built-in provider IDs: {taken}. Built-in providers cannot be "
            "overridden. Rename your custom provider (for example, `openai-custom`).",
        )


def _struct(name: str, **fields: Kind) -> Table:
    return Table(f"struct {name}", fields)


def _open_struct(name: str, **fields: Kind) -> Table:
    return Table(f"struct {name}", fields, is_open=True)


_GRANULAR = Table(
    "struct GranularApprovalConfig",
    dict.fromkeys(("sandbox_approval", "rules", "skill_approval", "request_permissions", "mcp_elicitations"), BOOLEAN),
    required=("sandbox_approval", "rules", "mcp_elicitations"),
)
APPROVAL_POLICY = Choice(
    "untrusted",
    "on-failure",
    "on-request",
    "granular",
    "never",
    payloads={"granular": _GRANULAR},
    bare_payload="newtype variant",
)
SANDBOX_MODE = Choice("read-only", "workspace-write", "danger-full-access")
WEB_SEARCH_MODE = Choice("disabled", "cached", "live")
# The last two are of newer models; the reference did not know them.
_EFFORT = Choice("none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra")
_LEVEL = Choice("low", "medium", "high")

_ANALYTICS = _struct("AnalyticsConfigToml", enabled=BOOLEAN)
_FEATURES = Names(BOOLEAN, expected="struct FeaturesToml", loses=True)
_WINDOWS = _struct("WindowsToml", sandbox=Choice("elevated", "unelevated"), sandbox_private_desktop=BOOLEAN)
_WEB_SEARCH_TOOL = _struct(
    "WebSearchToolConfig",
    context_size=_LEVEL,
    allowed_domains=STRINGS,
    location=_struct("WebSearchLocation", country=STRING, region=STRING, city=STRING, timezone=STRING),
)
_TOOLS = _struct(
    "ToolsToml", view_image=BOOLEAN, web_search=Either("WebSearchToolConfigInput", BOOLEAN, _WEB_SEARCH_TOOL)
)

# Keys that a profile may set as well.
_BOTH: dict[str, Kind] = {
    "analytics": _ANALYTICS,
    "approval_policy": APPROVAL_POLICY,
    "approvals_reviewer": Choice("user", "guardian_subagent"),
    "chatgpt_base_url": STRING,
    "experimental_compact_prompt_file": PATH,
    "experimental_instructions_file": PATH,
    "experimental_use_freeform_apply_patch": BOOLEAN,
    "experimental_use_unified_exec_tool": BOOLEAN,
    "features": _FEATURES,
    "js_repl_node_module_dirs": PATHS,
    "js_repl_node_path": PATH,
    "model": STRING,
    "model_catalog_json": PATH,
    "model_instructions_file": PATH,
    "model_provider": STRING,
    "model_reasoning_effort": _EFFORT,
    "model_reasoning_summary": Choice("auto", "concise", "detailed", "none"),
    "model_verbosity": _LEVEL,
    "oss_provider": STRING,
    "personality": Choice("none", "friendly", "pragmatic"),
    "plan_mode_reasoning_effort": _EFFORT,
    "sandbox_mode": SANDBOX_MODE,
    "service_tier": Choice("fast", "flex"),
    "tools": _TOOLS,
    "web_search": WEB_SEARCH_MODE,
    "windows": _WINDOWS,
    "zsh_path": PATH,
}
PROFILE_KEYS = frozenset(_BOTH)

_PROFILE = Table("struct ConfigProfile", {**_BOTH, "include_apply_patch_tool": BOOLEAN, "tools_view_image": BOOLEAN})

_PROVIDER = Table(
    "struct ModelProviderInfo",
    {
        "name": STRING,
        **dict.fromkeys(("base_url", "env_key", "env_key_instructions", "experimental_bearer_token"), STRING),
        "wire_api": _WireApi(),
        **dict.fromkeys(("query_params", "http_headers", "env_http_headers"), STRING_MAP),
        **dict.fromkeys(("request_max_retries", "stream_max_retries"), U64),
        **dict.fromkeys(("stream_idle_timeout_ms", "websocket_connect_timeout_ms"), U64),
        **dict.fromkeys(("requires_openai_auth", "supports_websockets"), BOOLEAN),
    },
    required=("name",),
)

_MCP_SERVER = Table(
    "struct RawMcpServerConfig",
    {
        **dict.fromkeys(("command", "url", "bearer_token", "bearer_token_env_var", "oauth_resource"), STRING),
        **dict.fromkeys(("args", "env_vars", "enabled_tools", "disabled_tools", "scopes"), STRINGS),
        **dict.fromkeys(("env", "http_headers", "env_http_headers"), STRING_MAP),
        "cwd": PATH,
        **dict.fromkeys(("enabled", "required"), BOOLEAN),
        **dict.fromkeys(("startup_timeout_sec", "tool_timeout_sec"), SECONDS),
        "startup_timeout_ms": U64,
    },
    rule=_check_transport,
)

_ACCESS = Choice("read", "write", "none", "deny")
_PERMISSIONS = Names(
    _struct(
        "PermissionProfileToml",
        filesystem=Names(
            Either("FilesystemPermissionToml", _ACCESS, Names(_ACCESS)), expected="struct FilesystemPermissionsToml"
        ),
        network=Table(
            "struct NetworkToml",
            {
                **dict.fromkeys(("enabled", "enable_socks5", "enable_socks5_udp", "allow_upstream_proxy"), BOOLEAN),
                **dict.fromkeys(
                    ("dangerously_allow_non_loopback_proxy", "dangerously_allow_all_unix_sockets"), BOOLEAN
                ),
                "allow_local_binding": BOOLEAN,
                "mode": Choice("limited", "full"),
                **dict.fromkeys(("proxy_url", "socks_url"), STRING),
                **dict.fromkeys(("allowed_domains", "denied_domains", "allow_unix_sockets"), STRINGS),
            },
        ),
    ),
    expected="struct PermissionsToml",
    loses=True,
)

_APP_TOOL_APPROVAL = Choice("auto", "prompt", "approve")
_APPS = Table(
    "struct AppsConfigToml",
    {
        "_default": _struct(
            "AppsDefaultConfig", enabled=BOOLEAN, destructive_enabled=BOOLEAN, open_world_enabled=BOOLEAN
        )
    },
    rest=_struct(
        "AppConfig",
        **dict.fromkeys(("enabled", "destructive_enabled", "open_world_enabled", "default_tools_enabled"), BOOLEAN),
        default_tools_approval_mode=_APP_TOOL_APPROVAL,
        tools=Names(
            _struct("AppToolConfig", enabled=BOOLEAN, approval_mode=_APP_TOOL_APPROVAL),
            expected="struct AppToolsConfig",
        ),
    ),
)

_TLS = Table(
    "struct OtelTlsConfig", dict.fromkeys(("ca-certificate", "client-certificate", "client-private-key"), PATH)
)
_EXPORTER = Choice(
    "none",
    "statsig",
    "otlp-http",
    "otlp-grpc",
    payloads={
        "otlp-http": Table(
            "struct variant OtelExporterKind::OtlpHttp",
            {"endpoint": STRING, "headers": STRING_MAP, "protocol": Choice("binary", "json"), "tls": _TLS},
            required=("endpoint", "protocol"),
        ),
        "otlp-grpc": Table(
            "struct variant OtelExporterKind::OtlpGrpc",
            {"endpoint": STRING, "headers": STRING_MAP, "tls": _TLS},
            required=("endpoint",),
        ),
    },
    bare_payload="struct variant",
)

PROJECTS = Names(_struct("ProjectConfig", trust_level=Choice("trusted", "untrusted")))
PROJECT_ROOT_MARKERS = STRINGS

ROOT = Table(
    "struct ConfigToml",
    {
        **_BOTH,
        **dict.fromkeys(
            (
                "default_permissions",
                "profile",
                "review_model",
                "instructions",
                "developer_instructions",
                "compact_prompt",
            ),
            STRING,
        ),
        **dict.fromkeys(
            ("commit_attribution", "openai_base_url", "forced_chatgpt_workspace_id", "mcp_oauth_callback_url"), STRING
        ),
        **{
            f"experimental_realtime_{key}": STRING
            for key in (
                "start_instructions",
                "ws_backend_prompt",
                "ws_base_url",
                "ws_model",
                "ws_startup_context",
            )
        },
        **dict.fromkeys(
            ("allow_login_shell", "check_for_update_on_startup", "disable_paste_burst", "hide_agent_reasoning"), BOOLEAN
        ),
        **dict.fromkeys(("model_supports_reasoning_summaries", "show_raw_agent_reasoning"), BOOLEAN),
        **dict.fromkeys(("suppress_unstable_features_warning", "windows_wsl_setup_acknowledged"), BOOLEAN),
        **dict.fromkeys(("model_context_window", "model_auto_compact_token_limit"), I64),
        **dict.fromkeys(("project_doc_max_bytes", "tool_output_token_limit"), USIZE),
        **dict.fromkeys(("log_dir", "sqlite_home"), PATH),
        **dict.fromkeys(("notify", "project_doc_fallback_filenames"), STRINGS),
        "agents": Table(
            "struct AgentsToml",
            {"max_threads": USIZE, "max_depth": I32, "job_max_runtime_seconds": U64},
            rest=_struct("AgentRoleToml", description=STRING, config_file=PATH, nickname_candidates=STRINGS),
        ),
        "apps": _APPS,
        "audio": _struct("RealtimeAudioToml", microphone=STRING, speaker=STRING),
        "background_terminal_max_timeout": U64,
        "cli_auth_credentials_store": Choice("file", "keyring", "auto", "ephemeral"),
        "feedback": _struct("FeedbackConfigToml", enabled=BOOLEAN),
        "file_opener": Choice("vscode", "vscode-insiders", "windsurf", "cursor", "none"),
        "forced_login_method": Choice("chatgpt", "api"),
        "ghost_snapshot": _struct(
            "GhostSnapshotToml",
            ignore_large_untracked_files=I64,
            ignore_large_untracked_dirs=I64,
            disable_warnings=BOOLEAN,
        ),
        "history": Table(
            "struct History",
            {"persistence": Choice("save-all", "none"), "max_bytes": USIZE},
            required=("persistence",),
        ),
        "mcp_oauth_callback_port": U16,
        "mcp_oauth_credentials_store": Choice("auto", "file", "keyring"),
        "mcp_servers": Names(_MCP_SERVER),
        "memories": Table(
            "struct MemoriesToml",
            {
                **dict.fromkeys(("generate_memories", "use_memories", "no_memories_if_mcp_or_web_search"), BOOLEAN),
                **dict.fromkeys(("max_raw_memories_for_consolidation", "max_rollouts_per_startup"), USIZE),
                **dict.fromkeys(("max_rollout_age_days", "max_unused_days", "min_rollout_idle_hours"), I64),
                **dict.fromkeys(("extract_model", "consolidation_model"), STRING),
            },
        ),
        "model_providers": Names(_PROVIDER, rule=_check_reserved),
        "notice": Table(
            "struct Notice",
            {
                **dict.fromkeys(("hide_full_access_warning", "hide_world_writable_warning"), BOOLEAN),
                **dict.fromkeys(("hide_rate_limit_model_nudge", "hide_gpt5_1_migration_prompt"), BOOLEAN),
                "hide_gpt-5.1-codex-max_migration_prompt": BOOLEAN,
                "model_migrations": STRING_MAP,
            },
            is_open=True,
        ),
        "otel": _open_struct(
            "OtelConfigToml",
            log_user_prompt=BOOLEAN,
            environment=STRING,
            exporter=_EXPORTER,
            trace_exporter=_EXPORTER,
            metrics_exporter=_EXPORTER,
        ),
        "permissions": _PERMISSIONS,
        "plugins": Names(_open_struct("PluginConfig", enabled=BOOLEAN)),
        "profiles": Names(_PROFILE),
        "project_root_markers": PROJECT_ROOT_MARKERS,
        "projects": PROJECTS,
        "realtime": _open_struct(
            "RealtimeToml", version=Choice("v1", "v2"), type=Choice("conversational", "transcription")
        ),
        # Not of the reference. The limits are checked where they are used: an unknown one is an error there.
        "sandbox": _struct("Sandbox", landlock_only=BOOLEAN, deny_read_defaults=BOOLEAN, limits=ANY),
        "sandbox_workspace_write": _struct(
            "SandboxWorkspaceWrite",
            writable_roots=PATHS,
            **dict.fromkeys(("network_access", "exclude_tmpdir_env_var", "exclude_slash_tmp"), BOOLEAN),
        ),
        "shell_environment_policy": _struct(
            "ShellEnvironmentPolicyToml",
            inherit=Choice("core", "all", "none"),
            **dict.fromkeys(("ignore_default_excludes", "experimental_use_profile"), BOOLEAN),
            **dict.fromkeys(("exclude", "include_only"), STRINGS),
            set=STRING_MAP,
        ),
        "skills": _struct(
            "SkillsConfig",
            bundled=_struct("BundledSkillsConfig", enabled=BOOLEAN),
            config=Sequence(
                Table("struct SkillConfig", {"path": PATH, "enabled": BOOLEAN}, required=("path", "enabled"))
            ),
        ),
        "tool_suggest": _struct(
            "ToolSuggestConfig",
            discoverables=Sequence(
                Table(
                    "struct ToolSuggestDiscoverable",
                    {"type": Choice("connector", "plugin"), "id": STRING},
                    required=("type", "id"),
                )
            ),
        ),
        "tui": _open_struct(
            "Tui",
            notifications=Either("Notifications", BOOLEAN, STRINGS),
            notification_method=Choice("auto", "osc9", "bel"),
            animations=BOOLEAN,
            show_tooltips=BOOLEAN,
            alternate_screen=Choice("auto", "always", "never"),
            status_line=STRINGS,
            theme=STRING,
            model_availability_nux=Names(U32, expected="struct ModelAvailabilityNuxConfig", loses=True),
        ),
    },
)
