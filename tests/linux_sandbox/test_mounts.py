"""The view of the file system: the deepest entry wins, names stay what they are, and /dev and /proc are its own."""

import itertools
import os
import random
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pycodex.protocol.confinement import LINK, NONE, PIN, READ, WRITE, Confinement, Entry
from pycodex.supervisor.workers.lease import JobRefused
from pycodex.supervisor.workers.pool import Pool
from support.orders import CONFINED, run, shell, writing
from support.pools import Pools

LINKS_AT_THE_TOP = {name for name in os.listdir("/") if os.path.islink(f"/{name}")}
# What a shell needs where nothing else is granted.
SYSTEM = tuple(Entry(path=path, access=READ) for path in ("/usr", "/etc") if not os.path.islink(path))


def entries(grants: Mapping[Path, str]) -> tuple[Entry, ...]:
    return tuple(Entry(path=str(path), access=access) for path, access in grants.items())


async def probe(pool: Pool, files: list[Path], confinement: Confinement) -> dict[Path, str]:
    """For each file what a confined process can do with it: `rw`, `r-` or `--`."""
    script = 'for p; do r=-; w=-; cat "$p" >/dev/null 2>&1 && r=r; (echo x >>"$p") 2>/dev/null && w=w; echo $r$w; done'
    done = await pool.run(run("/bin/sh", "-c", script, "sh", *map(str, files), confinement=confinement))
    assert done.code == 0, done
    return dict(zip(files, done.stdout.data.decode().split(), strict=True))


def expected(file: Path, grants: Mapping[Path, str], base: str) -> str:
    """The rule in one line: the deepest entry at or above decides."""
    above = [place for place in (file, *file.parents) if grants.get(place, PIN) != PIN]
    return {WRITE: "rw", READ: "r-", NONE: "--"}[grants[above[0]] if above else base]


@pytest.fixture
def tree(tmp_path: Path) -> list[Path]:
    """A small tree, its directories and files, each file with something in it."""
    folders = [tmp_path / "a", *(tmp_path / "a" / name for name in ("b", "b/c", "b/c/d", "e"))]
    for folder in folders:
        folder.mkdir()
        (folder / "file").write_text("something", encoding="ascii")
    return [*folders, *(folder / "file" for folder in folders)]


@pytest.mark.parametrize("base", [READ, NONE, WRITE])
async def test_the_deepest_entry_wins(
    real_pools: Pools, tree: list[Path], base: str, scale: Callable[[int, int], int]
) -> None:
    """Random grants over the tree; what the kernel does must be what the rule says."""
    files = [path for path in tree if path.is_file()]
    chooser = random.Random(base)
    async with real_pools.open() as pool:
        for _ in range(scale(12, 200)):
            grants = {
                path: chooser.choice((WRITE, READ, NONE, *((PIN,) if path.is_dir() else ())))
                for path in sorted(chooser.sample(tree, chooser.randint(1, 6)))
            }
            system = SYSTEM if base == NONE else ()
            confinement = Confinement(base=base, entries=(*system, *entries(grants)))
            seen = await probe(pool, files, confinement)
            assert seen == {file: expected(file, grants, base) for file in files}, grants


async def test_order_of_the_entries_does_not_matter(real_pools: Pools, tree: list[Path]) -> None:
    a, b, c, d = tree[:4]
    grants = {a: WRITE, b: READ, c: NONE, d: WRITE}
    files = [path / "file" for path in (a, b, c, d)]
    async with real_pools.open() as pool:
        for order in itertools.permutations(entries(grants)):
            seen = await probe(pool, files, Confinement(entries=order))
            assert list(seen.values()) == ["rw", "r-", "--", "rw"]


async def test_restricted_view_holds_nothing_but_what_was_granted(real_pools: Pools, tree: list[Path]) -> None:
    a, b = tree[:2]
    confinement = Confinement(base=NONE, entries=(*SYSTEM, *entries({b: WRITE})))
    script = (
        'ls -A /; echo --; ls -A "$1"; echo --; ls -A "$2"; echo made >"$2/new"; mkdir "$1/new" /new; '
        'for p in "$1/file" "$1/e" /var/* /home/* /root /boot /sys/*; do [ -e "$p" ] && echo "$p"; done; exit 0'
    )
    async with real_pools.open() as pool:
        done = await pool.run(run("/bin/sh", "-c", script, "sh", str(a), str(b), confinement=confinement))
    top, in_a, in_b = (set(part.split()) for part in done.stdout.data.decode().split("--\n"))
    # Whether the way to what was granted can be listed is another matter.
    assert top <= {"usr", "etc", "dev", "proc", b.parts[1], *LINKS_AT_THE_TOP}
    assert in_a <= {"b"}
    # With the names that exist beyond it, of which there should be none.
    assert in_b == set(os.listdir(b)) - {"new"}
    assert (b / "new").read_text(encoding="ascii") == "made\n"
    assert not (a / "new").exists()


async def test_protected_file_in_a_writable_directory_stays(real_pools: Pools, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("kept", encoding="ascii")
    (tmp_path / "other").write_text("other", encoding="ascii")
    attempts = "echo x >kept; rm -f kept; mv kept gone; mv other kept; ln -f other kept; chmod 777 kept"
    script = f"{attempts}; cat kept; echo new >new"
    confinement = Confinement(entries=entries({tmp_path: WRITE, kept: READ}))
    async with real_pools.open() as pool:
        done = await pool.run(shell(script, cwd=str(tmp_path), confinement=confinement))
    assert done.stdout.data == b"kept"
    assert kept.read_text(encoding="ascii") == "kept"
    assert stat.S_IMODE(kept.stat().st_mode) & 0o111 == 0
    assert (tmp_path / "new").exists()


async def test_denied_file_and_directory_look_empty_and_closed(real_pools: Pools, tmp_path: Path) -> None:
    secret, vault = tmp_path / "secret", tmp_path / "vault"
    secret.write_text("secret", encoding="ascii")
    vault.mkdir()
    (vault / "inside").write_text("secret", encoding="ascii")
    confinement = Confinement(entries=entries({tmp_path: WRITE, secret: NONE, vault: NONE}))
    changes = "chmod 777 secret vault; rm -rf secret vault; touch vault/x"
    script = f"{changes}; cat secret; cat vault/inside; ls vault; cp secret copy; cat copy"
    async with real_pools.open() as pool:
        done = await pool.run(shell(script, cwd=str(tmp_path), confinement=confinement))
    assert done.stdout.data == b""
    assert secret.read_text(encoding="ascii") == "secret"
    assert os.listdir(vault) == ["inside"]


async def test_pinned_directory_keeps_its_name_and_stays_writable(real_pools: Pools, tmp_path: Path) -> None:
    pinned = tmp_path / "up" / "pinned"
    pinned.mkdir(parents=True)
    confinement = Confinement(entries=entries({tmp_path: WRITE, tmp_path / "up": PIN, pinned: PIN}))
    script = "mv up elsewhere; mv up/pinned other; rmdir up/pinned; echo made >up/pinned/file; mkdir up/beside"
    identity = [path.stat().st_ino for path in (pinned.parent, pinned)]
    async with real_pools.open() as pool:
        await pool.run(shell(script, cwd=str(tmp_path), confinement=confinement))
    # `mv` may have made a copy of it.
    assert [path.stat().st_ino for path in (pinned.parent, pinned)] == identity
    assert sorted(os.listdir(tmp_path / "up")) == ["beside", "pinned"]
    assert (pinned / "file").read_text(encoding="ascii") == "made\n"


async def test_protected_link_keeps_leading_where_it_leads(real_pools: Pools, tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.mkdir()
    (target / "file").write_text("old", encoding="ascii")
    link.symlink_to(target)
    confinement = Confinement(entries=entries({tmp_path: WRITE, link: LINK, target: READ}))
    script = "rm link; mv link gone; ln -sfn /tmp link; mv -T target link; cat link/file; echo x >link/file"
    async with real_pools.open() as pool:
        done = await pool.run(shell(script, cwd=str(tmp_path), confinement=confinement))
    assert done.stdout.data == b"old"
    assert os.readlink(link) == str(target)
    assert (target / "file").read_text(encoding="ascii") == "old"


async def test_hidden_directory_is_empty_and_one_that_is_gone_is_no_matter(real_pools: Pools, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "socket").touch()
    confinement = writing(tmp_path, hidden=(str(hidden), str(tmp_path / "nonesuch")))
    async with real_pools.open() as pool:
        done = await pool.run(shell(f"ls {hidden}; cat {hidden}/socket; touch {hidden}/new", confinement=confinement))
    assert done.stdout.data == b""
    assert done.code != 0
    assert os.listdir(hidden) == ["socket"]


async def test_runtime_directory_can_be_hidden_while_it_is_used(real_pools: Pools) -> None:
    async with real_pools.open() as pool:
        confinement = Confinement(hidden=(pool.runtime_dir,))
        done = await pool.run(shell(f"ls -A {pool.runtime_dir}", confinement=confinement))
        assert done.stdout.data == b""
        assert (await pool.run(run("/bin/true"))).code == 0


@pytest.mark.parametrize("access", [READ, WRITE, PIN, NONE])
@pytest.mark.parametrize("kind", ["missing", "link", "below a link"])
async def test_entry_that_is_not_what_the_plan_saw_is_refused(
    real_pools: Pools, tmp_path: Path, access: str, kind: str
) -> None:
    """It may have been changed in between, by somebody who wants the rule to hold elsewhere."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").touch()
    (tmp_path / "link").symlink_to("real")
    path = tmp_path / {"missing": "missing", "link": "link", "below a link": "link/file"}[kind]
    confinement = Confinement(entries=entries({tmp_path: WRITE, path: access}))
    async with real_pools.open() as pool:
        with pytest.raises(JobRefused, match=str(path)):
            await pool.run(run("/bin/true", confinement=confinement))


async def test_devices_are_the_harmless_ones(real_pools: Pools) -> None:
    blocks = "find /dev -type b 2>/dev/null"
    script = f"ls -A /dev; echo --; {blocks}; cat /dev/null; echo x >/dev/null && head -c 3 /dev/zero | wc -c"
    async with real_pools.open() as pool:
        done = await pool.run(shell(script))
    names, rest = done.stdout.data.decode().split("--\n")
    harmless = {"null", "zero", "full", "random", "urandom", "tty"}
    plumbing = {"fd", "stdin", "stdout", "stderr", "ptmx", "pts", "shm"}
    assert {name for name in names.split() if not name.startswith(".")} == harmless | plumbing
    assert rest.split() == ["3"]
    assert done.stderr.data == b""


@pytest.mark.parametrize("base", [READ, WRITE, NONE])
async def test_device_directory_cannot_be_changed_and_shared_memory_is_its_own(real_pools: Pools, base: str) -> None:
    ours = Path("/dev/shm") / f"pycodex-test-{os.getpid()}"
    ours.touch()
    script = (
        f"touch /dev/{ours.name}; mkdir /dev/{ours.name}-dir; ls -A /dev/shm; "
        f"echo x >/dev/shm/{ours.name}-inside && cat /dev/shm/{ours.name}-inside"
    )
    confinement = Confinement(base=base, entries=SYSTEM if base == NONE else ())
    async with real_pools.open() as pool:
        try:
            done = await pool.run(shell(script, confinement=confinement))
        finally:
            ours.unlink()
        assert done.stdout.data == b"x\n"
        assert [name for name in (*os.listdir("/dev"), *os.listdir("/dev/shm")) if name.startswith(ours.name)] == []
        again = await pool.run(shell("ls -A /dev/shm; ls /dev/zero /dev/null", confinement=confinement))
        assert again.stdout.data == b"/dev/null\n/dev/zero\n"


async def test_processes_seen_are_its_own(real_pools: Pools) -> None:
    async with real_pools.open() as pool:
        done = await pool.run(shell("ls /proc | grep -c '^[0-9]'; readlink /proc/self | wc -c; echo $$"))
        assert pool.host is not None
        if not pool.host.private_proc:
            pytest.skip("this host does not allow a fresh /proc")
    assert int(done.stdout.data.split()[0]) <= 6
    assert int(done.stdout.data.split()[2]) < 100


async def test_kernels_own_settings_cannot_be_written_even_where_all_else_can(real_pools: Pools) -> None:
    """Only opened for writing, never written: if this fails, nothing has happened."""
    paths = "/proc/sys/kernel/hostname /proc/sysrq-trigger /sys/kernel/uevent_helper"
    script = f"for p in {paths}; do (: >>$p) && echo $p; done"
    async with real_pools.open() as pool:
        done = await pool.run(shell(script, confinement=Confinement(base=WRITE)))
    assert done.stdout.data == b""


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
async def test_new_files_get_the_supervisors_mask(real_pools: Pools, tmp_path: Path, mask: int) -> None:
    previous = os.umask(mask)
    try:
        async with real_pools.open() as pool:
            confinement = writing(tmp_path, placeholders=(str(tmp_path / ".codex"),))
            done = await pool.run(shell("umask; echo x >new; mkdir sub", cwd=str(tmp_path), confinement=confinement))
    finally:
        os.umask(previous)
    assert int(done.stdout.data, 8) == mask
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o666 & ~mask
    assert stat.S_IMODE((tmp_path / "sub").stat().st_mode) == 0o777 & ~mask


def mounts() -> str:
    return Path("/proc/self/mountinfo").read_text(encoding="utf-8")


async def test_nothing_of_it_is_mounted_on_the_host(real_pools: Pools, tmp_path: Path) -> None:
    before = mounts()
    async with real_pools.open() as pool:
        async with pool.running(run("/bin/sleep", "1000", confinement=writing(tmp_path))) as job:
            while job.started is None:
                await job.news()
            assert mounts() == before
        await pool.run(run("/bin/true", confinement=CONFINED))
    assert mounts() == before
