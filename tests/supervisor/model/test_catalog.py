"""What is known of a model, by its name."""

import json
from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.model_info import TruncationPolicy
from pycodex.supervisor.model.catalog import BadCatalog, Catalog, ModelSettings, read_catalog, unknown_model_warning

CATALOG = Catalog()


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("gpt-5.4", "gpt-5.4"),
        ("gpt-5.4-turbo", "gpt-5.4"),
        ("gpt-5.1-codex-max-2", "gpt-5.1-codex-max"),
        ("gpt-5.1-codex-m", "gpt-5.1-codex"),
        ("gpt-5-mini", "gpt-5"),
        ("acme/gpt-5.4-turbo", "gpt-5.4"),
        ("ac_me9/gpt-oss-20b", "gpt-oss-20b"),
    ],
)
def test_longest_beginning_is_found(name: str, slug: str) -> None:
    info = CATALOG.find(name)
    assert (info.slug, info.is_known) == (slug, True)


@pytest.mark.parametrize(
    "name", ["nope", "GPT-5.4", "a/b/gpt-5.4", "a-b/gpt-5.4", "/gpt-5.4", "ü/gpt-5.4", "gpt-oss:20b", "gpt-4", ""]
)
def test_unknown_name_has_a_stand_in(name: str) -> None:
    info = CATALOG.find(name)
    assert (info.slug, info.is_known) == (name, False)
    assert (info.context_window, info.truncation) == (272_000, TruncationPolicy("bytes", 10_000))
    assert (info.apply_patch_tool_type, info.supports_reasoning_summaries) == (None, False)
    assert (info.supports_parallel_tool_calls, info.supports_verbosity, info.takes_images) == (False, False, True)
    assert (info.default_reasoning_effort, info.supported_reasoning_efforts, info.shell_type) == (None, (), "default")


def test_warning_names_the_model() -> None:
    assert unknown_model_warning("m") == (
        "Model metadata for `m` not found. Defaulting to fallback metadata; this can degrade performance and cause "
        "issues."
    )


XHIGH = ("low", "medium", "high", "xhigh")
LMH = ("low", "medium", "high")
MH = ("medium", "high")


@pytest.mark.parametrize(
    ("slug", "mode", "parallel", "verbosity", "efforts"),
    [
        ("gpt-5.3-codex", "tokens", True, "low", XHIGH),
        ("gpt-5.4", "tokens", True, "low", XHIGH),
        ("gpt-5.2-codex", "tokens", True, None, XHIGH),
        ("gpt-5.1-codex-max", "tokens", False, None, XHIGH),
        ("gpt-5.1-codex", "tokens", False, None, LMH),
        ("gpt-5.2", "bytes", True, "low", XHIGH),
        ("gpt-5.1", "bytes", True, "low", LMH),
        ("gpt-5-codex", "tokens", False, None, LMH),
        ("gpt-5", "bytes", False, None, ("minimal", *LMH)),
        ("gpt-oss-120b", "bytes", False, None, LMH),
        ("gpt-oss-20b", "bytes", False, None, LMH),
        ("gpt-5.1-codex-mini", "tokens", False, None, MH),
        ("gpt-5-codex-mini", "tokens", False, None, MH),
    ],
)
def test_facts(slug: str, mode: str, parallel: bool, verbosity: str | None, efforts: tuple[str, ...]) -> None:
    info = CATALOG.find(slug)
    assert info.display_name == slug
    assert info.truncation == TruncationPolicy(mode, 10_000)
    assert (info.supports_parallel_tool_calls, info.default_verbosity) == (parallel, verbosity)
    assert (info.supported_reasoning_efforts, info.default_reasoning_effort) == (efforts, "medium")
    assert info.default_reasoning_summary == ("none" if slug in ("gpt-5.4", "gpt-5.3-codex") else "auto")
    assert info.apply_patch_tool_type == (None if slug == "gpt-5" else "freeform")
    assert info.shell_type == ("default" if slug in ("gpt-5", "gpt-oss-120b", "gpt-oss-20b") else "shell_command")
    assert info.takes_images == (not slug.startswith("gpt-oss"))
    assert info.context_window == (128_000 if slug.startswith("gpt-oss") else 272_000)


def test_every_model_offered_once_in_order_with_one_default() -> None:
    offered = list(CATALOG.offered())
    assert [model.info.slug for model in offered if not model.is_hidden] == [
        *("gpt-5.3-codex", "gpt-5.4", "gpt-5.2-codex", "gpt-5.1-codex-max", "gpt-5.2", "gpt-5.1-codex-mini")
    ]
    assert [model.info.slug for model in offered if model.is_default] == ["gpt-5.3-codex"]
    assert {model.upgrade for model in offered} == {None, "gpt-5.4", "gpt-5.3-codex"}
    assert len(offered) == 13
    assert all(model.info.description for model in offered)


@pytest.mark.parametrize(
    ("settings", "window", "limit"),
    [
        (ModelSettings(), 272_000, 244_800),
        (ModelSettings(context_window=1000), 1000, 900),
        (ModelSettings(auto_compact_token_limit=200), 272_000, 200),
        (ModelSettings(auto_compact_token_limit=999_999), 272_000, 244_800),
        (ModelSettings(context_window=1000, auto_compact_token_limit=950), 1000, 900),
    ],
)
def test_window_and_compaction(settings: ModelSettings, window: int, limit: int) -> None:
    info = CATALOG.find("gpt-5.4", settings)
    assert (info.context_window, info.auto_compact_token_limit) == (window, limit)


def test_other_settings() -> None:
    settings = ModelSettings(tool_output_token_limit=50, supports_reasoning_summaries=True)
    assert CATALOG.find("gpt-5.4", settings).truncation == TruncationPolicy("tokens", 50)
    assert CATALOG.find("gpt-5.2", settings).truncation == TruncationPolicy("bytes", 200)
    assert CATALOG.find("unknown", settings).supports_reasoning_summaries
    turned_off = ModelSettings(supports_reasoning_summaries=False)
    assert CATALOG.find("gpt-5.4", turned_off).supports_reasoning_summaries


# A catalogue of the user's

LEAST: dict[str, Any] = {
    "slug": "own",
    "display_name": "Own",
    "truncation_policy": {"mode": "bytes", "limit": 500},
    "shell_type": "local",
    "supports_reasoning_summaries": False,
}


def written(folder: Path, value: object) -> str:
    path = folder / "models.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


@pytest.mark.parametrize(("kind", "images"), [(None, False), ("text", False), ("text_and_image", True)])
def test_what_a_search_may_answer_with(tmp_path: Path, kind: str | None, images: bool) -> None:
    catalog = read_catalog(written(tmp_path, {"models": [{**LEAST, "web_search_tool_type": kind}]}))
    assert catalog.find("own", ModelSettings()).searches_images == images


def test_file_replaces_our_models(tmp_path: Path) -> None:
    first = {
        **LEAST,
        "slug": "own-2",
        "priority": 1,
        "visibility": "list",
        "context_window": 5000,
        "supported_reasoning_levels": [{"effort": "low", "description": "d"}],
        "base_instructions": "Be ours.",
        "upgrade": {"model": "own", "migration_markdown": "m"},
    }
    catalog = read_catalog(written(tmp_path, {"models": [{**LEAST, "priority": 2}, first]}))
    info = catalog.find("own-2-x")
    assert (info.display_name, info.context_window, info.base_instructions) == ("Own", 5000, "Be ours.")
    assert info.supported_reasoning_efforts == ("low",)
    assert not catalog.find("gpt-5.4").is_known
    assert [(model.info.slug, model.is_hidden, model.upgrade) for model in catalog.offered()] == [
        ("own-2", False, "own"),
        ("own", True, None),
    ]


def test_file_says_nothing_of_what_it_leaves_out(tmp_path: Path) -> None:
    info = read_catalog(written(tmp_path, {"models": [LEAST]})).find("own")
    assert (info.context_window, info.apply_patch_tool_type, info.default_reasoning_effort) == (None, None, None)
    assert (info.auto_compact_token_limit, info.supported_reasoning_efforts) == (None, ())


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ([], "must hold an object"),
        ({"models": []}, "at least one model"),
        ({"models": [5]}, r"model \[0\] that is no object"),
        ({"models": [LEAST, {"slug": "x"}]}, r"model \[1\] without `display_name`"),
        ({"models": [{**LEAST, "slug": ""}]}, "without `slug`"),
        ({"models": [{**LEAST, "context_window": "big"}]}, "`context_window` is of the wrong type: expected int"),
        ({"models": [{**LEAST, "truncation_policy": {"mode": "words", "limit": 1}}]}, "`truncation_policy` is not"),
        ({"models": [{**LEAST, "truncation_policy": {"mode": "bytes"}}]}, "`truncation_policy` is not"),
        ({"models": [{**LEAST, "supported_reasoning_levels": [{}]}]}, "no `effort`"),
    ],
)
def test_bad_file_is_refused_by_name(content: object, reason: str, tmp_path: Path) -> None:
    path = written(tmp_path, content)
    with pytest.raises(BadCatalog, match=reason) as caught:
        read_catalog(path)
    assert str(caught.value).startswith(f"model_catalog_json: {path} ")


def test_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(BadCatalog, match="cannot be read: No such file or directory"):
        read_catalog(str(tmp_path / "none.json"))
