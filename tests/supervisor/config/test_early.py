"""The home, `-c` and config.toml, read without any schema."""

import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pycodex.supervisor.config import early
from support.interpreter import modules_loaded_by

LOAD = "from pycodex.supervisor.config import early; early.load({'CODEX_HOME': sys.argv[1]}, sys.argv[2:], cwd='/')"


def load(home: Path, *overrides: str, cwd: str = "/work") -> early.Settings:
    return early.load({"CODEX_HOME": str(home), "HOME": "/home/u"}, overrides, cwd=cwd)


def test_explicit_home_must_exist(tmp_path: Path) -> None:
    missing = tmp_path / "none"
    with pytest.raises(early.BadHome) as caught:
        early.codex_home({"CODEX_HOME": str(missing)})
    assert str(caught.value) == f'CODEX_HOME points to "{missing}", but that path does not exist'


def test_explicit_home_must_be_a_directory(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(early.BadHome) as caught:
        early.codex_home({"CODEX_HOME": str(file)})
    assert str(caught.value) == f'CODEX_HOME points to "{file}", but that path is not a directory'


def test_explicit_home_is_made_canonical(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert early.codex_home({"CODEX_HOME": str(tmp_path / "link")}) == str((tmp_path / "real").resolve())


@pytest.mark.parametrize("given_home", [{}, {"CODEX_HOME": ""}])
def test_default_home_may_be_missing(given_home: dict[str, str], tmp_path: Path) -> None:
    assert early.codex_home({"HOME": str(tmp_path), **given_home}) == str(tmp_path.resolve() / ".codex")


@pytest.mark.parametrize(
    ("text", "keys", "value"),
    [
        ("model=o3", ("model",), "o3"),
        (" model = o3 ", ("model",), "o3"),
        ('model="o3"', ("model",), "o3"),
        ("model=[1", ("model",), "[1"),
        ("model=", ("model",), ""),
        ("model='x", ("model",), "x"),
        ("a.b.c=true", ("a", "b", "c"), True),
        ("a=false", ("a",), False),
        ("a=True", ("a",), "True"),
        ("a=true # why", ("a",), True),
        ("n=12", ("n",), 12),
        ("n=0", ("n",), 0),
        ("n=-3", ("n",), -3),
        ("n=+3", ("n",), 3),
        ("n=007", ("n",), "007"),
        ("n=1_000", ("n",), 1000),
        ("n=0x1f", ("n",), 31),
        ("n=9223372036854775807", ("n",), 9223372036854775807),
        ("n=9223372036854775808", ("n",), "9223372036854775808"),
        ("n=1.5", ("n",), 1.5),
        ("n=nano", ("n",), "nano"),
        ("l=[1, 2]", ("l",), [1, 2]),
        ('t={a=1, "b c"=2}', ("t",), {"a": 1, "b c": 2}),
        ("p=/usr/bin", ("p",), "/usr/bin"),
        ("u=http://x?a=b", ("u",), "http://x?a=b"),
        ('projects."/p".trust=1', ("projects", '"/p"', "trust"), 1),
        ("use_legacy_landlock=true", ("features", "use_legacy_landlock"), True),
    ],
)
def test_override_is_read_as_the_reference_does(text: str, keys: tuple[str, ...], value: object) -> None:
    assert early.parse_override(text) == (keys, value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("foo", "Invalid override (missing '='): foo"),
        ("=1", "Empty key in override: =1"),
        (" = 1", "Empty key in override:  = 1"),
    ],
)
def test_bad_override_is_named(text: str, message: str) -> None:
    with pytest.raises(early.BadOverride) as caught:
        early.parse_override(text)
    assert str(caught.value) == message


@settings(database=None)
@given(st.text(alphabet="truefalsinf0123456789+-_.:/~@%#\"'[]{}= \n\txX", max_size=12))
def test_values_read_without_the_parser_are_those_of_the_parser(raw: str) -> None:
    raw = raw.strip()
    try:
        expected = tomllib.loads(f"_x_ = {raw}")["_x_"]
    except ValueError:
        expected = raw.strip("\"'")
    assert repr(early.override_value(raw)) == repr(expected)


def test_parser_is_not_loaded_for_plain_values(tmp_path: Path) -> None:
    loaded = modules_loaded_by(LOAD, str(tmp_path), "a.b=true", "c=12", "d=workspace-write", "e=/tmp/x")
    assert "tomllib" not in loaded


def test_parser_is_loaded_for_a_file(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("a = 1\n")
    assert "tomllib" in modules_loaded_by(LOAD, str(tmp_path))


def test_overrides_beat_the_file_key_by_key(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("a = 1\n[t]\nx = 1\ny = [1, 2]\n")
    settings = load(tmp_path, "t.y=[3]", "t.z=new", "a.b=2")
    assert settings.values == {"a": {"b": 2}, "t": {"x": 1, "y": [3], "z": "new"}}


def test_later_override_wins(tmp_path: Path) -> None:
    assert load(tmp_path, "a.b=1", "a.b=2").get("a", "b") == 2


def test_relative_roots_mean_the_place_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[sandbox_workspace_write]\nwritable_roots = ["rel", "~/x", "/abs"]\n')
    roots = ("sandbox_workspace_write", "writable_roots")
    assert load(tmp_path).paths(*roots) == (str(tmp_path / "rel"), "/home/u/x", "/abs")
    assert load(tmp_path, 'sandbox_workspace_write.writable_roots=["rel"]').paths(*roots) == ("/work/rel",)


def test_wrong_type_in_an_override_is_told_in_two_lines(tmp_path: Path) -> None:
    settings = load(tmp_path, "sandbox_workspace_write.network_access=3")
    with pytest.raises(early.BadConfig) as caught:
        settings.boolean("sandbox_workspace_write", "network_access")
    assert str(caught.value) == (
        "invalid type: integer `3`, expected a boolean\nin `sandbox_workspace_write.network_access`\n"
    )


def test_wrong_type_in_a_file_is_told_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[sandbox_workspace_write]\nnetwork_access = "yes"\n')
    with pytest.raises(early.BadConfig) as caught:
        load(tmp_path).boolean("sandbox_workspace_write", "network_access")
    assert str(caught.value) == (
        f'{file}:2:18: invalid type: string "yes", expected a boolean\n\nCaused by:\n'
        '    invalid type: string "yes", expected a boolean\n    in `sandbox_workspace_write.network_access`'
    )


def test_list_of_something_else_is_told(tmp_path: Path) -> None:
    with pytest.raises(early.BadConfig, match="invalid type: integer `3`, expected path string"):
        load(tmp_path, "sandbox_workspace_write.writable_roots=[3]").paths("sandbox_workspace_write", "writable_roots")


def test_key_below_a_value_that_is_no_table_is_told(tmp_path: Path) -> None:
    with pytest.raises(early.BadConfig, match="invalid type: integer `3`, expected a map"):
        load(tmp_path, "sandbox=3").boolean("sandbox", "landlock_only")


def test_syntax_error_is_told_with_its_frame(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('model = "x"\nmodel = "y"\n')
    with pytest.raises(early.BadConfig) as caught:
        load(tmp_path)
    assert caught.value.location == f"{file}:2:1"
    assert str(caught.value) == (
        f"{file}:2:1: duplicate key\n\nCaused by:\n    TOML parse error at line 2, column 1\n"
        '      |\n    2 | model = "y"\n      | ^^^^^\n    duplicate key'
    )


def test_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(early.BadConfig) as caught:
        load(tmp_path)
    assert str(caught.value) == f"Failed to read config file {file}: stream did not contain valid UTF-8"


def test_directory_in_place_of_the_file_is_told(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.mkdir()
    with pytest.raises(early.BadConfig) as caught:
        load(tmp_path)
    assert str(caught.value) == f"Failed to read config file {file}: Is a directory (os error 21)"


def test_pipe_in_place_of_the_file_does_not_hold_us_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.toml")
    with pytest.raises(early.BadConfig, match="not a regular file"):
        load(tmp_path)


def test_file_too_large_to_be_a_configuration_is_told(tmp_path: Path) -> None:
    with (tmp_path / "config.toml").open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(early.BadConfig, match="larger than"):
        load(tmp_path)


def test_layers_are_not_changed_by_merging(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[t]\nx = 1\n")
    settings = load(tmp_path, "t.x=2")
    assert [layer.values for layer in settings.layers] == [{"t": {"x": 1}}, {"t": {"x": 2}}]
