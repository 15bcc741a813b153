"""Skills as a configuration has them."""

from pathlib import Path

from pycodex.supervisor.config.config import Config, Flags
from pycodex.supervisor.config.load import load_config
from pycodex.supervisor.context.configured_skills import configured_skills


def skill(folder: Path, name: str) -> Path:
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\nname: {name}\ndescription: does {name}\n---\n")
    return path


def configured(root: Path, text: str) -> Config:
    home = root / "home"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(text)
    env = {"CODEX_HOME": str(home), "HOME": str(root)}
    (root / "ws").mkdir(exist_ok=True)
    return load_config(env=env, overrides=(), cwd=str(root / "ws"), flags=Flags())


def test_extra_roots_are_the_users_and_entries_turn_skills_off(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    off = skill(root / "home" / "skills", "off")
    skill(root / "ws" / ".agents" / "skills", "of_repo")
    skill(root / "extra", "more")
    text = f'[skills.bundled]\nenabled = false\n[[skills.config]]\npath = "{off}"\nenabled = false\n'
    found = configured_skills(configured(root, text), {"HOME": str(root)}, extra_user_roots=[str(root / "extra")])
    assert [(each.name, each.scope, each.enabled) for each in found.skills] == [
        ("of_repo", "repo", True),
        ("more", "user", True),
        ("off", "user", False),
    ]


def test_bundled_skills_are_unpacked(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    found = configured_skills(configured(root, ""), {"HOME": str(root)})
    assert {each.scope for each in found.skills} == {"system"}
