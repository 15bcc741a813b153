"""Outputs are kept in files within bounds, in a place where nobody leads us astray, and for a time."""

import os
import resource
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from pycodex.supervisor.tools import spool as subject
from pycodex.supervisor.tools.spool import FOLDER, KEPT_SECONDS, MOST_BYTES, Spool, Spools

THREAD = "thread-1"


def begun(spools: Spools, name: str = "x") -> Spool:
    spool = spools.begun(name)
    assert spool is not None
    return spool


def content(spool: Spool) -> bytes:
    return Path(spool.path).read_bytes()


def open_descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


@pytest.fixture
def spools(home: Path) -> Iterator[Spools]:
    opened = Spools(str(home), THREAD)
    yield opened
    opened.close()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "MOST_BYTES", 100)
    monkeypatch.setattr(subject, "MOST_BYTES_OF_SESSION", 250)


def age(path: Path, seconds: float) -> None:
    moment = path.stat(follow_symlinks=False).st_mtime - seconds
    os.utime(path, (moment, moment), follow_symlinks=False)


# What is kept


def test_file_holds_what_was_added(spools: Spools, home: Path) -> None:
    spool = begun(spools, "name")
    for piece in (b"one\n", b"", b"\xff\0", b"two"):
        spool.add(piece)
    assert content(spool) == b"one\n\xff\0two"
    assert (spool.kept_bytes, spool.is_whole) == (9, True)
    path = Path(spool.path)
    assert path.parent == home.joinpath(*FOLDER, THREAD)
    assert path.name.startswith("name-")


def test_each_output_has_a_file_of_its_own(spools: Spools) -> None:
    first, second = begun(spools, "same"), begun(spools, "same")
    first.add(b"1")
    second.add(b"2")
    assert (content(first), content(second)) == (b"1", b"2")


def test_only_their_owner_can_read_them(spools: Spools, home: Path) -> None:
    before = os.umask(0)
    try:
        spool = begun(spools)
    finally:
        os.umask(before)
    path = Path(spool.path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    while (path := path.parent) != home:
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


@pytest.mark.usefixtures("small")
def test_long_output_is_cut_at_the_limit(spools: Spools) -> None:
    spool = begun(spools)
    spool.add(b"a" * 60)
    spool.add(b"b" * 60)
    spool.add(b"c")
    assert content(spool) == b"a" * 60 + b"b" * 40
    assert (spool.kept_bytes, spool.is_whole) == (100, False)


def test_output_of_just_the_limit_is_whole(spools: Spools) -> None:
    spool = begun(spools)
    spool.add(bytes(MOST_BYTES))
    spool.add(b"")
    assert (spool.kept_bytes, spool.is_whole) == (MOST_BYTES, True)
    spool.add(b"x")
    assert (spool.kept_bytes, spool.is_whole) == (MOST_BYTES, False)


def test_nothing_is_kept_behind_a_gap(spools: Spools) -> None:
    spool = begun(spools)
    spool.add(b"before")
    spool.missing()
    spool.add(b"behind")
    assert content(spool) == b"before"
    assert (spool.kept_bytes, spool.is_whole) == (6, False)


@pytest.mark.usefixtures("small")
def test_all_outputs_of_a_session_have_a_limit_together(spools: Spools) -> None:
    kept = [begun(spools) for _ in range(3)]
    for spool in kept:
        spool.add(bytes(200))
    assert [spool.kept_bytes for spool in kept] == [100, 100, 50]
    assert spools.begun("x") is None


@pytest.mark.usefixtures("small")
def test_room_that_was_not_needed_is_given_back(spools: Spools) -> None:
    for _ in range(10):
        spool = begun(spools)
        spool.add(bytes(20))
        spool.close()
        spool.close()
    last = begun(spools)
    last.add(bytes(100))
    assert last.kept_bytes == 50
    assert spools.begun("x") is None


def test_full_disk_is_the_end_of_the_file_and_of_nothing_else(spools: Spools) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    spool = begun(spools)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        spool.add(b"a" * 700)
        spool.add(b"b" * 700)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    spool.add(b"c")
    assert content(spool) == b"a" * 700 + b"b" * 300
    assert (spool.kept_bytes, spool.is_whole) == (1000, False)


def test_descriptors_are_closed(home: Path) -> None:
    before = open_descriptors()
    spools = Spools(str(home), THREAD)
    kept = [begun(spools) for _ in range(3)]
    for spool in kept:
        spool.close()
        spool.add(b"late")
        assert (spool.kept_bytes, spool.is_whole) == (0, False)
    spools.close()
    spools.close()
    assert open_descriptors() == before


# The place


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_link_on_the_way_is_not_followed(home: Path, tmp_path: Path, depth: int) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.joinpath(*FOLDER, THREAD).mkdir(parents=True)
    names = (*FOLDER, THREAD)
    home.joinpath(*names[: depth - 1]).mkdir(parents=True, exist_ok=True)
    home.joinpath(*names[:depth]).symlink_to(elsewhere.joinpath(*names[:depth]))
    before = open_descriptors()
    assert Spools(str(home), THREAD).begun("x") is None
    assert [path for path in elsewhere.rglob("*") if path.is_file()] == []
    assert open_descriptors() == before


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_file_in_the_way_is_left_alone(home: Path, depth: int) -> None:
    path = home.joinpath(*(*FOLDER, THREAD)[:depth])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"mine")
    assert Spools(str(home), THREAD).begun("x") is None
    assert path.read_bytes() == b"mine"


@pytest.mark.parametrize("place", ["/proc/self", "/nonesuch/home", "/dev/null"])
def test_place_that_takes_no_files_is_done_without(place: str) -> None:
    """Root may write nearly everywhere, but not in these."""
    before = open_descriptors()
    assert Spools(place, THREAD).begun("x") is None
    assert open_descriptors() == before


def test_home_may_itself_be_reached_by_a_link(home: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(home)
    spools = Spools(str(link), THREAD)
    spool = begun(spools)
    spool.add(b"x")
    assert content(spool) == b"x"
    spool.close()
    spools.close()


# How long


def test_what_nobody_has_added_to_for_long_is_swept(spools: Spools, home: Path) -> None:
    outputs = home.joinpath(*FOLDER)
    for name in ("old", "young", THREAD):
        (outputs / name).mkdir(parents=True)
        (outputs / name / "1.txt").write_bytes(b"x")
    for name in ("old", THREAD):
        age(outputs / name, KEPT_SECONDS + 60)
    age(outputs / "young", KEPT_SECONDS - 60)
    spool = begun(spools)
    assert sorted(path.name for path in outputs.iterdir()) == sorted((THREAD, "young"))
    assert os.listdir(outputs / THREAD) == [Path(spool.path).name]
    assert os.listdir(outputs / "young") == ["1.txt"]


def test_sweep_goes_nowhere_else(spools: Spools, home: Path, tmp_path: Path) -> None:
    outputs, elsewhere = home.joinpath(*FOLDER), tmp_path / "elsewhere"
    for folder in (outputs, elsewhere, outputs / "odd" / "folder"):
        folder.mkdir(parents=True)
    (elsewhere / "precious").touch()
    (outputs / "link").symlink_to(elsewhere)
    (outputs / "file").touch()
    for name in ("link", "file", "odd"):
        age(outputs / name, 2 * KEPT_SECONDS)
    age(elsewhere, 2 * KEPT_SECONDS)
    begun(spools)
    assert (elsewhere / "precious").exists()
    assert {path.name for path in outputs.iterdir()} == {"link", "file", "odd", THREAD}


def test_sweep_happens_with_the_first_output_and_not_before(home: Path) -> None:
    old = home.joinpath(*FOLDER, "old")
    old.mkdir(parents=True)
    age(old, 2 * KEPT_SECONDS)
    spools = Spools(str(home), THREAD)
    assert old.exists()
    begun(spools).close()
    assert not old.exists()
    spools.close()
