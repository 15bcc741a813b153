"""Setting single values: what is written, what is refused, and what has no effect."""

from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config import values
from pycodex.supervisor.config.values import Change, ConfigFile, WriteRefused, Written, set_skill

TEXT = '# kept\nmodel = "m"\n\n[tui]\ntheme = "x" # kept too\n'


class User:
    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.system = root / "etc"
        self.home.mkdir()
        self.system.mkdir()
        self.file = self.home / "config.toml"

    def write(self, *changes: tuple[str, Any, str], overrides: tuple[str, ...] = (), **more: Any) -> Written:
        file = ConfigFile(
            env={"CODEX_HOME": str(self.home), "HOME": str(self.home)},
            overrides=overrides,
            cwd=str(self.home.parent),
            system_dir=str(self.system),
        )
        return file.write([Change(*change) for change in changes], **more)


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path.resolve())


def test_comments_stay(user: User) -> None:
    user.file.write_text(TEXT)
    written = user.write(("model", "n", "replace"), ("tui.animations", False, "upsert"))
    assert written.path == str(user.file)
    assert user.file.read_text() == '# kept\nmodel = "n"\n\n[tui]\ntheme = "x" # kept too\nanimations = false\n'


def test_a_missing_file_is_made(user: User) -> None:
    user.write(("model", "n", "replace"))
    assert user.file.read_text() == 'model = "n"\n'


def test_null_takes_a_key_away(user: User) -> None:
    user.file.write_text(TEXT)
    user.write(("model", None, "replace"), ("tui.theme", None, "upsert"))
    assert "model" not in user.file.read_text()
    assert "theme" not in user.file.read_text()


def test_upsert_merges_tables_and_replace_replaces_them(user: User) -> None:
    user.file.write_text('[profiles.a]\nmodel = "1"\n')
    user.write(("profiles", {"b": {"model": "2"}}, "upsert"))
    assert user.file.read_text().count("[profiles.") == 2
    user.write(("profiles", {"c": {"model": "3"}}, "replace"))
    text = user.file.read_text()
    assert 'model = "3"' in text
    assert 'model = "1"' not in text


def test_the_answered_version_is_that_of_the_next_read(user: User) -> None:
    first = user.write(("sandbox_workspace_write.writable_roots", ["relative"], "replace"))
    second = user.write(("model", "n", "replace"), expected_version=first.version)
    assert user.write(expected_version=second.version).version == second.version


def test_a_file_that_was_changed_meanwhile_is_left_alone(user: User) -> None:
    version = user.write(("model", "a", "replace")).version
    user.file.write_text('model = "b"\n')
    with pytest.raises(WriteRefused) as raised:
        user.write(("model", "c", "replace"), expected_version=version)
    assert raised.value.code == values.VERSION_CONFLICT
    assert user.file.read_text() == 'model = "b"\n'


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (("", 1, "replace"), values.VALIDATION_ERROR, "keyPath must not be empty"),
        (("nope.x", None, "replace"), values.PATH_NOT_FOUND, "Path not found"),
        (("model.x", 1, "replace"), values.VALIDATION_ERROR, "cannot set value on non-table parent"),
        (
            ("model", [None], "replace"),
            values.VALIDATION_ERROR,
            "invalid value: invalid type: null, expected any valid TOML value",
        ),
        (("x", 1 << 63, "replace"), values.VALIDATION_ERROR, "invalid value: u64 value was too large"),
        (
            ("features.apps", "kk", "replace"),
            values.VALIDATION_ERROR,
            'Invalid configuration: invalid type: string "kk", expected a boolean\nin `features`\n',
        ),
        (
            ("approval_policy", "sometimes", "replace"),
            values.VALIDATION_ERROR,
            (
                "Invalid configuration: unknown variant `sometimes`, expected one of `untrusted`, `on-failure`, "
                "`on-request`, `granular`, `never`\nin `approval_policy`\n"
            ),
        ),
        ((".".join("a" * 65), 1, "replace"), values.VALIDATION_ERROR, "keyPath of 65 parts is deeper than 64"),
    ],
)
def test_nonsense_is_refused_and_nothing_written(
    user: User, change: tuple[str, Any, str], code: str, message: str
) -> None:
    user.file.write_text(TEXT)
    with pytest.raises(WriteRefused) as raised:
        user.write(("review_model", "r", "replace"), change)
    assert (raised.value.code, raised.value.message) == (code, message)
    assert user.file.read_text() == TEXT


def test_deep_values_are_refused_before_they_hurt(user: User) -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    with pytest.raises(WriteRefused, match="nested deeper"):
        user.write(("x", deep, "replace"))


def test_only_the_users_own_file_is_written(user: User, tmp_path: Path) -> None:
    with pytest.raises(WriteRefused) as raised:
        user.write(("model", "n", "replace"), file_path=str(tmp_path / "other.toml"))
    assert raised.value.code == values.LAYER_READONLY
    user.write(("model", "n", "replace"), file_path=str(user.file))


def test_a_link_to_the_file_is_the_file(user: User, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(user.home)
    user.write(("model", "n", "replace"), file_path=str(tmp_path / "link" / "config.toml"))
    assert user.file.exists()


def test_what_a_higher_layer_says_otherwise_is_told(user: User) -> None:
    written = user.write(("model", "n", "replace"), overrides=("model=flag",))
    assert written.overridden is not None
    assert written.overridden.message == "Overridden by session flags"
    assert written.overridden.effective_value == "flag"
    (user.system / "managed_config.toml").write_text('sandbox_mode = "read-only"\n')
    managed = user.write(("sandbox_mode", "workspace-write", "replace")).overridden
    assert managed is not None
    assert managed.message == f"Overridden by legacy managed_config.toml: {user.system}/managed_config.toml"


def test_what_a_lower_layer_says_is_no_obstacle(user: User) -> None:
    (user.system / "config.toml").write_text('model = "system"\n')
    assert user.write(("model", "n", "replace")).overridden is None
    gone = user.write(("model", None, "replace")).overridden
    assert gone is not None
    assert gone.message == f"Overridden by managed config (system): {user.system}/config.toml"


def test_a_broken_file_is_told(user: User) -> None:
    user.file.write_text("[")
    with pytest.raises(UserFacing):
        user.write(("model", "n", "replace"))


def test_skills_are_turned_off_by_an_entry_and_on_by_none(user: User) -> None:
    user.file.write_text(TEXT)
    set_skill(str(user.home), "/a/SKILL.md", enabled=False)
    set_skill(str(user.home), "/b/SKILL.md", enabled=False)
    set_skill(str(user.home), "/b/SKILL.md", enabled=False)
    assert user.file.read_text().count("[[skills.config]]") == 2
    set_skill(str(user.home), "/a/SKILL.md", enabled=True)
    set_skill(str(user.home), "/b/SKILL.md", enabled=True)
    set_skill(str(user.home), "/c/SKILL.md", enabled=True)
    assert user.file.read_text().strip() == TEXT.strip()
