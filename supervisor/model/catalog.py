"""What we know of a model, by its name.

Owns the look-up, the stand-in for unknown names, the user's own catalogue file and the settings that overrule it. Reads
at most that one file; gives `ModelInfo`, made only for the models that are asked for.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.model_info import BYTES, TOKENS, ModelInfo, TruncationPolicy
from pycodex.supervisor.model.catalog_table import DEFAULTS, MODELS

_MOST_FILE_BYTES = 16 << 20
_FALLBACK_WINDOW = 272_000
_REQUIRED = ("slug", "display_name", "truncation_policy", "shell_type", "supports_reasoning_summaries")
_KINDS: Mapping[str, tuple[type, ...]] = {
    "slug": (str,),
    "display_name": (str,),
    "description": (str,),
    "context_window": (int,),
    "effective_context_window_percent": (int,),
    "auto_compact_token_limit": (int,),
    "truncation_policy": (dict,),
    "shell_type": (str,),
    "apply_patch_tool_type": (str,),
    "supports_parallel_tool_calls": (bool,),
    "supports_reasoning_summaries": (bool,),
    "default_reasoning_level": (str,),
    "supported_reasoning_levels": (list, tuple),
    "default_reasoning_summary": (str,),
    "support_verbosity": (bool,),
    "default_verbosity": (str,),
    "input_modalities": (list, tuple),
    "supports_image_detail_original": (bool,),
    "supports_search_tool": (bool,),
    "web_search_tool_type": (str,),
    "experimental_supported_tools": (list, tuple),
    "base_instructions": (str,),
    "visibility": (str,),
    "priority": (int,),
}


class BadCatalog(UserFacing):
    """The file that `model_catalog_json` names cannot be used."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"model_catalog_json: {path} {reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Settings that overrule what the catalogue says."""

    context_window: int | None = None
    auto_compact_token_limit: int | None = None
    tool_output_token_limit: int | None = None
    supports_reasoning_summaries: bool | None = None


NO_SETTINGS = ModelSettings()


class OfferedModel(NamedTuple):
    """A model in the list that a person chooses from. `upgrade` names the one to take instead."""

    info: ModelInfo
    is_hidden: bool
    is_default: bool
    upgrade: str | None
    supports_personality: bool
    """Whether it can be asked for another tone."""


class Catalog:
    """Models in the order in which they are offered."""

    def __init__(self, entries: Sequence[Mapping[str, Any]] = MODELS) -> None:
        self._entries = entries

    def find(self, name: str, settings: ModelSettings = NO_SETTINGS) -> ModelInfo:
        """The model whose name is the longest beginning of this one, with or without a `namespace/` before it."""
        entry = self._longest_beginning(name)
        if entry is None:
            namespace, slash, rest = name.partition("/")
            if slash and namespace.replace("_", "a").isalnum() and namespace.isascii():
                entry = self._longest_beginning(rest)
        return _info(entry if entry is not None else _unknown(name), settings, is_known=entry is not None)

    def _longest_beginning(self, name: str) -> Mapping[str, Any] | None:
        fitting = (entry for entry in self._entries if name.startswith(entry["slug"]))
        return max(fitting, key=lambda entry: len(entry["slug"]), default=None)

    def default_name(self) -> str:
        """The model of a person who chose none."""
        name: str = next(filter(_is_listed, self._entries), self._entries[0])["slug"]
        return name

    def offered(self) -> Iterator[OfferedModel]:
        default = self.default_name()
        for entry in self._entries:
            upgrade = entry.get("upgrade")
            yield OfferedModel(
                info=_info(entry, NO_SETTINGS, is_known=True),
                is_hidden=not _is_listed(entry),
                is_default=entry["slug"] == default,
                upgrade=upgrade.get("model") if isinstance(upgrade, Mapping) else upgrade,
                supports_personality=bool(entry.get("supports_personality")) or _has_tones(entry.get("model_messages")),
            )


def unknown_model_warning(name: str) -> str:
    return (
        f"Model metadata for `{name}` not found. Defaulting to fallback metadata; this can degrade performance and "
        "cause issues."
    )


def _is_listed(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("visibility", DEFAULTS["visibility"]) == "list")


def _has_tones(messages: object) -> bool:
    """How a catalogue file says it: its instructions leave a place for one of several texts."""
    if not isinstance(messages, Mapping):
        return False
    template, variables = messages.get("instructions_template"), messages.get("instructions_variables")
    return isinstance(template, str) and "{{ personality }}" in template and isinstance(variables, Mapping)


def _unknown(name: str) -> Mapping[str, Any]:
    return {
        "slug": name,
        "context_window": _FALLBACK_WINDOW,
        "truncation_policy": {"mode": BYTES, "limit": 10_000},
        "shell_type": "default",
        "apply_patch_tool_type": None,
        "supports_reasoning_summaries": False,
        "default_reasoning_level": None,
        "supported_reasoning_levels": (),
    }


def _info(entry: Mapping[str, Any], settings: ModelSettings, *, is_known: bool) -> ModelInfo:
    facts = {**DEFAULTS, **entry}
    window = settings.context_window or facts["context_window"]
    return ModelInfo(
        slug=facts["slug"],
        display_name=facts.get("display_name") or facts["slug"],
        description=facts.get("description") or "",
        context_window=window,
        effective_context_window_percent=_or(facts.get("effective_context_window_percent"), 95),
        auto_compact_token_limit=_compact_limit(facts, settings, window),
        truncation=_truncation(facts["truncation_policy"], settings.tool_output_token_limit),
        shell_type=facts["shell_type"],
        apply_patch_tool_type=facts["apply_patch_tool_type"],
        supports_parallel_tool_calls=bool(facts.get("supports_parallel_tool_calls")),
        supports_reasoning_summaries=bool(
            settings.supports_reasoning_summaries or facts["supports_reasoning_summaries"]
        ),
        default_reasoning_effort=facts["default_reasoning_level"],
        supported_reasoning_efforts=tuple(facts["supported_reasoning_levels"]),
        default_reasoning_summary=facts.get("default_reasoning_summary") or "auto",
        supports_verbosity=bool(facts.get("support_verbosity")),
        default_verbosity=facts.get("default_verbosity"),
        input_modalities=tuple(_or(facts.get("input_modalities"), ("text", "image"))),
        supports_image_detail_original=bool(facts.get("supports_image_detail_original")),
        supports_search_tool=bool(facts.get("supports_search_tool")),
        searches_images=facts.get("web_search_tool_type") == "text_and_image",
        experimental_supported_tools=tuple(facts.get("experimental_supported_tools") or ()),
        base_instructions=facts.get("base_instructions"),
        is_known=is_known,
    )


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _compact_limit(facts: Mapping[str, Any], settings: ModelSettings, window: int | None) -> int | None:
    """Where the context is compacted: what was asked for, but never above nine tenths of the window."""
    asked: int | None = settings.auto_compact_token_limit or facts.get("auto_compact_token_limit")
    if window is None:
        return asked
    most = window * 9 // 10
    return most if asked is None else min(asked, most)


def _truncation(policy: Mapping[str, Any], token_limit: int | None) -> TruncationPolicy:
    mode, limit = policy["mode"], policy["limit"]
    if token_limit is not None:
        limit = token_limit * 4 if mode == BYTES else token_limit
    return TruncationPolicy(mode, limit)


# A catalogue of the user's


def read_catalog(path: str) -> Catalog:
    """The catalogue in a file; it replaces ours as a whole."""
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_FILE_BYTES + 1)
    except OSError as error:
        raise BadCatalog(path, f"cannot be read: {error.strerror}") from None
    if len(data) > _MOST_FILE_BYTES:
        raise BadCatalog(path, f"is larger than {_MOST_FILE_BYTES} bytes")
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError):
        raise BadCatalog(path, "is not valid JSON") from None
    models = parsed.get("models") if isinstance(parsed, dict) else None
    if not isinstance(models, list) or not models:
        raise BadCatalog(path, 'must hold an object {"models": [...]} with at least one model')
    entries = [_checked(path, number, model) for number, model in enumerate(models)]
    return Catalog(sorted(entries, key=lambda entry: entry.get("priority", 99)))


def _checked(path: str, number: int, model: object) -> dict[str, Any]:
    where = f"has a model [{number}]"
    if not isinstance(model, dict):
        raise BadCatalog(path, f"{where} that is no object")
    missing = [name for name in _REQUIRED if model.get(name) in (None, "")]
    if missing:
        raise BadCatalog(path, f"{where} without `{missing[0]}`")
    for name, kinds in _KINDS.items():
        value = model.get(name)
        if value is not None and type(value) not in kinds:
            raise BadCatalog(path, f"{where} whose `{name}` is of the wrong type: expected {kinds[0].__name__}")
    policy = model["truncation_policy"]
    if policy.get("mode") not in (BYTES, TOKENS) or type(policy.get("limit")) is not int or policy["limit"] < 0:
        raise BadCatalog(
            path, f'{where} whose `truncation_policy` is not {{"mode": "bytes"|"tokens", "limit": number}}'
        )
    levels = [
        level.get("effort") if isinstance(level, dict) else level
        for level in model.get("supported_reasoning_levels") or ()
    ]
    if not all(type(level) is str for level in levels):
        raise BadCatalog(path, f"{where} with a reasoning level that has no `effort`")
    plain = dict.fromkeys(("context_window", "apply_patch_tool_type", "default_reasoning_level"))
    return {**plain, "visibility": "none", **model, "supported_reasoning_levels": levels}
