"""Which files count, and which beat which."""

from pathlib import Path
from typing import Any

import pytest

from pycodex.supervisor.config.early import BadConfig
from pycodex.supervisor.config.layers import Layered, load_layers


class Place:
    """A home, a system directory and a project to put configuration into."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("home", "etc", "ws/.git", "ws/.codex", "ws/sub/.codex"):
            (root / name).mkdir(parents=True)

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)

    def trust(self, name: str, level: str = "trusted", more: str = "") -> None:
        self.write("home/config.toml", f'{more}[projects."{self.root / name}"]\ntrust_level = "{level}"\n')

    def load(self, *overrides: str, cwd: str = "ws") -> Layered:
        env = {"CODEX_HOME": str(self.root / "home"), "HOME": str(self.root)}
        return load_layers(env=env, overrides=overrides, cwd=str(self.root / cwd), system_dir=str(self.root / "etc"))

    def values(self, *overrides: str, cwd: str = "ws") -> dict[str, Any]:
        values = self.load(*overrides, cwd=cwd).settings.values
        return {key: value for key, value in values.items() if key != "projects"}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


def test_each_layer_beats_those_below(place: Place) -> None:
    place.write("etc/config.toml", "model = '1'\nreview_model = 'system'\n")
    assert place.values()["model"] == "1"
    place.trust("ws", more="model = '2'\n")
    assert place.values()["model"] == "2"
    place.write("ws/.codex/config.toml", "model = '3'\n")
    assert place.values()["model"] == "3"
    place.write("ws/sub/.codex/config.toml", "model = '4'\n")
    assert (place.values()["model"], place.values(cwd="ws/sub")["model"]) == ("3", "4")
    assert place.values("model='5'", cwd="ws/sub")["model"] == "5"
    place.write("etc/managed_config.toml", "model = '6'\n")
    assert place.values("model='5'", cwd="ws/sub") == {"model": "6", "review_model": "system"}


@pytest.mark.parametrize(("level", "counts"), [("trusted", True), ("untrusted", False)])
def test_files_of_a_project_count_only_if_it_is_trusted(level: str, counts: bool, place: Place) -> None:
    place.trust("ws", level)
    place.write("ws/.codex/config.toml", "model = 'theirs'\n")
    layered = place.load()
    assert ("model" in layered.settings.values) is counts
    assert layered.ignored == (() if counts else (str(place.root / "ws/.codex/config.toml"),))


def test_trust_can_come_by_override(place: Place) -> None:
    place.write("ws/.codex/config.toml", "model = 'theirs'\n")
    assert place.values() == {}
    override = f'projects={{"{place.root / "ws"}"={{trust_level="trusted"}}}}'
    assert place.values(override)["model"] == "theirs"


def test_project_cannot_trust_itself(place: Place) -> None:
    place.write("ws/.codex/config.toml", f'[projects."{place.root / "ws"}"]\ntrust_level = "trusted"\n')
    assert place.load().trust_level is None


def test_project_cannot_move_its_own_root(place: Place) -> None:
    place.trust("ws")
    place.write("ws/.codex/config.toml", "project_root_markers = ['.codex']\n")
    assert place.load(cwd="ws/sub").project_root == str(place.root / "ws")


def test_without_markers_only_the_working_directory_counts(place: Place) -> None:
    place.trust("ws/sub", more="project_root_markers = []\n")
    place.write("ws/.codex/config.toml", "review_model = 'root'\n")
    place.write("ws/sub/.codex/config.toml", "model = 'sub'\n")
    assert place.values(cwd="ws/sub") == {"model": "sub", "project_root_markers": []}


def test_home_is_not_read_as_a_project(place: Place) -> None:
    place.trust("ws")
    place.write("home/config.toml", place.root.joinpath("home/config.toml").read_text() + "model = 'user'\n")
    (place.root / "ws/.codex").rmdir()
    (place.root / "ws/.codex").symlink_to(place.root / "home")
    assert len(place.load().settings.layers) == 2


def test_malformed_file_of_a_trusted_project_is_fatal(place: Place) -> None:
    place.trust("ws")
    place.write("ws/.codex/config.toml", 'model = "x\n')
    with pytest.raises(BadConfig) as caught:
        place.load()
    file = place.root / "ws/.codex/config.toml"
    lines = str(caught.value).split("\n")
    assert lines[0] == f"Error parsing project config file {file}: TOML parse error at line 1, column 11"
    assert lines[1:4] == ["  |", '1 | model = "x', "  |           ^"]


@pytest.mark.parametrize("level", ["untrusted", None])
def test_malformed_file_of_another_project_is_ignored(level: str | None, place: Place) -> None:
    if level:
        place.trust("ws", level)
    place.write("ws/.codex/config.toml", 'model = "x\n')
    assert place.values() == {}


def test_wrong_type_in_a_project_is_told_with_its_place(place: Place) -> None:
    place.trust("ws")
    place.write("ws/.codex/config.toml", "a = 1\nmodel = 3\n")
    with pytest.raises(BadConfig) as caught:
        place.load()
    assert caught.value.location == f"{place.root / 'ws/.codex/config.toml'}:2:9"


def test_wrong_type_that_a_higher_layer_replaces_does_not_matter(place: Place) -> None:
    place.write("home/config.toml", "model = 3\n")
    assert place.values("model=x") == {"model": "x"}


def test_relative_paths_mean_the_file_that_holds_them(place: Place) -> None:
    place.trust("ws", more="model_instructions_file = 'u.md'\n[profiles.p]\nzsh_path = 'zsh'\n")
    place.write(
        "ws/.codex/config.toml",
        "log_dir = 'logs'\n[[skills.config]]\npath = 's'\nenabled = true\n[agents.r]\nconfig_file = '../r.toml'\n",
    )
    place.write("etc/config.toml", "[otel.exporter.otlp-grpc]\nendpoint = 'e'\ntls = {ca-certificate = 'ca.pem'}\n")
    values = place.values("js_repl_node_module_dirs=['a','/b']", "sqlite_home=~/db")
    assert values["model_instructions_file"] == str(place.root / "home/u.md")
    assert values["profiles"] == {"p": {"zsh_path": str(place.root / "home/zsh")}}
    assert values["log_dir"] == str(place.root / "ws/.codex/logs")
    assert values["skills"]["config"][0]["path"] == str(place.root / "ws/.codex/s")
    assert values["agents"]["r"]["config_file"] == str(place.root / "ws/r.toml")
    assert values["otel"]["exporter"]["otlp-grpc"]["tls"] == {"ca-certificate": str(place.root / "etc/ca.pem")}
    assert values["js_repl_node_module_dirs"] == [str(place.root / "ws/a"), "/b"]
    assert values["sqlite_home"] == str(place.root / "db")
