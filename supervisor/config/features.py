"""Feature flags: their names, their stages and which are on.

Owns the list and how `[features]`, older names and older keys are put together; what a feature does is decided where it
is used. Pure: tables of settings in, a set of names out.
"""

from pycodex.protocol.errors import UserFacing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

STABLE = "stable"
EXPERIMENTAL = "experimental"
UNDER_DEVELOPMENT = "under development"
DEPRECATED = "deprecated"
REMOVED = "removed"

ON_BY_DEFAULT = frozenset(
    """
    shell_tool unified_exec shell_snapshot enable_request_compression multi_agent skill_mcp_dependency_install
    personality fast_mode sqlite steer collaboration_modes
    """.split()
)

_NAMES_BY_STAGE = {
    STABLE: """
        shell_tool unified_exec shell_snapshot enable_request_compression multi_agent skill_mcp_dependency_install
        personality fast_mode undo use_legacy_landlock
        """,
    EXPERIMENTAL: "js_repl apps guardian_approval tui_app_server prevent_idle_sleep",
    DEPRECATED: "web_search_request web_search_cached",
    REMOVED: """
        sqlite steer collaboration_modes search_tool use_linux_sandbox_bwrap request_rule experimental_windows_sandbox
        elevated_windows_sandbox remote_models responses_websockets responses_websockets_v2
        """,
    UNDER_DEVELOPMENT: """
        shell_zsh_fork code_mode code_mode_only js_repl_tools_only codex_git_commit runtime_metrics memories
        child_agents_md image_detail_original apply_patch_freeform exec_permission_approvals codex_hooks
        request_permissions_tool powershell_utf8 enable_fanout tool_suggest plugins image_generation
        skill_env_var_dependency_prompt default_mode_request_user_input tool_call_mcp_elicitation artifact
        voice_transcription realtime_conversation
        """,
}
STAGES = {name: stage for stage, names in _NAMES_BY_STAGE.items() for name in names.split()}
NAMES = frozenset(STAGES)

ALIASES = {
    "connectors": "apps",
    "collab": "multi_agent",
    "memory_tool": "memories",
    "request_permissions": "exec_permission_approvals",
    "web_search": "web_search_request",
    "include_apply_patch_tool": "apply_patch_freeform",
    "experimental_use_freeform_apply_patch": "apply_patch_freeform",
    "experimental_use_unified_exec_tool": "unified_exec",
    "enable_experimental_windows_sandbox": "experimental_windows_sandbox",
}

# Keys outside of `[features]` that still switch a feature, in the order in which they count.
_OLDER_KEYS = ("experimental_use_freeform_apply_patch", "experimental_use_unified_exec_tool")
_OLDER_PROFILE_KEYS = ("include_apply_patch_tool", *_OLDER_KEYS)


def checked_name(name: str) -> str:
    """The name as it was given, if any feature answers to it."""
    if name not in NAMES and name not in ALIASES:
        raise UserFacing(f"Unknown feature flag: {name}")
    return name


def enabled(
    settings: "Mapping[str, Any]", profile: "Mapping[str, Any]", required: "Mapping[str, bool] | None" = None
) -> "frozenset[str]":
    """The features that are on after the merged settings, then the profile, then what an administrator demands."""
    names = set(ON_BY_DEFAULT)
    for table, older in ((settings, _OLDER_KEYS), (profile, _OLDER_PROFILE_KEYS)):
        _apply(names, {key: table[key] for key in older if key in table})
        _apply(names, dict(sorted(table.get("features", {}).items())))
    _settle(names)
    if required:
        _apply(names, required)
        _settle(names)
    return frozenset(names)


def _apply(names: "set[str]", switches: "Mapping[str, bool]") -> None:
    for key, on in switches.items():
        name = ALIASES.get(key, key)
        if name not in NAMES:
            continue
        if on:
            names.add(name)
        else:
            names.discard(name)


def _settle(names: "set[str]") -> None:
    """Some features need another one."""
    if "enable_fanout" in names:
        names.add("multi_agent")
    if "code_mode_only" in names:
        names.add("code_mode")
    if "js_repl" not in names:
        names.discard("js_repl_tools_only")


def experimental(on: "frozenset[str]") -> "tuple[str, ...]":
    """Those of them that providers are told about, because they may change."""
    return tuple(name for name, stage in STAGES.items() if stage == EXPERIMENTAL and name in on)


def under_development_warning(
    configured: "Mapping[str, Any]", on: "frozenset[str]", *, config_path: str
) -> "str | None":
    """The warning about unfinished features that the settings switch on."""
    unfinished = [
        name
        for name in sorted(configured)
        if configured[name] is True and name in on and STAGES.get(name) == UNDER_DEVELOPMENT
    ]
    if not unfinished:
        return None
    return (
        f"Under-development features enabled: {', '.join(unfinished)}. Under-development features are incomplete and "
        "may behave unpredictably. To suppress this warning, set `suppress_unstable_features_warning = true` in "
        f"{config_path}."
    )
