"""Every setting with its source."""

from pathlib import Path

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config.explain import MASK, Row, Said, explained
from pycodex.supervisor.config.layers import load_layers


def rows(
    root: Path,
    *overrides: str,
    text: str = "",
    key: str | None = None,
    profile: str | None = None,
    env: dict[str, str] | None = None,
) -> list[Row]:
    for folder in ("home", "etc", "ws"):
        (root / folder).mkdir(exist_ok=True)
    (root / "home/config.toml").write_text(text)
    given = {"CODEX_HOME": str(root / "home"), "HOME": str(root), **(env or {})}
    layered = load_layers(env=given, overrides=overrides, cwd=str(root / "ws"), system_dir=str(root / "etc"))
    return explained(layered, profile=profile, env=given, key=key)


def test_what_holds_comes_first_and_the_rest_in_order(tmp_path: Path) -> None:
    file = tmp_path / "home/config.toml"
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/config.toml").write_text("\nmodel = 'system'\n")
    text = "model = 'user'\n[profiles.p]\nmodel = 'profile'\n"
    assert rows(tmp_path, "model=flag", text=text, key="model", profile="p") == [
        Row(
            "model",
            Said('"profile"', f"profile p ({file}:3)"),
            (
                Said('"flag"', "-c"),
                Said('"user"', f"{file}:1"),
                Said('"system"', f"{tmp_path / 'etc/config.toml'}:2"),
            ),
        )
    ]


def test_profile_named_by_a_layer_counts(tmp_path: Path) -> None:
    found = rows(tmp_path, "profile=p", text="[profiles.p]\nmodel = 'm'\n", key="model")
    assert found[0].effective == Said('"m"', f"profile p ({tmp_path / 'home/config.toml'}:2)")


def test_profile_that_a_lower_layer_spoils_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/config.toml").write_text("[profiles]\np = 3\n")
    found = rows(tmp_path, text="[profiles.p]\nmodel = 'm'\n", key="model", profile="p")
    assert found == [Row("model", Said('"m"', f"profile p ({tmp_path / 'home/config.toml'}:2)"))]


def test_defaults_are_named_as_such(tmp_path: Path) -> None:
    assert rows(tmp_path, key="project_doc_max_bytes") == [Row("project_doc_max_bytes", Said("32768", "default"))]
    reason = "default (no trust is recorded for this directory)"
    assert rows(tmp_path, key="sandbox_mode") == [Row("sandbox_mode", Said('"read-only"', reason))]


def test_known_key_without_value_or_default(tmp_path: Path) -> None:
    assert rows(tmp_path, key="model_verbosity") == [Row("model_verbosity", None)]


def test_prefix_gives_all_below_it(tmp_path: Path) -> None:
    found = rows(tmp_path, "history={persistence='none',max_bytes=3}", key="history")
    assert [(row.key, row.effective) for row in found] == [
        ("history.max_bytes", Said("3", "-c")),
        ("history.persistence", Said('"none"', "-c")),
    ]


def test_features_are_listed_with_their_stages_and_older_names(tmp_path: Path) -> None:
    found = {row.key: row.effective for row in rows(tmp_path, "features.collab=false", key="features")}
    assert len(found) == 52
    assert found["features.multi_agent"] == Said("false", "-c")
    assert found["features.undo"] == Said("false", "default (stable)")


@pytest.mark.parametrize(
    "text",
    [
        "[model_providers.m]\nname = 'm'\nexperimental_bearer_token = 'hush'",
        "[model_providers.m]\nname = 'm'\nhttp_headers = {a = 'hush'}",
        "[model_providers.m]\nname = 'm'\nquery_params = {a = 'hush'}",
        "[mcp_servers.s]\ncommand = 'x'\nenv = {A = 'hush'}",
        "[mcp_servers.s]\nurl = 'x'\nhttp_headers = {A = 'hush'}",
        "[mcp_servers.s]\nurl = 'https://me:hu@hush@h.example/mcp'",
        "[mcp_servers.s]\nurl = 'https://h.example/mcp?key=hush&x=y'",
        "[shell_environment_policy.set]\nA = 'hush'",
        "[otel]\nexporter = {otlp-grpc = {endpoint = 'e', headers = {a = 'hush'}}}",
        "my_api_key = 'hush'",
        "[profiles.p]\npassword = 'hush'",
    ],
)
def test_secrets_are_masked(text: str, tmp_path: Path) -> None:
    found = repr(rows(tmp_path, text=text))
    assert "hush" not in found
    assert MASK in found


def test_names_of_variables_and_limits_are_no_secrets(tmp_path: Path) -> None:
    text = "tool_output_token_limit = 5\n[model_providers.m]\nname = 'm'\nenv_http_headers = {h = 'VARIABLE'}\n"
    text += "[mcp_servers.s]\nurl = 'https://h.example/@me'\n[mcp_servers.t]\ncommand = 'is it?that'\n"
    found = repr(rows(tmp_path, text=text))
    assert MASK not in found
    assert "VARIABLE" in found


def test_choice_that_is_a_table_is_replaced_as_a_whole(tmp_path: Path) -> None:
    text = "approval_policy = {granular = {sandbox_approval = true, rules = true, mcp_elicitations = true}}\n"
    found = rows(tmp_path, "approval_policy=never", text=text, key="approval_policy")
    assert [row.key for row in found] == ["approval_policy"]
    assert found[0].effective == Said('"never"', "-c")


def test_administrator_has_the_last_word(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/requirements.toml").write_text("allowed_sandbox_modes = ['read-only']\n[features]\nundo = true\n")
    source = str(tmp_path / "etc/requirements.toml")
    found = rows(tmp_path, "sandbox_mode=workspace-write", key="sandbox_mode")[0]
    assert (found.effective, found.shadowed[0]) == (Said('"read-only"', source), Said('"workspace-write"', "-c"))
    assert rows(tmp_path, key="features.undo")[0].effective == Said("true", source)


def test_address_from_the_environment_is_shown(tmp_path: Path) -> None:
    found = rows(tmp_path, key="openai_base_url", env={"OPENAI_BASE_URL": "http://e"})
    assert found == [Row("openai_base_url", Said('"http://e"', "OPENAI_BASE_URL (deprecated)"))]


def test_keys_that_need_quotes(tmp_path: Path) -> None:
    text = "[projects.'/a.b']\ntrust_level = 'trusted'\n"
    assert [row.key for row in rows(tmp_path, text=text, key="projects")] == ['projects."/a.b".trust_level']
    assert rows(tmp_path, text=text, key='projects."/a.b".trust_level')[0].effective is not None


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("modle", "unknown key `modle`; did you mean `model`?"),
        ("history.persistance", "unknown key `history.persistance`; did you mean `history.persistence`?"),
        ("model.x", "unknown key `model.x`"),
        ("qqqq.a", "unknown key `qqqq.a`"),
    ],
)
def test_unknown_key_is_told(key: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserFacing) as caught:
        rows(tmp_path, key=key)
    assert str(caught.value) == message


def test_long_value_is_cut(tmp_path: Path) -> None:
    found = rows(tmp_path, text=f"model = '{'x' * 500}'\n", key="model")[0].effective
    assert found is not None
    assert len(found.value) == 72
    assert found.value.endswith("…")
