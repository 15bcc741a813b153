"""The merged settings as clients are shown them: every known key is there, as null if nobody has set it.

Owns which defaults are shown in place of null, which are those of the reference: it tells few of them. What holds where
nothing is shown is in `defaults`. Pure: values that were checked against the schema in, values out.
"""

from collections.abc import Mapping
from typing import Any

from pycodex.supervisor.config.kinds import Choice, Either, Kind, Names, Sequence, Table
from pycodex.supervisor.config.schema import ROOT
from pycodex.supervisor.config.stack import plain

Place = tuple[str, ...]

ANY_NAME = "*"
# What is shown where a table that was set leaves a key out. Of the root: where it is not set.
_INSTEAD_OF_NULL: Mapping[Place, Any] = {
    **{(name,): {} for name in ("mcp_servers", "model_providers", "plugins", "profiles")},
    ("shell_environment_policy",): {},
    **{("apps", "_default", key): True for key in ("enabled", "destructive_enabled", "open_world_enabled")},
    ("apps", ANY_NAME, "enabled"): True,
    ("mcp_servers", ANY_NAME, "enabled"): True,
    ("model_providers", ANY_NAME, "wire_api"): "responses",
    **{("model_providers", ANY_NAME, key): False for key in ("requires_openai_auth", "supports_websockets")},
    ("notice", "model_migrations"): {},
    ("plugins", ANY_NAME, "enabled"): True,
    ("sandbox_workspace_write", "writable_roots"): [],
    **{
        ("sandbox_workspace_write", key): False
        for key in ("network_access", "exclude_tmpdir_env_var", "exclude_slash_tmp")
    },
    ("tool_suggest", "discoverables"): [],
    ("tui", "alternate_screen"): "auto",
    ("tui", "animations"): True,
    ("tui", "model_availability_nux"): {},
    ("tui", "notification_method"): "auto",
    ("tui", "notifications"): True,
    ("tui", "show_tooltips"): True,
    **{("approval_policy", "granular", key): False for key in ("skill_approval", "request_permissions")},
    **{
        ("otel", exporter, kind, "headers"): {}
        for exporter in ("exporter", "trace_exporter", "metrics_exporter")
        for kind in ("otlp-http", "otlp-grpc")
    },
}
# Tables of which only what is set is shown, besides these.
_SPARSE: Mapping[Place, tuple[str, ...]] = {
    ("mcp_servers", ANY_NAME): ("enabled", "tool_timeout_sec"),
    ("skills",): (),
    # Ours alone: clients of the reference do not expect it.
    ("sandbox",): (),
}
_OURS = ("sandbox",)


def shown(values: Mapping[str, Any]) -> dict[str, Any]:
    """What of the settings is known, and null for the rest."""
    told: dict[str, Any] = {}
    for key, kind in ROOT.fields.items():
        if key in values:
            told[key] = _shown(kind, values[key], (key,))
        elif key not in _OURS:
            told[key] = _unset(kind, (key,))
    return told


def _unset(kind: Kind, place: Place) -> Any:
    value = _INSTEAD_OF_NULL.get(place)
    return _shown(kind, value, place) if isinstance(value, dict) else value


def _shown(kind: Kind, value: Any, place: Place) -> Any:
    if isinstance(kind, Either):
        return _shown_either(kind, value, place)
    if isinstance(kind, Table) and isinstance(value, dict):
        return _shown_table(kind, value, place)
    if isinstance(kind, Names) and isinstance(value, dict):
        return {name: _shown(kind.item, item, (*place, ANY_NAME)) for name, item in value.items()}
    if isinstance(kind, Sequence) and isinstance(value, list):
        return [_shown(kind.item, item, (*place, ANY_NAME)) for item in value]
    if isinstance(kind, Choice) and isinstance(value, dict):
        return {word: _shown(kind.payloads[word], item, (*place, word)) for word, item in value.items()}
    return plain(value)


def _shown_either(kind: Either, value: Any, place: Place) -> Any:
    # An older switch that only its absence is told of.
    if place[-2:] == ("tools", "web_search") and isinstance(value, bool):
        return None
    tables = [each for each in kind.kinds if isinstance(each, Table | Names)]
    return _shown(tables[0], value, place) if tables and isinstance(value, dict) else plain(value)


def _shown_table(kind: Table, value: Mapping[str, Any], place: Place) -> dict[str, Any]:
    told: dict[str, Any] = {}
    sparse = _SPARSE.get(place)
    for key, field in kind.fields.items():
        if key in value:
            told[key] = _shown(field, value[key], (*place, key))
        elif sparse is None or key in sparse:
            told[key] = _unset(field, (*place, key))
    if kind.rest is not None:
        others = value.keys() - kind.fields.keys()
        told |= {name: _shown(kind.rest, value[name], (*place, ANY_NAME)) for name in sorted(others)}
    return _settled_server(told) if place == ("mcp_servers", ANY_NAME) else told


def _settled_server(server: dict[str, Any]) -> dict[str, Any]:
    """A server's two older spellings are told as one."""
    milliseconds = server.pop("startup_timeout_ms", None)
    if milliseconds is not None:
        server.setdefault("startup_timeout_sec", milliseconds / 1000)
    if "command" in server:
        server.setdefault("args", [])
    for key in ("startup_timeout_sec", "tool_timeout_sec"):
        if server.get(key) is not None:
            server[key] = float(server[key])
    return server
