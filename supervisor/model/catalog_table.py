"""What is known of the models at version 0.116: a table, in the order in which models are offered.

Owns the facts only. Each entry has the keys of a catalogue file (`model_catalog_json`); what an entry leaves out is in
`DEFAULTS`.
"""

from collections.abc import Mapping
from typing import Any

DEFAULTS: Mapping[str, Any] = {
    "context_window": 272_000,
    "truncation_policy": {"mode": "tokens", "limit": 10_000},
    "shell_type": "shell_command",
    "apply_patch_tool_type": "freeform",
    "supports_reasoning_summaries": True,
    "default_reasoning_level": "medium",
    "supported_reasoning_levels": ("low", "medium", "high"),
    "visibility": "list",
}
_TO_XHIGH = ("low", "medium", "high", "xhigh")
_BYTES = {"mode": "bytes", "limit": 10_000}
_NEWEST: Mapping[str, Any] = {
    "supported_reasoning_levels": _TO_XHIGH,
    "support_verbosity": True,
    "default_verbosity": "low",
    "default_reasoning_summary": "none",
    "supports_parallel_tool_calls": True,
    "supports_image_detail_original": True,
    "supports_personality": True,
}
_OPEN_WEIGHTS: Mapping[str, Any] = {
    "context_window": 128_000,
    "truncation_policy": _BYTES,
    "shell_type": "default",
    "support_verbosity": True,
    "input_modalities": ("text",),
    "visibility": "hide",
}

MODELS: tuple[Mapping[str, Any], ...] = (
    {
        **_NEWEST,
        "slug": "gpt-5.3-codex",
        "description": "Made for coding work that runs for long without help.",
        "upgrade": "gpt-5.4",
    },
    {**_NEWEST, "slug": "gpt-5.4", "description": "The most capable model, for code and everything else."},
    {
        "slug": "gpt-5.2-codex",
        "description": "An earlier coding model.",
        "supports_personality": True,
        "supported_reasoning_levels": _TO_XHIGH,
        "supports_parallel_tool_calls": True,
        "upgrade": "gpt-5.4",
    },
    {
        "slug": "gpt-5.1-codex-max",
        "description": "An earlier coding model with room for deep reasoning.",
        "supported_reasoning_levels": _TO_XHIGH,
        "upgrade": "gpt-5.4",
    },
    {
        "slug": "gpt-5.1-codex",
        "description": "An earlier coding model.",
        "visibility": "hide",
        "upgrade": "gpt-5.3-codex",
    },
    {
        "slug": "gpt-5.2",
        "description": "An earlier general model.",
        "supported_reasoning_levels": _TO_XHIGH,
        "truncation_policy": _BYTES,
        "support_verbosity": True,
        "default_verbosity": "low",
        "supports_parallel_tool_calls": True,
        "upgrade": "gpt-5.4",
    },
    {
        "slug": "gpt-5.1",
        "description": "An earlier general model.",
        "truncation_policy": _BYTES,
        "support_verbosity": True,
        "default_verbosity": "low",
        "supports_parallel_tool_calls": True,
        "visibility": "hide",
        "upgrade": "gpt-5.3-codex",
    },
    {
        "slug": "gpt-5-codex",
        "description": "The first coding model of its line.",
        "visibility": "hide",
        "upgrade": "gpt-5.3-codex",
    },
    {
        "slug": "gpt-5",
        "description": "The first general model of its line.",
        "supported_reasoning_levels": ("minimal", "low", "medium", "high"),
        "truncation_policy": _BYTES,
        "shell_type": "default",
        "apply_patch_tool_type": None,
        "support_verbosity": True,
        "visibility": "hide",
        "upgrade": "gpt-5.3-codex",
    },
    {**_OPEN_WEIGHTS, "slug": "gpt-oss-120b", "description": "Open weights, the larger one."},
    {**_OPEN_WEIGHTS, "slug": "gpt-oss-20b", "description": "Open weights, the smaller one."},
    {
        "slug": "gpt-5.1-codex-mini",
        "description": "Small, quick and cheap.",
        "supported_reasoning_levels": ("medium", "high"),
        "upgrade": "gpt-5.4",
    },
    {
        "slug": "gpt-5-codex-mini",
        "description": "An earlier small model.",
        "supported_reasoning_levels": ("medium", "high"),
        "visibility": "hide",
        "upgrade": "gpt-5.3-codex",
    },
)
