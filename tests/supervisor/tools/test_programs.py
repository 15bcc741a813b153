"""Commands find `apply_patch` in a directory that lives as long as we do, and that nobody else sweeps meanwhile."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pycodex.supervisor.tools.programs import NAMES, Programs, own_program

pytestmark = pytest.mark.skipif(own_program() is None, reason="pycodex is not installed here")

# Makes its directory, says where, and lives until its input ends.
KEEPER = (
    "import sys\n"
    "from pycodex.supervisor.tools.programs import Programs\n"
    "programs = Programs()\n"
    "print(programs.directory(sys.argv[1]), flush=True)\n"
    "sys.stdin.read()\n"
    "programs.close()\n"
)


@pytest.fixture
def programs() -> Iterator[Programs]:
    made = Programs()
    yield made
    made.close()


def base_of(home: Path) -> Path:
    return home / "tmp" / "arg0"


def open_descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def start_keeper(home: Path) -> "tuple[subprocess.Popen[str], Path]":
    keeper = subprocess.Popen(
        [sys.executable, "-c", KEEPER, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert keeper.stdout is not None
    return keeper, Path(keeper.stdout.readline().strip())


def end(keeper: "subprocess.Popen[str]", *, kill: bool) -> None:
    if kill:
        keeper.kill()
    keeper.communicate()


def test_directory_holds_our_program_under_its_other_names(programs: Programs, home: Path) -> None:
    path = Path(programs.directory(str(home)))
    assert path.parent == base_of(home)
    program = own_program()
    assert program is not None
    for name in NAMES:
        assert os.readlink(path / name) == program
        assert os.access(path / name, os.X_OK)
    assert programs.directory(str(home)) == str(path)
    assert os.listdir(base_of(home)) == [path.name]


def test_only_its_owner_can_look_into_it(programs: Programs, home: Path) -> None:
    before = os.umask(0)
    try:
        path = Path(programs.directory(str(home)))
    finally:
        os.umask(before)
    while path != home:
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        path = path.parent


def test_each_home_has_its_own(programs: Programs, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert Path(programs.directory(str(tmp_path / name))).parent == base_of(tmp_path / name)


def test_home_that_is_not_there_yet_is_made(programs: Programs, tmp_path: Path) -> None:
    assert Path(programs.directory(str(tmp_path / "new" / "home"))).is_dir()


def test_end_removes_it_and_leaves_nothing_open(home: Path) -> None:
    before = open_descriptors()
    programs = Programs()
    path = Path(programs.directory(str(home)))
    programs.close()
    assert not path.exists()
    assert os.listdir(base_of(home)) == []
    assert open_descriptors() == before
    programs.close()


def test_end_passes_over_what_others_have_put_there(home: Path) -> None:
    programs = Programs()
    path = Path(programs.directory(str(home)))
    (path / "foreign").touch()
    programs.close()
    assert (path / "foreign").exists()


@pytest.mark.parametrize("place", ["/proc/self", "/dev/null"])
def test_home_that_takes_no_files_is_done_without(programs: Programs, place: str) -> None:
    before = open_descriptors()
    assert programs.directory(place) == ""
    assert programs.directory(place) == ""
    assert open_descriptors() == before


@pytest.mark.parametrize("depth", [1, 2])
def test_link_on_the_way_is_not_followed(programs: Programs, home: Path, tmp_path: Path, depth: int) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "tmp" / "arg0").mkdir(parents=True)
    names = ("tmp", "arg0")
    home.joinpath(*names[: depth - 1]).mkdir(exist_ok=True)
    home.joinpath(*names[:depth]).symlink_to(elsewhere.joinpath(*names[:depth]))
    assert programs.directory(str(home)) == ""
    assert os.listdir(elsewhere / "tmp" / "arg0") == []


# Several at once, and those that were killed


def test_what_a_killed_one_left_is_swept(programs: Programs, home: Path) -> None:
    keeper, left = start_keeper(home)
    end(keeper, kill=True)
    assert left.is_dir()
    mine = Path(programs.directory(str(home)))
    assert os.listdir(base_of(home)) == [mine.name]


def test_those_that_live_are_left_alone(programs: Programs, home: Path) -> None:
    keeper, other = start_keeper(home)
    try:
        mine = Path(programs.directory(str(home)))
        assert {mine, other} == set(base_of(home).iterdir())
        second = Programs()
        assert Path(second.directory(str(home))) not in (mine, other)
        second.close()
        assert {mine, other} == set(base_of(home).iterdir())
        assert (other / NAMES[0]).is_symlink()
    finally:
        end(keeper, kill=False)
    assert not other.exists()


def test_many_that_start_together_do_not_sweep_each_other(home: Path) -> None:
    keepers = [
        subprocess.Popen(
            [sys.executable, "-c", KEEPER, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(8)
    ]
    try:
        for keeper in keepers:
            assert keeper.stdout is not None
            path = Path(keeper.stdout.readline().strip())
            assert path.parent == base_of(home)
            assert {*NAMES, ".lock"} == set(os.listdir(path))
        assert len(os.listdir(base_of(home))) == len(keepers)
    finally:
        for keeper in keepers:
            end(keeper, kill=False)
    assert os.listdir(base_of(home)) == []


def test_sweep_removes_nothing_that_is_not_ours(programs: Programs, home: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    for folder in (precious, base_of(home) / "other", base_of(home) / "codex-arg0full"):
        folder.mkdir(parents=True)
        for name in (".lock", "file"):
            (folder / name).touch()
    (base_of(home) / "codex-arg0link").symlink_to(precious)
    os.mkfifo(base_of(home) / "codex-arg0fifo")
    (base_of(home) / "codex-arg0odd").mkdir()
    os.mkfifo(base_of(home) / "codex-arg0odd" / ".lock")
    programs.directory(str(home))
    assert sorted(os.listdir(precious)) == [".lock", "file"]
    assert sorted(os.listdir(base_of(home) / "other")) == [".lock", "file"]
    assert "file" in os.listdir(base_of(home) / "codex-arg0full")
    assert (base_of(home) / "codex-arg0link").is_symlink()


def test_directory_that_is_being_made_is_not_swept(programs: Programs, home: Path) -> None:
    unfinished = base_of(home) / "codex-arg0new"
    unfinished.mkdir(parents=True)
    programs.directory(str(home))
    assert unfinished.is_dir()
