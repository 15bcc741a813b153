"""Which skills an input calls for, as seen on the reference."""

from pathlib import Path

import pytest

from pycodex.protocol.items import texts_of
from pycodex.protocol.user_input import Mention, Text, UserInput
from pycodex.protocol.user_input import Skill as SkillInput
from pycodex.supervisor.context.skill_mentions import called_for, injected
from pycodex.supervisor.context.skills import USER, Skill


def skill(folder: str, name: str = "", *, enabled: bool = True) -> Skill:
    return Skill(name=name or folder, description="d", path=f"/s/{folder}/SKILL.md", scope=USER, enabled=enabled)


SKILLS = [
    *(skill("path", "Path"), skill("upper", "Upper"), skill("a b"), skill("al"), skill("alpha"), skill("beta")),
    *(skill("dup1", "dup"), skill("dup2", "dup"), skill("ns", "ns:x"), skill("off", enabled=False)),
]


def called(*inputs: UserInput) -> list[str]:
    return [found.path.split("/")[2] for found in called_for(inputs, SKILLS)]


@pytest.mark.parametrize(
    ("text", "folders"),
    [
        ("$alpha.", ["alpha"]),
        ("x$alpha", ["alpha"]),
        ("$$alpha", ["alpha"]),
        ("\\$alpha", ["alpha"]),
        ("`$alpha`", ["alpha"]),
        ("$alpha's $beta/x", ["alpha", "beta"]),
        ("$beta $alpha $beta", ["alpha", "beta"]),
        ("$alphabet", []),
        ("$alpha:", []),
        ("$alpha-", []),
        ("$-alpha", []),
        ("${alpha}", []),
        ("$", []),
        ("$ns:x", ["ns"]),
        ("$ns", []),
        ("$dup", []),
        ("$off", []),
        ("$path $Path $PATH", []),
        ("$a b", []),
        ("$upper", []),
        ("$Upper", ["upper"]),
        ("[$alpha](/s/beta/SKILL.md)", ["beta"]),
        ("[$alpha](skill:///s/beta/SKILL.md) $alpha", ["beta", "alpha"]),
        ("[$foo](/s/beta/SKILL.md)", ["beta"]),
        ("[$alpha] ( /s/beta/SKILL.md )", ["beta"]),
        ("[$dup](/s/dup2/SKILL.md)", ["dup2"]),
        ("[$beta](/s/beta/SKILL.md) $alpha", ["beta", "alpha"]),
        ("[$off](/s/off/SKILL.md)", []),
        ("[$alpha](x)", []),
        ("[$alpha](app://x) $beta", ["beta"]),
        ("[alpha](/s/beta/SKILL.md)", []),
        ("[$alpha](/s/./beta/SKILL.md)", []),
        ("[$PATH](/s/beta/SKILL.md)", []),
        ("[$alpha]($beta)", []),
        ("[$alpha](/s/beta/SKILL.md", ["alpha"]),
        ("[$alpha]", ["alpha"]),
        ("[$alpha", ["alpha"]),
    ],
)
def test_mentions_in_text(text: str, folders: list[str]) -> None:
    assert called(Text(text=text)) == folders


@pytest.mark.parametrize(
    ("inputs", "folders"),
    [
        ((Text(text="$alpha $beta"), SkillInput(name="beta", path="/s/beta/SKILL.md")), ["beta", "alpha"]),
        ((SkillInput(name="alpha", path="/nope/SKILL.md"), Text(text="$alpha $beta")), ["beta"]),
        ((Text(text="$beta"), Text(text="$alpha")), ["beta", "alpha"]),
        ((SkillInput(name="zzz", path="/s/beta/SKILL.md"), Text(text="$beta")), ["beta"]),
        ((SkillInput(name="off", path="/s/off/SKILL.md"),), []),
        ((Mention(name="x", path="skill:///s/beta/SKILL.md"), Text(text="hi")), []),
    ],
)
def test_skill_items_come_first_and_block_their_name(inputs: tuple[UserInput, ...], folders: list[str]) -> None:
    assert called(*inputs) == folders


def test_text_of_a_skill_is_injected_whole(tmp_path: Path) -> None:
    path = tmp_path / "SKILL.md"
    path.write_text("---\nname: a\n---\nBody.\n")
    found = Skill(name="a", description="d", path=str(path), scope=USER)
    result = injected([Text(text="use $a")], [found])
    (item,) = result.items
    assert item["role"] == "user"
    assert texts_of(item) == [f"<skill>\n<name>a</name>\n<path>{path}</path>\n---\nname: a\n---\nBody.\n\n</skill>"]
    assert result.warnings == ()


@pytest.mark.parametrize(("data", "why"), [(None, "No such file or directory"), (b"\xff", "it is not valid UTF-8")])
def test_an_unreadable_skill_is_a_warning(tmp_path: Path, data: bytes | None, why: str) -> None:
    path = tmp_path / "SKILL.md"
    if data is not None:
        path.write_bytes(data)
    result = injected([Text(text="$a")], [Skill(name="a", description="d", path=str(path), scope=USER)])
    assert result.items == ()
    assert result.warnings == (f"Failed to load skill a at {path}: {why}",)
