"""Protected paths after a command that did as it pleased: everything is as before, or it is said what is not."""

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pycodex.protocol.confinement import LINK, PIN, READ, WRITE, Confinement, Entry
from support.interpreter import python_argv

if sys.platform != "linux":
    pytest.skip("for Linux only", allow_module_level=True)

from pycodex.linux_sandbox.guard import watch_protected

CONFIG = "[core]\n\tbare = false\n"


class Place:
    """A workspace with a protected `.git`, a missing `.codex`, and something outside."""

    def __init__(self, base: Path) -> None:
        self.ws, self.outside, self.home = base / "ws", base / "outside", base / "home"
        for path in (self.git / "hooks", self.git / "objects" / "ab", self.outside, self.home):
            path.mkdir(parents=True)
        (self.git / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
        self.config.write_text(CONFIG, encoding="ascii")
        (self.git / "hooks" / "sample").write_text("#!/bin/sh\n", encoding="ascii")
        (self.git / "hooks" / "sample").chmod(0o755)
        (self.git / "objects" / "ab" / "cdef").write_bytes(b"object")
        (self.git / "link").symlink_to("HEAD")
        (self.outside / "file").write_text("untouched\n", encoding="ascii")

    @property
    def git(self) -> Path:
        return self.ws / ".git"

    @property
    def config(self) -> Path:
        return self.git / "config"

    @property
    def codex(self) -> Path:
        return self.ws / ".codex"

    def confinement(self, *more: Entry, remembered: bool = True) -> Confinement:
        return Confinement(
            entries=(Entry(path=str(self.ws), access=WRITE), Entry(path=str(self.git), access=READ), *more),
            placeholders=(str(self.codex),),
            ledger=str(self.home / "tmp" / "placeholders") if remembered else "",
            landlock_only=True,
        )

    def looks(self) -> dict[str, tuple[str, object]]:
        found: dict[str, tuple[str, object]] = {}
        for path in (self.git, *self.git.rglob("*"), self.codex, self.outside, *self.outside.rglob("*")):
            if os.path.lexists(path):
                content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
                found[str(path)] = (stat.filemode(path.lstat().st_mode), content)
        return found

    def after(self, change: Callable[["Place"], object], *more: Entry) -> tuple[str, ...]:
        guard = watch_protected(self.confinement(*more))
        change(self)
        return guard.restore()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


def then(*steps: Callable[[Place], object]) -> Callable[[Place], None]:
    def all_of_them(place: Place) -> None:
        for step in steps:
            step(place)

    return all_of_them


def overwrite_keeping_size_and_times(place: Place) -> None:
    status = place.config.stat()
    place.config.write_text(CONFIG.replace("false", "true "), encoding="ascii")
    os.utime(place.config, ns=(status.st_atime_ns, status.st_mtime_ns))


def replace_by_link_to_outside(place: Place) -> None:
    shutil.rmtree(place.git / "hooks")
    (place.git / "hooks").symlink_to(place.outside)


def replace_top_by_link_to_outside(place: Place) -> None:
    place.git.rename(place.ws / "elsewhere")
    place.git.symlink_to(place.outside)


def hide_the_original_in_an_impostor(place: Place) -> None:
    place.git.rename(place.ws / "away")
    place.git.mkdir()
    (place.git / "config").write_text("evil", encoding="ascii")
    (place.ws / "away").rename(place.git / "inner")


def replace_file_by_directory(place: Place) -> None:
    place.config.unlink()
    place.config.mkdir()
    (place.config / "inside").touch()


def grow_a_deep_closed_tree(place: Place) -> None:
    """Deeper than a path may be long, with nobody allowed in."""
    made = 0
    fd = os.open(place.git, os.O_RDONLY)
    while made < 600:
        os.mkdir("deep" * 10, dir_fd=fd)
        inner = os.open("deep" * 10, os.O_RDONLY, dir_fd=fd)
        os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=inner))
        if made:
            os.fchmod(fd, 0)
        os.close(fd)
        fd = inner
        made += 1
    os.close(fd)


REVERTIBLE: dict[str, tuple[Callable[[Place], object], str]] = {
    "appended": (lambda p: p.config.write_text(CONFIG + "evil"), "config was changed"),
    "overwritten unnoticeably": (overwrite_keeping_size_and_times, "config was changed"),
    "replaced atomically": (
        then(lambda p: (p.git / "new").write_text("evil"), lambda p: (p.git / "new").rename(p.config)),
        "config was changed",
    ),
    "removed": (lambda p: p.config.unlink(), "config was removed"),
    "renamed": (lambda p: p.config.rename(p.git / "other"), "other was created"),
    "mode of a file": (lambda p: (p.git / "hooks" / "sample").chmod(0o644), "sample got another mode"),
    "mode of a directory": (lambda p: (p.git / "hooks").chmod(0o777), "hooks got another mode"),
    "closed": (lambda p: p.git.chmod(0), ".git got another mode"),
    "closed above": (
        then(lambda p: p.config.write_text("evil"), lambda p: p.ws.chmod(0)),
        "config was changed",
    ),
    "made read-only above": (
        then(lambda p: shutil.rmtree(p.git / "hooks"), lambda p: p.git.chmod(0o500), lambda p: p.ws.chmod(0o500)),
        "hooks was removed",
    ),
    "new hook": (lambda p: (p.git / "hooks" / "pre-commit").write_text("evil"), "pre-commit was created"),
    "new directory": (lambda p: shutil.copytree(p.outside, p.git / "copied"), "copied was created"),
    "new link": (lambda p: (p.git / "new").symlink_to(p.outside), "new was created"),
    "new pipe": (lambda p: os.mkfifo(p.git / "new"), "new was created"),
    "deep tree": (grow_a_deep_closed_tree, "was created"),
    "link redirected": (
        then(lambda p: (p.git / "link").unlink(), lambda p: (p.git / "link").symlink_to(p.outside)),
        "link was changed",
    ),
    "directory removed": (lambda p: shutil.rmtree(p.git / "hooks"), "hooks was removed"),
    "directory made a link": (replace_by_link_to_outside, "hooks was replaced"),
    "file made a directory": (replace_file_by_directory, "config was replaced"),
    "file made a pipe": (
        then(lambda p: p.config.unlink(), lambda p: os.mkfifo(p.config)),
        "config was replaced",
    ),
    "top moved": (lambda p: p.git.rename(p.ws / "elsewhere"), ".git was moved to"),
    "top made a link": (replace_top_by_link_to_outside, ".git was moved to"),
    "top hidden in an impostor": (hide_the_original_in_an_impostor, ".git was moved to"),
    "missing name made a directory": (lambda p: shutil.copytree(p.outside, p.codex), ".codex was created"),
    "missing name made a file": (lambda p: p.codex.write_text("evil"), ".codex was created"),
    "missing name made a link": (lambda p: p.codex.symlink_to(p.outside), ".codex was created"),
    "second name": (lambda p: os.link(p.config, p.ws / "second"), "config got another name"),
}


@pytest.mark.parametrize("name", REVERTIBLE)
def test_is_undone_and_told(place: Place, name: str) -> None:
    change, text = REVERTIBLE[name]
    before = place.looks()
    notes = place.after(change)
    assert place.looks() == before
    assert any(text in note for note in notes), notes
    assert not any("could not" in note for note in notes), notes
    assert place.after(lambda _: None) == ()


def test_nothing_is_told_when_nothing_was_changed(place: Place) -> None:
    inode = place.config.stat().st_ino

    def use(place: Place) -> None:
        place.config.read_bytes()
        (place.ws / "made").touch()

    assert place.after(use) == ()
    assert place.config.stat().st_ino == inode
    assert (place.ws / "made").exists()


def test_a_parent_that_was_closed_before_is_closed_again(place: Place) -> None:
    place.ws.chmod(0o500)
    before = place.looks()
    place.after(then(lambda p: p.ws.chmod(0o700), lambda p: p.codex.mkdir(), lambda p: p.ws.chmod(0o500)))
    assert place.looks() == before
    assert stat.S_IMODE(place.ws.stat().st_mode) == 0o500
    place.ws.chmod(0o700)


def test_a_second_name_no_longer_leads_to_the_protected_file(place: Place) -> None:
    place.after(lambda p: os.link(p.config, p.ws / "second"))
    (place.ws / "second").write_text("evil", encoding="ascii")
    assert place.config.read_text(encoding="ascii") == CONFIG


def test_owner_modes_and_time_come_back(place: Place) -> None:
    place.config.chmod(0o640)
    before = place.config.stat()
    place.after(then(lambda p: p.config.unlink(), lambda p: p.config.write_text("evil")))
    after = place.config.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda p: (p.git / "large").write_bytes(b"x"), "large was changed and could not be restored: it is larger"),
        (lambda p: (p.git / "large").unlink(), "large was removed and could not be restored: it is larger than"),
        (
            lambda p: (p.git / "objects" / "ab" / "cdef").write_bytes(b"forged"),
            "cdef was changed and could not be restored: objects of repositories are not kept",
        ),
        (lambda p: shutil.rmtree(p.git / "objects"), "cdef was removed and could not be restored"),
        (lambda p: shutil.rmtree(p.git), "cdef was removed and could not be restored"),
        (lambda p: os.link(p.git / "objects" / "ab" / "cdef", p.ws / "second"), "check them"),
        (lambda p: (p.git / "pipe").unlink(), "pipe was removed and could not be restored: it was no ordinary file"),
    ],
)
def test_what_cannot_be_undone_is_told(place: Place, change: Callable[[Place], object], text: str) -> None:
    (place.git / "large").write_bytes(bytes(256 * 1024 + 1))
    os.mkfifo(place.git / "pipe")
    notes = place.after(change)
    assert any(text in note for note in notes), notes
    assert place.config.read_text(encoding="ascii") == CONFIG


def test_new_objects_go(place: Place) -> None:
    before = place.looks()
    place.after(lambda p: (p.git / "objects" / "info").mkdir())
    assert place.looks() == before


def test_too_many_entries_are_said_to_be_unchecked_and_the_rest_is_checked(place: Place) -> None:
    crowd = place.git / "objects" / "crowd"
    crowd.mkdir()
    for number in range(20_001):
        os.close(os.open(crowd / str(number), os.O_WRONLY | os.O_CREAT))
    notes = place.after(then(lambda _: (crowd / "new").touch(), lambda p: p.config.write_text("evil")))
    assert f"{crowd} could not be checked for changes: more than 20000 entries" in notes
    assert (crowd / "new").exists()
    assert place.config.read_text(encoding="ascii") == CONFIG


def test_only_so_much_content_is_kept(place: Place) -> None:
    for number in range(70):
        (place.git / f"file{number:02}").write_bytes(bytes([number]) * 256 * 1024)

    def change(place: Place) -> None:
        for number in range(70):
            (place.git / f"file{number:02}").write_bytes(b"evil")

    notes = place.after(change)
    restored = [path for path in place.git.glob("file*") if path.stat().st_size > 4]
    assert len(restored) == 63
    assert sum("more than 16 MiB" in note for note in notes) == 7


def test_lines_are_few_and_each_is_one_line(place: Place) -> None:
    def litter(place: Place) -> None:
        for number in range(100):
            (place.git / f"new{number}").touch()
        (place.git / "\x1b[31m\nred").touch()

    notes = place.after(litter)
    assert len(notes) == 21
    assert notes[-1] == "... and 81 more such changes of protected paths"
    assert all(note.isprintable() for note in notes)


class TestPins:
    """Directories that may be written, but have to stay where they are."""

    @pytest.fixture
    def inner(self, place: Place) -> tuple[Entry, ...]:
        (place.ws / "sub" / ".codex").mkdir(parents=True)
        (place.ws / "sub" / ".codex" / "config.toml").write_text("kept", encoding="ascii")
        return (
            Entry(path=str(place.ws / "sub"), access=PIN),
            Entry(path=str(place.ws / "sub" / ".codex"), access=READ),
        )

    def test_can_be_filled(self, place: Place, inner: tuple[Entry, ...]) -> None:
        assert place.after(lambda p: (p.ws / "sub" / "new").touch(), *inner) == ()
        assert (place.ws / "sub" / "new").exists()

    def test_come_back_with_what_is_in_them(self, place: Place, inner: tuple[Entry, ...]) -> None:
        def swap(place: Place) -> None:
            (place.ws / "sub" / "own").touch()
            (place.ws / "sub").rename(place.ws / "old")
            (place.ws / "sub" / ".codex").mkdir(parents=True)
            (place.ws / "sub" / ".codex" / "config.toml").write_text("evil", encoding="ascii")

        (note,) = place.after(swap, *inner)
        assert f"{place.ws}/sub was moved to {place.ws}/old during the call: moved back" in note
        assert (place.ws / "sub" / ".codex" / "config.toml").read_text(encoding="ascii") == "kept"
        assert (place.ws / "sub" / "own").exists()
        aside = place.ws / note.rpartition(" ")[2]
        assert (aside / ".codex" / "config.toml").read_text(encoding="ascii") == "evil"

    def test_are_made_again_for_what_is_protected_in_them(self, place: Place, inner: tuple[Entry, ...]) -> None:
        notes = place.after(lambda p: shutil.rmtree(p.ws / "sub"), *inner)
        assert any("sub was removed during the call: made again" in note for note in notes)
        assert (place.ws / "sub" / ".codex" / "config.toml").read_text(encoding="ascii") == "kept"

    def test_a_root_inside_a_root_stays_where_it_is(self, place: Place) -> None:
        (place.ws / "inner").mkdir()
        root = Entry(path=str(place.ws / "inner"), access=WRITE)
        (note,) = place.after(lambda p: (p.ws / "inner").rename(p.ws / "gone"), root)
        assert "inner was moved to" in note
        assert (place.ws / "inner").is_dir()


def test_a_protected_link_leads_where_it_led(place: Place) -> None:
    (place.ws / "way").symlink_to(place.git)

    def redirect(place: Place) -> None:
        (place.ws / "way").unlink()
        shutil.copytree(place.outside, place.ws / "way")

    (note,) = place.after(redirect, Entry(path=str(place.ws / "way"), access=LINK))
    assert "way was replaced during the call: restored" in note
    assert os.readlink(place.ws / "way") == str(place.git)


def test_what_may_be_written_inside_a_protected_path_is_left(place: Place) -> None:
    hole = place.git / "hole"
    hole.mkdir()
    notes = place.after(
        then(lambda _: (hole / "new").touch(), lambda p: p.config.write_text("evil")),
        Entry(path=str(hole), access=WRITE),
    )
    assert (hole / "new").exists()
    assert [note for note in notes if "hole" in note] == []
    assert place.config.read_text(encoding="ascii") == CONFIG


def test_nothing_is_looked_at_where_nothing_may_be_written(place: Place) -> None:
    reading = Confinement(entries=(Entry(path=str(place.git), access=READ),), placeholders=(str(place.codex),))
    guard = watch_protected(reading)
    place.config.write_text("by the user", encoding="ascii")
    assert guard.restore() == ()
    assert place.config.read_text(encoding="ascii") == "by the user"


class TestOverlap:
    """Calls that run at the same time agree on what is the original."""

    def test_what_another_call_planted_is_not_put_back(self, place: Place) -> None:
        before = place.looks()
        first = watch_protected(place.confinement())
        place.config.write_text("evil", encoding="ascii")
        (place.git / "hooks" / "pre-commit").write_text("evil", encoding="ascii")
        place.codex.mkdir()
        second = watch_protected(place.confinement())
        assert first.restore() != ()
        assert place.looks() == before
        place.config.write_text("evil", encoding="ascii")
        place.codex.mkdir()
        assert second.restore() != ()
        assert place.looks() == before

    def test_the_work_of_another_call_is_left_to_its_own_check(self, place: Place) -> None:
        first = watch_protected(place.confinement())
        (place.git / "hooks" / "pre-commit").write_text("planted", encoding="ascii")
        second = watch_protected(place.confinement())
        assert second.restore() == ()
        assert (place.git / "hooks" / "pre-commit").exists()
        assert first.restore() != ()
        assert not (place.git / "hooks" / "pre-commit").exists()

    def test_nothing_is_left_in_the_store(self, place: Place) -> None:
        guards = [watch_protected(place.confinement()) for _ in range(3)]
        assert any((place.home / "tmp" / "guards").iterdir())
        for guard in guards:
            guard.restore()
        assert not any((place.home / "tmp" / "guards").iterdir())

    def test_what_a_killed_call_stored_is_not_believed(self, place: Place) -> None:
        killed = (
            "import os, sys; from pycodex.linux_sandbox.guard import watch_protected\n"
            "from pycodex.protocol.confinement import Confinement\n"
            "import json; guard = watch_protected(Confinement.from_plain(json.loads(sys.argv[1])))\n"
            "os.kill(os.getpid(), 9)"
        )
        subprocess.run(python_argv(killed, json.dumps(place.confinement().to_plain())), check=False)
        assert any((place.home / "tmp" / "guards").iterdir())
        place.config.write_text("by the user, later", encoding="ascii")
        place.after(lambda p: (p.git / "new").touch())
        assert place.config.read_text(encoding="ascii") == "by the user, later"
        assert not (place.git / "new").exists()

    def test_a_store_that_the_command_could_write_is_not_used(self, place: Place) -> None:
        inside = place.confinement().replace(ledger=str(place.ws / "home" / "tmp" / "placeholders"))
        guard = watch_protected(inside)
        assert not (place.ws / "home").exists()
        place.config.write_text("evil", encoding="ascii")
        assert guard.restore() != ()
        assert place.config.read_text(encoding="ascii") == CONFIG
