"""Where skills are found, and which of them the model is told of."""

import os
from pathlib import Path

import pytest

from pycodex.supervisor.context import skills as skills_module
from pycodex.supervisor.context.skills import (
    ADMIN,
    REPO,
    SYSTEM,
    USER,
    Found,
    Root,
    Skill,
    disabled_paths,
    find_skills,
    listing,
    skill_roots,
)


def write_skill(folder: Path, name: str, description: str = "d") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\nBody of {name}.\n")
    return str(folder / "SKILL.md")


def names(found: Found) -> list[str]:
    return [skill.name for skill in found.skills]


def test_roots_in_their_order() -> None:
    roots = skill_roots(["/p", "/p/q"], codex_home="/h/.codex", home="/h", system_dir="/h/.codex/skills/.system")
    assert [(root.path, root.scope) for root in roots] == [
        ("/p/.codex/skills", REPO),
        ("/p/q/.codex/skills", REPO),
        ("/h/.codex/skills", USER),
        ("/h/.agents/skills", USER),
        ("/h/.codex/skills/.system", SYSTEM),
        ("/etc/codex/skills", ADMIN),
        ("/p/.agents/skills", REPO),
        ("/p/q/.agents/skills", REPO),
    ]


def test_the_home_is_no_project_and_bundled_skills_can_be_off() -> None:
    roots = skill_roots(["/h"], codex_home="/h/.codex", home="/h", system_dir=None)
    assert [(root.path, root.scope) for root in roots if "/.codex/" in root.path] == [("/h/.codex/skills", USER)]


def test_listed_by_scope_then_name(tmp_path: Path) -> None:
    for scope, name in ((USER, "b"), (USER, "a"), (ADMIN, "0"), (SYSTEM, "c"), (REPO, "z")):
        write_skill(tmp_path / scope / name, name)
    roots = [Root(str(tmp_path / scope), scope) for scope in (USER, ADMIN, SYSTEM, REPO)]
    assert names(find_skills(roots)) == ["z", "a", "b", "c", "0"]


def test_scan_has_a_depth_and_skips_dots(tmp_path: Path) -> None:
    write_skill(tmp_path, "root")
    write_skill(tmp_path / "1/2/3/4/5/6", "six")
    write_skill(tmp_path / "1/2/3/4/5/6/7", "seven")
    write_skill(tmp_path / ".dot", "dot")
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "skill.md").write_text("---\nname: lower\ndescription: d\n---\n")
    assert names(find_skills([Root(str(tmp_path), USER)])) == ["root", "six"]


def test_scan_has_a_breadth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skills_module, "MAX_DIRECTORIES", 3)
    for name in ("a", "b", "c"):
        write_skill(tmp_path / name, name)
    assert names(find_skills([Root(str(tmp_path), USER)])) == ["a", "b"]


@pytest.mark.parametrize(("scope", "found"), [(USER, ["inner", "linked"]), (SYSTEM, [])])
def test_links_to_directories_are_followed_but_not_among_system_skills(
    tmp_path: Path, scope: str, found: list[str]
) -> None:
    path = write_skill(tmp_path / "elsewhere", "linked")
    write_skill(tmp_path / "elsewhere" / "inner", "inner")
    root = tmp_path / "skills"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "elsewhere")
    (root / "again").symlink_to(root)
    (root / "file").mkdir()
    (root / "file" / "SKILL.md").symlink_to(path)
    result = find_skills([Root(str(root), scope)])
    assert names(result) == found
    assert [skill.path for skill in result.skills if skill.name == "linked"] == ([path] if found else [])


def test_a_file_counts_once_for_the_first_root(tmp_path: Path) -> None:
    write_skill(tmp_path / "real" / "a", "a")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    found = find_skills([Root(str(tmp_path / "link"), REPO), Root(str(tmp_path / "real"), USER)])
    assert [(skill.name, skill.scope) for skill in found.skills] == [("a", REPO)]


def test_bad_files_are_reported_and_others_still_load(tmp_path: Path) -> None:
    write_skill(tmp_path / "good", "good")
    for name, data in (("none", b"x\n"), ("utf", b"---\nname: u\ndescription: \xff\n---\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_bytes(data)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "SKILL.md")
    found = find_skills([Root(str(tmp_path), USER)])
    assert names(found) == ["good"]
    assert {Path(error.path).parent.name: error.message for error in found.errors} == {
        "none": "missing YAML frontmatter delimited by ---",
        "utf": "failed to read file: it is not valid UTF-8",
    }
    assert find_skills([Root(str(tmp_path), SYSTEM)]).errors == ()


def test_a_huge_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skills_module, "MAX_SKILL_BYTES", 10)
    write_skill(tmp_path / "a", "a")
    (error,) = find_skills([Root(str(tmp_path), USER)]).errors
    assert "larger than 10 bytes" in error.message


def test_missing_roots_are_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert find_skills([Root(str(tmp_path / "no"), USER), Root(str(tmp_path / "file"), USER)]) == Found((), ())


def test_disabled_by_configuration(tmp_path: Path) -> None:
    paths = [write_skill(tmp_path / name, name) for name in ("a", "b", "c")]
    (tmp_path / "link").symlink_to(tmp_path / "a")
    disabled = disabled_paths(
        [
            {"path": str(tmp_path / "link" / "SKILL.md"), "enabled": False},
            {"path": paths[1], "enabled": False},
            {"path": paths[1], "enabled": True},
            {"path": 3, "enabled": False},
            {"path": paths[2]},
        ]
    )
    found = find_skills([Root(str(tmp_path), USER)], disabled)
    assert [(skill.name, skill.enabled) for skill in found.skills] == [("a", False), ("b", True), ("c", True)]


@pytest.mark.parametrize(
    ("policy", "is_listed"),
    [
        ("policy:\n  allow_implicit_invocation: false\n", False),
        ("policy:\n  allow_implicit_invocation: true\n", True),
        ("policy: [allow_implicit_invocation]\n", True),
        ("allow_implicit_invocation: {\n", True),
        ("interface:\n  display_name: x\n", True),
        ("", True),
    ],
)
def test_a_skill_may_ask_not_to_be_listed(tmp_path: Path, policy: str, is_listed: bool) -> None:
    write_skill(tmp_path / "a", "a")
    (tmp_path / "a" / "agents").mkdir()
    (tmp_path / "a" / "agents" / "openai.yaml").write_text(policy)
    (skill,) = find_skills([Root(str(tmp_path), USER)]).skills
    assert skill.is_listed == is_listed
    assert (listing([skill]) is not None) == is_listed


def test_list_for_the_model(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_skill(tmp_path / name, name, f"about {name}")
    found = find_skills([Root(str(tmp_path), USER)], {str(tmp_path / "b" / "SKILL.md")})
    text = listing(found.skills)
    assert text is not None
    assert f"- a: about a (file: {tmp_path}/a/SKILL.md)" in text.splitlines()
    assert "about b" not in text
    assert listing(()) is None


def test_list_does_not_grow_with_what_a_project_brings() -> None:
    brought = [Skill(name=f"n{n}", description="d" * 1000, path=f"/{n}", scope=REPO) for n in range(100)]
    own = Skill(name="own", description="of the user", path="/own", scope=USER)
    text = listing([*brought, own])
    assert text is not None
    assert "- n0: " in text
    assert "- n99: " not in text
    assert "- own: of the user (file: /own)" in text.splitlines()
