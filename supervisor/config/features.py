"""The names of feature flags, as `--enable`, `--disable` and `[features]` know them.

Owns the list of names and nothing else: what a feature does is decided where it is used.
"""

from pycodex.protocol.errors import UserFacing

NAMES = frozenset(
    """
    shell_tool unified_exec shell_snapshot enable_request_compression multi_agent skill_mcp_dependency_install
    personality fast_mode sqlite steer collaboration_modes undo use_legacy_landlock js_repl apps guardian_approval
    tui_app_server prevent_idle_sleep web_search_request web_search_cached search_tool use_linux_sandbox_bwrap
    request_rule experimental_windows_sandbox elevated_windows_sandbox remote_models responses_websockets
    responses_websockets_v2 shell_zsh_fork code_mode code_mode_only js_repl_tools_only codex_git_commit
    runtime_metrics memories child_agents_md image_detail_original apply_patch_freeform exec_permission_approvals
    codex_hooks request_permissions_tool powershell_utf8 enable_fanout tool_suggest plugins image_generation
    skill_env_var_dependency_prompt default_mode_request_user_input tool_call_mcp_elicitation artifact
    voice_transcription realtime_conversation
    """.split()
)

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


def checked_name(name: str) -> str:
    """The name as it was given, if any feature answers to it."""
    if name not in NAMES and name not in ALIASES:
        raise UserFacing(f"Unknown feature flag: {name}")
    return name
