"""`skills/*` as a client sees them."""

from pathlib import Path

import pytest

from pycodex.protocol.app import skills
from support.app_server import Client, Refused
from support.engine import Place


def write_skill(folder: Path, name: str, head: str = "description: d") -> Path:
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\nname: {name}\n{head}\n---\n")
    return path


async def test_skills_are_listed_for_each_directory(client: Client, place: Place) -> None:
    mine = write_skill(place.workspace / ".agents" / "skills", "mine")
    bad = write_skill(place.home / "skills", "bad", head="")
    answer = await client.call("skills/list", cwds=[str(place.workspace), str(place.home)])
    skills.SkillsListResponse.model_validate(answer)
    here, there = answer["data"]
    assert (here["cwd"], there["cwd"]) == (str(place.workspace), str(place.home))
    assert here["skills"][0] == {
        "name": "mine",
        "description": "d",
        "path": str(mine),
        "scope": "repo",
        "enabled": True,
    }
    assert {skill["scope"] for skill in there["skills"]} == {"system"}
    assert here["errors"] == [{"path": str(bad), "message": "missing field `description`"}]


async def test_without_directories_it_is_that_of_the_server(client: Client, place: Place) -> None:
    (entry,) = (await client.call("skills/list"))["data"]
    assert entry["cwd"] == str(place.workspace)


async def test_extra_roots_are_for_one_directory(client: Client, place: Place, tmp_path: Path) -> None:
    write_skill(tmp_path / "extra", "more")
    cwd = str(place.workspace)
    roots = [{"cwd": cwd, "extraUserRoots": [str(tmp_path / "extra")]}]
    (entry,) = (await client.call("skills/list", cwds=[cwd], perCwdExtraUserRoots=roots))["data"]
    assert "more" in [skill["name"] for skill in entry["skills"]]
    with pytest.raises(Refused, match="paths must be absolute: rel"):
        await client.call("skills/list", cwds=[cwd], perCwdExtraUserRoots=[{"cwd": cwd, "extraUserRoots": ["rel"]}])


async def test_too_many_directories_are_refused(client: Client) -> None:
    with pytest.raises(Refused, match="more than 100"):
        await client.call("skills/list", cwds=["/"] * 101)


async def test_turning_one_off_is_told_to_everybody(client: Client, place: Place) -> None:
    path = write_skill(place.home / "skills", "mine")
    assert await client.call("skills/config/write", path=str(path), enabled=False) == {"effectiveEnabled": False}
    assert await client.until("skills/changed") == {}
    (entry,) = (await client.call("skills/list"))["data"]
    assert {skill["name"]: skill["enabled"] for skill in entry["skills"]}["mine"] is False
    assert await client.call("skills/config/write", path=str(path), enabled=True) == {"effectiveEnabled": True}
    assert "skills" not in (place.home / "config.toml").read_text()
