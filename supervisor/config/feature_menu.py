"""Features as a menu shows them: in which order, and what the ones to try out are called.

Owns words and order only; which features there are and which are on is known to `features`.
"""

from typing import NamedTuple

ORDER = tuple(
    """
    undo shell_tool unified_exec shell_zsh_fork shell_snapshot js_repl code_mode code_mode_only js_repl_tools_only
    web_search_request web_search_cached search_tool codex_git_commit runtime_metrics sqlite memories child_agents_md
    image_detail_original apply_patch_freeform exec_permission_approvals codex_hooks request_permissions_tool
    use_linux_sandbox_bwrap use_legacy_landlock request_rule experimental_windows_sandbox elevated_windows_sandbox
    remote_models powershell_utf8 enable_request_compression multi_agent enable_fanout apps tool_suggest plugins
    image_generation skill_mcp_dependency_install skill_env_var_dependency_prompt steer default_mode_request_user_input
    guardian_approval collaboration_modes tool_call_mcp_elicitation personality artifact fast_mode voice_transcription
    realtime_conversation tui_app_server prevent_idle_sleep responses_websockets responses_websockets_v2
    """.split()
)


class Entry(NamedTuple):
    name: str
    description: str
    announcement: str


# Those that people are invited to try.
ENTRIES = {
    "js_repl": Entry(
        "JavaScript REPL",
        "Keeps a JavaScript interpreter running that the model can work with. Needs Node.",
        "New to try: a JavaScript REPL. It is there from the next thread on.",
    ),
    "apps": Entry(
        "Apps",
        "Lets connected apps of a ChatGPT account be used as tools.",
        "New to try: apps. Connect one, then mention it.",
    ),
    "guardian_approval": Entry(
        "Guardian Approvals",
        "Has a second model look at what would otherwise be asked of a person.",
        "New to try: approvals by a second model. You are still asked what it is unsure of.",
    ),
    "tui_app_server": Entry(
        "App-server TUI",
        "Runs the terminal interface as a client of the app-server.",
        "New to try: the terminal interface as a client. It is there from the next start on.",
    ),
    "prevent_idle_sleep": Entry(
        "Prevent sleep while running",
        "Keeps the computer awake for as long as a turn runs.",
        "New to try: the computer stays awake while a turn runs.",
    ),
}
