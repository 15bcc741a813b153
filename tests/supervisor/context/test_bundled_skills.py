"""Our own skills lie where others look for them, beside those of other programs."""

import os
from pathlib import Path

import pytest

from pycodex.supervisor.context.bundled_skills import MARKER, removed, unpacked
from pycodex.supervisor.context.skills import SYSTEM, Root, find_skills, listing
from pycodex.supervisor.prompts.load import BUNDLED_SKILLS_DIR

NAMES = sorted(os.listdir(BUNDLED_SKILLS_DIR))


def tree(base: Path) -> dict[str, bytes]:
    return {str(path.relative_to(base)): path.read_bytes() for path in base.rglob("*") if path.is_file()}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which Codex has unpacked its own."""
    system = tmp_path / "skills" / ".system"
    (system / "theirs").mkdir(parents=True)
    (system / "theirs" / "SKILL.md").write_text("---\nname: theirs\ndescription: d\n---\n")
    (system / ".codex-system-skills.marker").write_text("0123456789abcdef\n")
    return tmp_path


def test_unpacked_beside_those_of_codex(home: Path) -> None:
    before = tree(home)
    target = unpacked(str(home))
    assert target == str(home / "skills" / ".system")
    after = tree(home)
    assert {name: after[name] for name in before} == before
    ours = {f"skills/.system/{name}/SKILL.md" for name in NAMES}
    assert set(after) - set(before) == {f"skills/.system/{MARKER}", *ours}
    found = find_skills([Root(target, SYSTEM)])
    assert [skill.name for skill in found.skills] == sorted([*NAMES, "theirs"])


def test_a_second_start_writes_nothing(home: Path) -> None:
    unpacked(str(home))
    system = home / "skills" / ".system"
    before = {path: path.stat().st_ino for path in system.rglob("*")}
    unpacked(str(home))
    assert {path: path.stat().st_ino for path in system.rglob("*")} == before


@pytest.mark.parametrize("damage", ["marker", "file", "all"])
def test_what_is_old_or_missing_is_unpacked_again(home: Path, damage: str) -> None:
    unpacked(str(home))
    before = tree(home)
    system = home / "skills" / ".system"
    if damage == "marker":
        (system / MARKER).write_text("old")
        (system / NAMES[0] / "SKILL.md").write_text("old")
    else:
        (system / NAMES[0] / "SKILL.md").unlink()
        if damage == "all":
            (system / MARKER).unlink()
    unpacked(str(home))
    assert tree(home) == before


def test_a_home_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "skills").write_text("in the way")
    target = unpacked(str(tmp_path))
    assert target == BUNDLED_SKILLS_DIR
    assert [skill.name for skill in find_skills([Root(target, SYSTEM)]).skills] == NAMES


def test_a_link_in_place_of_our_file_is_replaced_and_not_written_through(home: Path) -> None:
    victim = home / "victim"
    victim.write_text("keep")
    folder = home / "skills" / ".system" / NAMES[0]
    folder.mkdir()
    (folder / "SKILL.md").symlink_to(victim)
    unpacked(str(home))
    assert victim.read_text() == "keep"
    assert not (folder / "SKILL.md").is_symlink()


def test_removed_takes_only_ours_away(home: Path) -> None:
    before = tree(home)
    removed(str(home))
    unpacked(str(home))
    removed(str(home))
    assert tree(home) == before
    assert sorted(path.name for path in (home / "skills" / ".system").iterdir()) == sorted(
        [".codex-system-skills.marker", "theirs"]
    )


def test_bundled_skills_are_good_ones() -> None:
    found = find_skills([Root(BUNDLED_SKILLS_DIR, "user")])
    assert found.errors == ()
    assert [skill.name for skill in found.skills] == NAMES
    assert listing(found.skills) is not None
