"""What holds where nobody says anything.

Owns the default of every key that has a plain one, by its dotted name. Defaults that depend on something else (the
trust in a project, features) are decided in `load`.
"""

from typing import Any

DEFAULTS: dict[str, Any] = {
    "agents.max_depth": 1,
    "agents.max_threads": 6,
    "allow_login_shell": True,
    "approvals_reviewer": "user",
    "background_terminal_max_timeout": 300_000,
    "chatgpt_base_url": "https://chatgpt.com/backend-api/",
    "check_for_update_on_startup": True,
    "cli_auth_credentials_store": "file",
    "disable_paste_burst": False,
    "feedback.enabled": True,
    "file_opener": "vscode",
    "hide_agent_reasoning": False,
    "history.persistence": "save-all",
    "mcp_oauth_credentials_store": "auto",
    "model_provider": "openai",
    "project_doc_fallback_filenames": [],
    "project_doc_max_bytes": 32 * 1024,
    "project_root_markers": [".git"],
    "sandbox.deny_read_defaults": True,
    "sandbox.landlock_only": False,
    "sandbox_workspace_write.exclude_slash_tmp": False,
    "sandbox_workspace_write.exclude_tmpdir_env_var": False,
    "sandbox_workspace_write.network_access": False,
    "sandbox_workspace_write.writable_roots": [],
    "shell_environment_policy.exclude": [],
    "shell_environment_policy.experimental_use_profile": False,
    "shell_environment_policy.ignore_default_excludes": True,
    "shell_environment_policy.include_only": [],
    "shell_environment_policy.inherit": "all",
    "show_raw_agent_reasoning": False,
    "skills.bundled.enabled": True,
    "suppress_unstable_features_warning": False,
    "tui.alternate_screen": "auto",
    "tui.animations": True,
    "tui.notification_method": "auto",
    "tui.notifications": True,
    "tui.show_tooltips": True,
    "web_search": "cached",
}
