"""Edits change what they name and nothing else, neither in the file nor around it."""

import multiprocessing
import os
import stat
import tomllib
from pathlib import Path

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config.early import BadConfig
from pycodex.supervisor.config.edit import Edit, Put, Remove, edit_config, edited

UNDO_ON = Put(("features", "undo"), True)


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        ("", UNDO_ON, "[features]\nundo = true\n"),
        ('model = "x" # mine\n', UNDO_ON, 'model = "x" # mine\n\n[features]\nundo = true\n'),
        ("[a]\nb = 1\n", UNDO_ON, "[a]\nb = 1\n\n[features]\nundo = true\n"),
        ("[features]\n# why\na = 1 # c\n\n[b]\n", UNDO_ON, "[features]\n# why\na = 1 # c\nundo = true\n\n[b]\n"),
        ("[features]\nundo = false # off\n", UNDO_ON, "[features]\nundo = true # off\n"),
        ("features.a = true # c\n", UNDO_ON, "features.a = true # c\nfeatures.undo = true\n"),
        ("features = {}\n", UNDO_ON, "features = {undo = true}\n"),
        ("", Put(("profiles", "x", "features", "undo"), True), "[profiles.x.features]\nundo = true\n"),
        ("", Put(("model",), 'a "b"\n'), 'model = "a \\"b\\"\\n"\n'),
        ("[t]\n", Put(("projects", "/a b"), {"trust_level": "trusted"}), None),
        ("[features]\n# why\nundo = true # c\n\n[b]\n", Remove(("features", "undo")), "[features]\n# why\n\n[b]\n"),
        ("features = { undo = true, a = 1 } # c\n", Remove(("features", "undo")), None),
        ("a = 1", Remove(("features", "undo")), "a = 1"),
        ("[profiles.x]\na = 1\n[z]\n[profiles.y]\n", Put(("profiles", "x", "b"), 2), None),
        ("[[x]]\na = 1\n[x.y]\n", UNDO_ON, None),
        ("a = 1\r\n# c\r\n", UNDO_ON, None),
    ],
)
def test_file_after_an_edit(before: str, edit: Edit, after: str | None) -> None:
    result = edited(before, [edit])
    if after is not None:
        assert result == after
    wanted = tomllib.loads(before)
    holder = wanted
    for key in edit.keys[:-1]:
        holder = holder.setdefault(key, {}) if isinstance(edit, Put) else holder.get(key, {})
    if isinstance(edit, Put):
        holder[edit.keys[-1]] = edit.value
    else:
        holder.pop(edit.keys[-1], None)
    assert tomllib.loads(result) == wanted
    assert [line for line in before.splitlines() if line.startswith("#")] == [
        line for line in result.splitlines() if line.startswith("#")
    ]


def test_value_where_a_table_should_be_is_left_alone() -> None:
    with pytest.raises(UserFacing, match="`features` is not a table there"):
        edited("features = 3\n", [UNDO_ON])


def test_new_file_is_for_its_owner_only(tmp_path: Path) -> None:
    home = tmp_path / "home"
    edit_config(str(home), [UNDO_ON])
    assert stat.S_IMODE((home / "config.toml").stat().st_mode) == 0o600
    assert (home / "config.toml").read_text() == "[features]\nundo = true\n"
    assert os.listdir(home) == ["config.toml"]


def test_mode_of_the_file_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("a = 1\n")
    file.chmod(0o640)
    edit_config(str(tmp_path), [UNDO_ON])
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_link_is_followed_and_stays_one(tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles" / "codex.toml"
    kept.parent.mkdir()
    kept.write_text("# mine\n")
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").symlink_to("../dotfiles/codex.toml")
    edit_config(str(home), [UNDO_ON])
    assert (home / "config.toml").is_symlink()
    assert kept.read_text() == "# mine\n\n[features]\nundo = true\n"
    assert os.listdir(kept.parent) == ["codex.toml"]


def test_link_to_nothing_makes_its_target(tmp_path: Path) -> None:
    (tmp_path / "config.toml").symlink_to("elsewhere/codex.toml")
    edit_config(str(tmp_path), [UNDO_ON])
    assert (tmp_path / "elsewhere" / "codex.toml").read_text() == "[features]\nundo = true\n"


def test_nothing_to_change_writes_nothing(tmp_path: Path) -> None:
    edit_config(str(tmp_path), [Remove(("features", "undo"))])
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("text", ["model = \n", '[a]\n[a]\nb = "'])
def test_file_that_is_no_toml_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(BadConfig):
        edit_config(str(tmp_path), [UNDO_ON])
    assert (tmp_path / "config.toml").read_text() == text
    assert os.listdir(tmp_path) == ["config.toml"]


def test_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(UserFacing, match="cannot write"):
        edit_config(str(tmp_path / "home"), [UNDO_ON])


def test_of_edits_at_the_same_time_none_is_lost(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    edits = [[Put(("features", f"f{number}"), True)] for number in range(6)]
    with context.Pool(3) as pool:
        pool.starmap(edit_config, [(str(tmp_path), edit) for edit in edits])
    values = tomllib.loads((tmp_path / "config.toml").read_text())
    assert values["features"].keys() == {f"f{number}" for number in range(6)}
