"""How a skill wants to be shown, and which tools it needs: its `agents/openai.yaml`.

Owns the format and its limits. Whoever wrote the skill wrote this file, so what does not fit is passed over: a bad
icon must not cost the skill. Gives JSON for clients; nothing here is told to a model.
"""

import os
import re
from typing import Any

from pycodex.supervisor.workspace.regular_file import read_whole

FILE = os.path.join("agents", "openai.yaml")
_MAX_BYTES = 64 << 10
_MAX_CHARACTERS = {"display_name": 64, "short_description": 1024, "default_prompt": 1024}
_MAX_TOOLS = 64
_COLOR = re.compile(r"#[0-9a-fA-F]{6}")
_TOOL_TEXTS = ("type", "value", "description", "transport", "command", "url")


def read_interface(skill_path: str) -> dict[str, Any]:
    """The keys `interface` and `dependencies`, as far as the file beside the skill has something to say."""
    directory = os.path.dirname(skill_path)
    parsed = _parsed(os.path.join(directory, FILE))
    told = {"interface": _interface(parsed.get("interface"), directory)}
    told["dependencies"] = _dependencies(parsed.get("dependencies"))
    return {key: value for key, value in told.items() if value is not None}


def _parsed(path: str) -> dict[str, Any]:
    try:
        text = read_whole(path, _MAX_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        return {}
    import yaml

    try:
        parsed = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _interface(given: Any, directory: str) -> dict[str, Any] | None:
    if not isinstance(given, dict):
        return None
    color = given.get("brand_color")
    told = {
        "displayName": _line(given, "display_name"),
        "shortDescription": _line(given, "short_description"),
        "iconSmall": _icon(given.get("icon_small"), directory),
        "iconLarge": _icon(given.get("icon_large"), directory),
        "brandColor": color if isinstance(color, str) and _COLOR.fullmatch(color) else None,
        "defaultPrompt": _line(given, "default_prompt"),
    }
    return told if any(value is not None for value in told.values()) else None


def _line(given: dict[str, Any], key: str) -> str | None:
    value = given.get(key)
    text = " ".join(value.split()) if isinstance(value, str) else ""
    return text if 0 < len(text) <= _MAX_CHARACTERS[key] else None


def _icon(value: Any, directory: str) -> str | None:
    """A file among the skill's own."""
    if not isinstance(value, str) or not value or "\0" in value or os.path.isabs(value):
        return None
    path = os.path.normpath(value)
    return os.path.join(directory, path) if path.startswith("assets" + os.sep) else None


def _dependencies(given: Any) -> dict[str, Any] | None:
    tools = given.get("tools") if isinstance(given, dict) else None
    if not isinstance(tools, list):
        return None
    told = [_tool(tool) for tool in tools[:_MAX_TOOLS] if isinstance(tool, dict)]
    needed = [tool for tool in told if "type" in tool and "value" in tool]
    return {"tools": needed} if needed else None


def _tool(given: dict[str, Any]) -> dict[str, str]:
    return {key: given[key] for key in _TOOL_TEXTS if isinstance(given.get(key), str) and given[key]}
