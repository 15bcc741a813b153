"""The files below directories, as a search sees them."""

import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from pycodex.supervisor.commands import file_listing
from pycodex.supervisor.commands.file_listing import list_files
from pycodex.supervisor.commands.workplace import Workplace
from pycodex.supervisor.workspace.file_search import Candidate
from support.workplaces import open_workplace


@pytest.fixture
async def workplace(tmp_path: Path) -> AsyncIterator[Workplace]:
    async with open_workplace(tmp_path) as opened:
        yield opened


async def listed(workplace: Workplace, roots: Sequence[str]) -> list[Candidate]:
    found: list[Candidate] = []
    await list_files(workplace, roots, found.extend)
    return sorted(each for each in found if not each.path.startswith(".git/"))


async def test_hidden_files_count_and_ignored_ones_do_not(workplace: Workplace) -> None:
    here = Path(workplace.config.cwd)
    (here / "sub").mkdir()
    for name in ("a", ".hidden", "ignored", "sub/b", "with\nnewline"):
        (here / name).touch()
    (here / ".gitignore").write_text("ignored\n")
    os.mkfifo(here / "pipe")
    names = [each.path for each in await listed(workplace, [str(here)])]
    assert names == [".gitignore", ".hidden", "a", "sub/b", "with\nnewline"]


async def test_roots_are_called_what_they_were_called_and_the_nearest_counts(workplace: Workplace) -> None:
    here = Path(workplace.config.cwd)
    (here / "sub").mkdir()
    (here / "sub" / "b").touch()
    (here / "a").touch()
    assert set(await listed(workplace, [".", "sub/"])) == {Candidate(".", "a"), Candidate("sub/", "b")}


async def test_what_is_not_there_has_no_files(workplace: Workplace) -> None:
    assert await listed(workplace, ["/nowhere", "--help"]) == []


async def test_names_that_nobody_can_type_are_left_out(workplace: Workplace) -> None:
    os.close(os.open(os.fsencode(workplace.config.cwd) + b"/\xff", os.O_CREAT))
    assert await listed(workplace, [workplace.config.cwd]) == []


async def test_there_is_an_end_to_it(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_listing, "MAX_FILES", 3)
    for number in range(50):
        (Path(workplace.config.cwd) / f"{number}").touch()
    found: list[Candidate] = []
    await list_files(workplace, ["."], found.extend)
    assert len(found) == 3
