"""Which rules a directory has, before and after a new file."""

from pathlib import Path

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config.config import Config, Flags
from pycodex.supervisor.config.load import load_config
from pycodex.supervisor.policy.rule_language import Source
from pycodex.supervisor.policy.rule_pairs import RulePair, RulePairs

NEW = Source(path="new.rules", text='prefix_rule(["new"])\n')


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve()
    for name in ("home/rules", "a/.git", "a/.codex/rules", "b/.git", "c/.git", "etc"):
        (root / name).mkdir(parents=True)
    (root / "home/rules/u.rules").write_text('prefix_rule(["mine"])\n')
    (root / "a/.codex/rules/p.rules").write_text('prefix_rule(["project"])\n')
    (root / "home/config.toml").write_text(f'[projects."{root}/a"]\ntrust_level = "trusted"\n')
    return root


def pairs(root: Path, *, replaces_own: bool = False) -> RulePairs:
    def config_at(directory: str) -> Config:
        if directory.endswith("/nowhere"):
            raise UserFacing("cannot be used")
        env = {"CODEX_HOME": str(root / "home"), "HOME": str(root)}
        return load_config(env=env, overrides=(), cwd=directory, flags=Flags(), system_dir=str(root / "etc"))

    return RulePairs(NEW, config_at, replaces_own=replaces_own, system_dir=str(root / "etc"))


def programs(pair: RulePair | None) -> tuple[list[str], list[str]]:
    assert pair is not None
    before, after = ([rule.program for rule in each.rules.prefix_rules] for each in pair)
    return before, after


def test_new_file_joins_the_others(root: Path) -> None:
    found = pairs(root)
    assert programs(found.at(str(root / "a"))) == (["mine", "project"], ["mine", "new", "project"])
    assert programs(found.at(str(root / "b"))) == (["mine"], ["mine", "new"])


def test_new_file_replaces_those_of_the_user_only(root: Path) -> None:
    found = pairs(root, replaces_own=True)
    assert programs(found.at(str(root / "a"))) == (["mine", "project"], ["new", "project"])
    assert programs(found.at(str(root / "b"))) == (["mine"], ["new"])


def test_directories_with_the_same_files_share_their_rules(root: Path) -> None:
    found = pairs(root)
    assert found.at(str(root / "b")) is found.at(str(root / "c"))
    assert found.at(str(root / "b" / "gone")) is found.at(str(root / "b"))


def test_directory_that_cannot_be_used_is_told(root: Path) -> None:
    (root / "a/.codex/rules/p.rules").write_text('prefix_rule(["x"], "nope")\n')
    found = pairs(root)
    assert (found.at(str(root / "a")), found.at("/nowhere")) == (None, None)
    assert list(found.problems) == [str(root / "a"), "/nowhere"]
    assert "invalid decision: nope" in found.problems[str(root / "a")]
