"""`pycodex features` lists what holds and changes one line of config.toml."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.cli import Ended

Call = Callable[..., Ended]


def states(listing: str) -> dict[str, str]:
    return {line.split()[0]: line.split()[-1] for line in listing.splitlines()}


def test_list_shows_what_the_configuration_says(pycodex: Call, home: Path) -> None:
    (home / "config.toml").write_text("[features]\nundo = true\n[profiles.p.features]\nunified_exec = false\n")
    ended = pycodex("features", "list")
    assert (ended.code, ended.err) == (0, "")
    assert "undo                             stable             true" in ended.out.splitlines()
    assert list(states(ended.out)) == sorted(states(ended.out))
    assert states(ended.out)["unified_exec"] == "true"
    assert states(pycodex("-p", "p", "features", "list").out)["unified_exec"] == "false"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--enable", "js_repl", "features", "list"),
        ("features", "-c", "features.js_repl=true", "list"),
        ("features", "list", "--enable", "js_repl"),
    ],
)
def test_list_heeds_flags_wherever_they_stand(pycodex: Call, arguments: tuple[str, ...]) -> None:
    assert states(pycodex(*arguments).out)["js_repl"] == "true"


def test_enable_and_disable_keep_the_rest(pycodex: Call, home: Path) -> None:
    file = home / "config.toml"
    file.write_text('model = "m" # mine\n')
    assert pycodex("features", "enable", "undo").out == "Enabled feature `undo` in config.toml.\n"
    assert file.read_text() == 'model = "m" # mine\n\n[features]\nundo = true\n'
    assert pycodex("features", "disable", "undo").out == "Disabled feature `undo` in config.toml.\n"
    assert "undo" not in file.read_text(), "what is off by itself needs no line"
    pycodex("features", "disable", "unified_exec")
    assert "unified_exec = false" in file.read_text()


def test_profile_gets_a_table_of_its_own(pycodex: Call, home: Path) -> None:
    pycodex("-p", "x", "features", "enable", "memories")
    assert (home / "config.toml").read_text() == "[profiles.x.features]\nmemories = true\n"
    pycodex("-p", "x", "features", "disable", "memories")
    assert (home / "config.toml").read_text() == "[profiles.x.features]\nmemories = false\n"


def test_unfinished_feature_is_warned_of(pycodex: Call, home: Path) -> None:
    ended = pycodex("features", "enable", "memories")
    assert ended.code == 0
    assert ended.err.startswith("Under-development features enabled: memories. ")
    assert f"in {home}/config.toml." in ended.err


def test_older_name_is_written_as_it_was_typed(pycodex: Call, home: Path) -> None:
    assert pycodex("features", "enable", "memory_tool").err == ""
    assert "memory_tool = true" in (home / "config.toml").read_text()
    pycodex("features", "disable", "memory_tool")
    assert "memory_tool = false" in (home / "config.toml").read_text()


def test_unknown_feature_changes_nothing(pycodex: Call, home: Path) -> None:
    ended = pycodex("features", "enable", "nope")
    assert (ended.code, ended.err) == (1, "Error: Unknown feature flag: nope\n")
    assert not (home / "config.toml").exists()


@pytest.mark.parametrize("command", [("list",), ("enable", "undo")])
def test_file_that_is_no_toml_is_told(pycodex: Call, home: Path, command: tuple[str, ...]) -> None:
    (home / "config.toml").write_text("model = \n")
    ended = pycodex("features", *command)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"Error: {home}/config.toml:1:9: ")
    assert (home / "config.toml").read_text() == "model = \n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "List the feature flags"),
        (("nope",), "error: unrecognized subcommand 'nope'"),
        (("enable",), "error: the following required arguments were not provided:\n  <FEATURE>"),
        (("enable", "undo", "b"), "error: unexpected argument 'b' found"),
        (("list", "x"), "error: unexpected argument 'x' found"),
    ],
)
def test_wrong_usage_is_told_on_stderr(pycodex: Call, arguments: tuple[str, ...], message: str) -> None:
    ended = pycodex("features", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(message)


@pytest.mark.parametrize("arguments", [("help",), ("--help",), ("list", "--help")])
def test_help_is_an_answer(pycodex: Call, arguments: tuple[str, ...]) -> None:
    ended = pycodex("features", *arguments)
    assert (ended.code, ended.err) == (0, "")
    assert "disable <FEATURE>" in ended.out
