"""From files, flags and the environment to one `Config`.

Owns the order of precedence (dedicated flag, then profile, then merged layers) and the order in which mistakes are
told. `layers` reads and checks, `defaults` fills in; this module only chooses.
"""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.permissions import DANGER_FULL_ACCESS, READ_ONLY, WORKSPACE_WRITE, FsRule, Permissions
from pycodex.supervisor.config import features, providers, requirements, sandbox_settings
from pycodex.supervisor.config.config import Config, Flags, Skill
from pycodex.supervisor.config.defaults import DEFAULTS
from pycodex.supervisor.config.early import SYSTEM_DIR, anchored, file_bytes
from pycodex.supervisor.config.layers import Layered, load_layers
from pycodex.supervisor.config.shell_environment import policy_from
from pycodex.supervisor.config.trust import UNTRUSTED
from pycodex.supervisor.config.unknown_keys import unknown_key_warnings

if TYPE_CHECKING:
    from pycodex.supervisor.config.mcp_servers import McpServer

_LEAST_BACKGROUND_TERMINAL_MS = 5_000


def load_config(
    *, env: Mapping[str, str], overrides: Sequence[str], cwd: str, flags: Flags, system_dir: str = SYSTEM_DIR
) -> Config:
    """The configuration for one working directory, which is given canonical."""
    layered = load_layers(env=env, overrides=overrides, cwd=cwd, system_dir=system_dir)
    return _Choice(layered, env=env, cwd=cwd, flags=flags).config()


class _Choice:
    """One pass over all that was said."""

    def __init__(self, layered: Layered, *, env: Mapping[str, str], cwd: str, flags: Flags) -> None:
        self.layered = layered
        self.settings = layered.settings
        self.values = layered.settings.values
        self.demanded = layered.demanded
        self.env = env
        self.cwd = cwd
        self.flags = flags
        self.warnings: list[str] = []
        self.profile: Mapping[str, Any] = {}

    def said(self, key: str) -> Any:
        """What the layers say, else the default."""
        value: Any = self.values
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return DEFAULTS.get(key) if value is None else value

    def either(self, key: str) -> Any:
        """What the profile says, else the layers."""
        return self.profile[key] if key in self.profile else self.said(key)

    def config(self) -> Config:
        name = self.flags.profile if self.flags.profile is not None else self.said("profile")
        profiles = self.said("profiles") or {}
        local = None
        if self.flags.oss:
            local = providers.oss_provider(self.flags.local_provider, profiles.get(name, {}), self.values)
        if name is not None:
            if name not in profiles:
                raise UserFacing(f"config profile `{name}` not found")
            self.profile = profiles[name]
        on = features.enabled(self.values, self.profile, requirements.required_features(self.demanded))
        fields = {
            **self._permission_fields(on),
            **self._provider_fields(local),
            **self._agent_fields(),
            **self._model_fields(on),
            **self._instruction_fields(),
            **self._other_fields(),
        }
        self._warn_of_unfinished(on)
        return Config(
            codex_home=self.settings.codex_home,
            cwd=self.cwd,
            profile=name,
            settings=self.settings,
            features=on,
            trust_level=self.layered.trust_level,
            ephemeral=self.flags.ephemeral,
            warnings=tuple(self.warnings),
            unknown_keys=unknown_key_warnings(self.settings.layers),
            **fields,
        )

    def _permission_fields(self, on: frozenset[str]) -> dict[str, Any]:
        return {
            "permissions": self._permissions(),
            "landlock_only": sandbox_settings.landlock_only(self.settings) or "use_legacy_landlock" in on,
            "limits": sandbox_settings.limits(self.settings),
            "deny_read_defaults": sandbox_settings.deny_read_defaults(self.settings),
            "approval_policy": self._approval_policy(),
            "approvals_reviewer": self.either("approvals_reviewer"),
            "required_rules": self.demanded.rules,
            "web_search": self._web_search(on),
            "allowed_web_search": requirements.allowed_web_search(self.demanded.web_search_modes),
            "web_search_options": self._web_search_options(),
            "shell_environment_policy": policy_from(self.said("shell_environment_policy") or {}),
            "mcp_servers": self._mcp_servers(),
            "mcp_oauth_callback_port": self.said("mcp_oauth_callback_port"),
            "mcp_oauth_callback_url": (self.said("mcp_oauth_callback_url") or "").strip() or None,
        }

    def _mcp_servers(self) -> "dict[str, McpServer]":
        tables = self.said("mcp_servers")
        if not tables:
            return {}
        from pycodex.supervisor.config.mcp_servers import mcp_servers

        return mcp_servers(
            tables,
            allowed=self.demanded.mcp_servers,
            allowed_by=self.demanded.source,
            credentials_store=self.said("mcp_oauth_credentials_store"),
        )

    def _permissions(self) -> Permissions:
        roots = [anchored(path, self.cwd, self.env) for path in self.flags.add_dirs]
        roots.append(_made(os.path.join(self.settings.codex_home, "memories")))
        chosen, explicit = self._chosen_permissions()
        allowed = self.demanded.sandbox_modes
        mode = requirements.constrained_mode(chosen.mode, allowed, explicit=explicit, warnings=self.warnings)
        if mode != chosen.mode:
            chosen = Permissions(mode=mode)
        if chosen.mode != WORKSPACE_WRITE:
            return chosen
        if chosen.rules:
            granted = {rule.path for rule in chosen.rules if rule.access == "write"}
            more = (FsRule(path=root, access="write") for root in dict.fromkeys(roots) if root not in granted)
            return chosen.replace(rules=(*chosen.rules, *more))
        return chosen.replace(writable_roots=tuple(dict.fromkeys((*chosen.writable_roots, *roots))))

    def _chosen_permissions(self) -> tuple[Permissions, bool]:
        """What is asked for, and whether anybody asked."""
        flags = self.flags
        flagged = DANGER_FULL_ACCESS if flags.bypass else WORKSPACE_WRITE if flags.full_auto else flags.sandbox_mode
        asked = flagged or self.profile.get("sandbox_mode")
        # The table is checked in every case: a mistake in it must not show only once the mode is changed.
        writing = sandbox_settings.workspace_write(self.settings)
        if asked is None and (self.said("permissions") or self.said("default_permissions")):
            from pycodex.supervisor.config import permission_profiles

            configured = permission_profiles.configured(self.settings, writing)
            if configured is not None:
                return configured, True
        asked = asked or self.said("sandbox_mode")
        mode = asked or (READ_ONLY if self.layered.trust_level is None else WORKSPACE_WRITE)
        if mode == WORKSPACE_WRITE:
            return writing, asked is not None
        return Permissions(mode=mode, network_access=mode == DANGER_FULL_ACCESS), asked is not None

    def _approval_policy(self) -> Any:
        flags = self.flags
        asked = flags.approval_policy or ("never" if flags.bypass else "on-request" if flags.full_auto else None)
        asked = asked or self.either("approval_policy")
        default = "untrusted" if self.layered.trust_level == UNTRUSTED else "on-request"
        return requirements.constrained_policy(
            asked or default, self.demanded.approval_policies, explicit=asked is not None, warnings=self.warnings
        )

    def _web_search(self, on: frozenset[str]) -> str:
        mode = self.profile.get("web_search") or self.values.get("web_search")
        if mode is None and "web_search_request" in on and "web_search_cached" not in on:
            mode = "live"
        mode = mode or DEFAULTS["web_search"]
        return requirements.constrained_web_search(mode, self.demanded.web_search_modes, warnings=self.warnings)

    def _web_search_options(self) -> dict[str, Any]:
        """Those of the profile over those of the layers, each for itself. A mere true or false says nothing."""
        merged: dict[str, Any] = {}
        for tools in (self.said("tools"), self.profile.get("tools")):
            given = (tools or {}).get("web_search")
            if isinstance(given, dict):
                location = {**merged.get("location", {}), **given.get("location", {})}
                places = {"location": location} if "location" in merged or "location" in given else {}
                merged = {**merged, **given, **places}
        return merged

    def _provider_fields(self, local: str | None) -> dict[str, Any]:
        base_url = providers.openai_base_url(self.values, self.env, self.warnings)
        known = providers.all_providers(self.values, self.env, base_url)
        model = self.flags.model or providers.DEFAULT_MODELS.get(local or "") or self.either("model")
        return {
            "providers": known,
            "provider": providers.chosen_provider(known, local or self.either("model_provider")),
            "model": model,
            "show_raw_agent_reasoning": self.values.get("show_raw_agent_reasoning", self.flags.oss),
        }

    def _agent_fields(self) -> dict[str, Any]:
        names = ("max_threads", "max_depth", "job_max_runtime_seconds")
        for name in names:
            value = self.said(f"agents.{name}")
            if value is not None and value < 1:
                raise UserFacing(f"agents.{name} must be at least 1")
        return {f"agents_{name}": self.said(f"agents.{name}") for name in names}

    def _model_fields(self, on: frozenset[str]) -> dict[str, Any]:
        tier = self.either("service_tier")
        return {
            "model_instructions": _file_text(self.either("model_instructions_file"), "model instructions file"),
            "model_catalog_path": self.either("model_catalog_json"),
            "service_tier": None if tier == "fast" and "fast_mode" not in on else tier,
            "personality": self.either("personality") or ("pragmatic" if "personality" in on else None),
            **{
                key: self.either(key)
                for key in (
                    "model_reasoning_effort",
                    "plan_mode_reasoning_effort",
                    "model_reasoning_summary",
                    "model_verbosity",
                    "chatgpt_base_url",
                )
            },
            **{
                key: self.said(key)
                for key in (
                    "review_model",
                    "model_supports_reasoning_summaries",
                    "model_context_window",
                    "model_auto_compact_token_limit",
                )
            },
        }

    def _instruction_fields(self) -> dict[str, Any]:
        compact_file = _file_text(self.either("experimental_compact_prompt_file"), "experimental compact prompt file")
        names = (name.strip() for name in self.said("project_doc_fallback_filenames"))
        return {
            "developer_instructions": self.said("developer_instructions"),
            "compact_prompt": (self.said("compact_prompt") or "").strip() or compact_file,
            "commit_attribution": self.said("commit_attribution"),
            "project_doc_max_bytes": self.said("project_doc_max_bytes"),
            "project_doc_fallback_filenames": tuple(name for name in names if name),
            "project_root_markers": self.layered.markers,
            "project_root": self.layered.project_root,
            "skills": tuple(Skill(**_only(each, "path", "enabled")) for each in self.said("skills.config") or ()),
            "bundled_skills": self.said("skills.bundled.enabled"),
        }

    def _other_fields(self) -> dict[str, Any]:
        opener = self.said("file_opener")
        longest = self.said("background_terminal_max_timeout")
        return {
            "allow_login_shell": self.said("allow_login_shell"),
            "background_terminal_max_timeout_ms": max(longest, _LEAST_BACKGROUND_TERMINAL_MS),
            "tool_output_token_limit": self.said("tool_output_token_limit"),
            "notify": tuple(self.said("notify") or ()),
            "hide_agent_reasoning": self.said("hide_agent_reasoning"),
            "file_opener": None if opener == "none" else opener,
            "history_persistence": self.said("history.persistence"),
            "history_max_bytes": self.said("history.max_bytes"),
            "log_dir": self.said("log_dir") or os.path.join(self.settings.codex_home, "log"),
            "cli_auth_credentials_store": self.said("cli_auth_credentials_store"),
            "forced_login_method": self.said("forced_login_method"),
            "forced_chatgpt_workspace_id": (self.said("forced_chatgpt_workspace_id") or "").strip() or None,
        }

    def _warn_of_unfinished(self, on: frozenset[str]) -> None:
        if self.said("suppress_unstable_features_warning"):
            return
        path = os.path.join(self.settings.codex_home, "config.toml")
        warning = features.under_development_warning(self.values.get("features", {}), on, config_path=path)
        if warning is not None:
            self.warnings.append(warning)


def _only(table: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: table[key] for key in keys}


def _made(directory: str) -> str:
    try:
        os.makedirs(directory, exist_ok=True)
    except OSError as error:
        raise UserFacing(f"cannot create directory {directory}: {error.strerror} (os error {error.errno})") from None
    return directory


def _file_text(path: str | None, what: str) -> str | None:
    """The trimmed text of a file that the settings name. It must be there and say something."""
    if path is None:
        return None
    try:
        text = file_bytes(path).decode("utf-8").strip()
    except OSError as error:
        raise UserFacing(f"failed to read {what} {path}: {error.strerror} (os error {error.errno})") from None
    except UnicodeDecodeError:
        raise UserFacing(f"failed to read {what} {path}: stream did not contain valid UTF-8") from None
    if not text:
        raise UserFacing(f"{what} is empty: {path}")
    return text
