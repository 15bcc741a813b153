"""Landlock on this machine's kernel: each test confines a process of its own and looks at the disk afterwards.

Older versions are had by telling the code that the kernel offers less than it does.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pycodex.linux_sandbox import landlock_rules
from pycodex.protocol.confinement import LINK, NONE, PIN, READ, WRITE, Confinement, Entry
from support.interpreter import MINIMAL_ENV, python_argv

if sys.platform != "linux":
    pytest.skip("Landlock is Linux's", allow_module_level=True)

ABI = landlock_rules.landlock_abi()
if ABI < 1:
    pytest.skip("this kernel has no Landlock", allow_module_level=True)

PRELUDE = """
import errno, json, os, signal, socket, sys
from pycodex.linux_sandbox import landlock_rules
from pycodex.protocol.confinement import Confinement, Unenforceable
order = json.loads(sys.argv[1])
confinement = Confinement.from_plain(order["confinement"])
paths = order["paths"]
results = {}

def attempt(name, function, *arguments, **options):
    try:
        function(*arguments, **options)
        results[name] = "ok"
    except OSError as error:
        results[name] = errno.errorcode[error.errno]

def write(path):
    with open(path, "w") as file:
        file.write("changed")

def read(path):
    with open(path, "rb") as file:
        file.read(1)

def restrict():
    landlock_rules.restrict(confinement, order["abi"], private_dev=False)
"""


def needs(abi: int) -> pytest.MarkDecorator:
    return pytest.mark.skipif(abi > ABI, reason=f"needs Landlock {abi}, this kernel has {ABI}")


def run(code: str, confinement: Confinement, *, abi: int = min(ABI, 7), **paths: object) -> dict[str, Any]:
    """What `code` found out in a process of its own; it calls restrict() when it is ready."""
    order = {"confinement": confinement.to_plain(), "abi": abi, "paths": {k: str(v) for k, v in paths.items()}}
    done = subprocess.run(
        python_argv(f"{PRELUDE}\n{code}\nprint(json.dumps(results))", json.dumps(order)),
        env=MINIMAL_ENV,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def writable(*roots: Path, base: str = READ, network: bool = False) -> Confinement:
    entries = tuple(Entry(path=str(root), access=WRITE) for root in roots)
    return Confinement(base=base, entries=entries, network=network)


def snapshot(folder: Path) -> dict[str, object]:
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() else path.is_dir()
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    folder = tmp_path / "inside"
    (folder / "sub").mkdir(parents=True)
    (folder / "file").write_text("old")
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    (folder / "empty").mkdir(parents=True)
    (folder / "file").write_text("old")
    return folder


CHANGES = """
restrict()
root, other = paths["root"], paths["other"]
attempt("create", write, root + "/new")
attempt("overwrite", write, root + "/file")
attempt("append", lambda: open(root + "/file", "a").close())
attempt("truncate", os.truncate, root + "/file", 0)
attempt("mkdir", os.mkdir, root + "/made")
attempt("symlink", os.symlink, "x", root + "/link")
attempt("mkfifo", os.mkfifo, root + "/fifo")
attempt("rename out", os.rename, root + "/file", other + "/taken")
attempt("rename in", os.rename, other + "/mine", root + "/placed")
attempt("link in", os.link, other + "/mine2", root + "/linked")
attempt("unlink", os.unlink, root + "/file")
attempt("rmdir", os.rmdir, root + "/empty")
attempt("read", read, root + "/file")
attempt("list", os.listdir, root)
"""


@needs(3)
def test_nothing_changes_outside_of_the_roots(inside: Path, outside: Path) -> None:
    for name in ("mine", "mine2"):
        (inside / name).write_text("mine")
    before = snapshot(outside)
    found = run(CHANGES, writable(inside), root=outside, other=inside)
    assert snapshot(outside) == before
    assert {name for name, answer in found.items() if answer == "ok"} == {"read", "list"}
    assert {answer for answer in found.values() if answer != "ok"} <= {"EACCES", "EXDEV"}


@needs(3)
def test_everything_changes_inside_of_a_root(inside: Path) -> None:
    (inside / "empty").mkdir()
    for name in ("mine", "mine2"):
        (inside / "sub" / name).write_text("mine")
    found = run(CHANGES, writable(inside), root=inside, other=inside / "sub")
    # The file has been moved away by then.
    gone = {"unlink", "read"}
    assert {name: found.pop(name) for name in gone} == dict.fromkeys(gone, "ENOENT")
    assert set(found.values()) == {"ok"}
    assert (inside / "new").read_text() == "changed"
    assert (inside / "sub" / "taken").read_text() == ""
    assert (inside / "placed").read_text() == (inside / "linked").read_text() == "mine"


def test_devices_cannot_be_made_in_a_root(inside: Path) -> None:
    code = """
import stat
restrict()
attempt("char", os.mknod, paths["root"] + "/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
attempt("block", os.mknod, paths["root"] + "/disk", stat.S_IFBLK | 0o666, os.makedev(7, 255))
"""
    found = run(code, writable(inside), root=inside)
    assert set(found.values()) <= {"EACCES", "EPERM"}
    assert not (inside / "null").exists()
    assert not (inside / "disk").exists()


def test_harmless_devices_stay_and_terminals_of_the_host_do_not() -> None:
    code = """
restrict()
for name in ("null", "zero", "full"):
    attempt(name, os.open, "/dev/" + name, os.O_RDWR)
attempt("urandom", os.open, "/dev/urandom", os.O_RDONLY)
attempt("ptmx", os.open, "/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
"""
    found = run(code, writable())
    assert found == {**dict.fromkeys(("null", "zero", "full", "urandom"), "ok"), "ptmx": "EACCES"}


def test_file_as_root_grants_that_file_only(inside: Path) -> None:
    code = """
restrict()
attempt("file", write, paths["file"])
attempt("sibling", write, paths["sibling"])
attempt("remove", os.unlink, paths["file"])
"""
    found = run(code, writable(inside / "file"), file=inside / "file", sibling=inside / "new")
    assert found == {"file": "ok", "sibling": "EACCES", "remove": "EACCES"}
    assert snapshot(inside) == {"file": "changed", "sub": True}


def test_restricted_reading_grants_the_entries_only(inside: Path, outside: Path) -> None:
    confinement = Confinement(
        base=NONE,
        entries=(Entry(path=str(inside), access=WRITE), Entry(path=str(outside / "empty"), access=READ)),
    )
    (outside / "empty" / "file").write_text("x")
    code = """
restrict()
attempt("writable", read, paths["inside"] + "/file")
attempt("write", write, paths["inside"] + "/file")
attempt("readable", read, paths["outside"] + "/empty/file")
attempt("list readable", os.listdir, paths["outside"] + "/empty")
attempt("write readable", write, paths["outside"] + "/empty/file")
attempt("other file", read, paths["outside"] + "/file")
attempt("other list", os.listdir, paths["outside"])
attempt("root list", os.listdir, "/")
attempt("passwd", read, "/etc/passwd")
attempt("proc", read, "/proc/self/environ")
"""
    found = run(code, confinement, inside=inside, outside=outside)
    allowed = {"writable", "write", "readable", "list readable"}
    assert {name for name, answer in found.items() if answer == "ok"} == allowed
    assert {answer for answer in found.values() if answer != "ok"} == {"EACCES"}


def test_pins_links_and_denied_paths_grant_nothing(inside: Path, outside: Path) -> None:
    (outside / "link").symlink_to("file")
    entries = tuple(
        Entry(path=str(path), access=access)
        for path, access in ((outside / "empty", PIN), (outside / "link", LINK), (outside / "file", NONE))
    )
    code = """
restrict()
attempt("pinned", write, paths["root"] + "/empty/new")
attempt("link", write, paths["root"] + "/link")
attempt("denied", write, paths["root"] + "/file")
"""
    found = run(code, Confinement(entries=entries), root=outside)
    assert set(found.values()) == {"EACCES"}


def test_missing_root_and_root_that_became_a_link_grant_nothing(inside: Path, outside: Path) -> None:
    (inside / "link").symlink_to(outside)
    code = """
restrict()
attempt("through the link", write, paths["outside"] + "/new")
attempt("missing", os.mkdir, paths["missing"])
attempt("root", write, paths["root"] + "/new")
"""
    missing = outside / "missing"
    found = run(
        code, writable(inside / "link", missing, inside / "sub"), outside=outside, missing=missing, root=inside / "sub"
    )
    assert found == {"through the link": "EACCES", "missing": "EACCES", "root": "ok"}


NETWORK = """
listener = socket.create_server(("127.0.0.1", 0))
restrict()
attempt("connect", socket.create_connection, listener.getsockname(), timeout=20)
attempt("bind", socket.create_server, ("127.0.0.1", 0))
"""


@needs(4)
@pytest.mark.parametrize("base", [READ, WRITE])
def test_tcp_is_closed_without_network(base: str) -> None:
    assert run(NETWORK, writable(base=base)) == {"connect": "EACCES", "bind": "EACCES"}


def test_tcp_is_open_with_network() -> None:
    assert run(NETWORK, writable(network=True)) == {"connect": "ok", "bind": "ok"}


SIGNALS = """
restrict()
child = os.fork()
if child == 0:
    signal.pause()
attempt("own child", os.kill, child, signal.SIGKILL)
results["ended by"] = os.WTERMSIG(os.waitpid(child, 0)[1])
attempt("abstract", socket.socket(socket.AF_UNIX).connect, paths["name"].replace("@", chr(0)))
attempt("victim", os.kill, int(paths["victim"]), signal.SIGUSR1)
"""


def signal_victim(abi: int, *, network: bool, base: str = READ) -> tuple[dict[str, Any], bool]:
    """What a confined process could do to a sleeping one, and whether that one still sleeps."""
    code = """
import os, signal, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(chr(0) + "pycodex-test-" + str(os.getpid()))
listener.listen()
print(flush=True)
signal.pause()
"""
    with subprocess.Popen(python_argv(code), env=MINIMAL_ENV, stdout=subprocess.PIPE) as victim:
        try:
            assert victim.stdout is not None
            victim.stdout.readline()
            confinement = writable(network=network, base=base)
            found = run(SIGNALS, confinement, abi=abi, victim=victim.pid, name=f"@pycodex-test-{victim.pid}")
            if found["victim"] == "ok":
                victim.wait(timeout=20)
            return found, victim.poll() is None
        finally:
            victim.kill()


@needs(6)
@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("base", [READ, WRITE])
def test_signals_and_abstract_sockets_stay_inside(network: bool, base: str) -> None:
    found, alive = signal_victim(6, network=network, base=base)
    assert found == {"own child": "ok", "ended by": 9, "victim": "EPERM", "abstract": "EPERM"}
    assert alive


@needs(5)
def test_signals_get_out_before_version_6() -> None:
    found, alive = signal_victim(5, network=False)
    assert (found["victim"], found["abstract"], alive) == ("ok", "ok", False)


VERSIONS = """
listener = socket.create_server(("127.0.0.1", 0))
restrict()
attempt("truncate outside", os.truncate, paths["outside"] + "/file", 0)
attempt("write outside", write, paths["outside"] + "/file")
attempt("move", os.rename, paths["inside"] + "/file", paths["inside"] + "/sub/file")
attempt("write inside", write, paths["inside"] + "/new")
attempt("bind", socket.create_server, ("127.0.0.1", 0))
"""


@pytest.mark.parametrize(
    ("abi", "truncate", "move", "bind"),
    [
        pytest.param(1, "ok", "EXDEV", "ok", marks=needs(1)),
        pytest.param(2, "ok", "ok", "ok", marks=needs(2)),
        pytest.param(3, "EACCES", "ok", "ok", marks=needs(3)),
        pytest.param(4, "EACCES", "ok", "EACCES", marks=needs(4)),
        pytest.param(5, "EACCES", "ok", "EACCES", marks=needs(5)),
        pytest.param(6, "EACCES", "ok", "EACCES", marks=needs(6)),
        pytest.param(7, "EACCES", "ok", "EACCES", marks=needs(7)),
    ],
)
def test_each_version_enforces_all_that_it_knows(
    inside: Path, outside: Path, abi: int, truncate: str, move: str, bind: str
) -> None:
    found = run(VERSIONS, writable(inside), abi=abi, inside=inside, outside=outside)
    assert found == {
        "truncate outside": truncate,
        "write outside": "EACCES",
        "move": move,
        "write inside": "ok",
        "bind": bind,
    }
    assert (outside / "file").read_text() == ("" if truncate == "ok" else "old")
    assert (inside / "sub" / "file").exists() == (move == "ok")


def test_current_version_of_this_kernel_is_accepted(inside: Path) -> None:
    code = "restrict()\nattempt('write', write, paths['root'] + '/new')"
    assert run(code, writable(inside), abi=ABI, root=inside) == {"write": "ok"}


@pytest.mark.parametrize("abi", [1, 2, 3])
def test_old_version_with_nothing_to_restrict_changes_nothing(outside: Path, abi: int) -> None:
    code = "restrict()\nattempt('write', write, paths['root'] + '/new')"
    assert run(code, writable(base=WRITE), abi=abi, root=outside) == {"write": "ok"}


def test_confinement_holds_for_children_and_through_exec(inside: Path, outside: Path) -> None:
    code = """
import subprocess
restrict()
script = "echo x > " + paths["outside"] + "/new; echo y > " + paths["inside"] + "/new"
done = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
results["errors"] = done.stderr.count("ermission denied")
"""
    assert run(code, writable(inside), inside=inside, outside=outside) == {"errors": 1}
    assert (inside / "new").read_text() == "y\n"
    assert not (outside / "new").exists()


def test_no_descriptor_is_left_open(inside: Path) -> None:
    code = """
before = os.listdir("/proc/self/fd")
restrict()
results["left"] = len(os.listdir("/proc/self/fd")) - len(before)
"""
    assert run(code, writable(inside, inside / "file")) == {"left": 0}


def test_too_many_layers_are_refused_with_a_reason(inside: Path) -> None:
    code = """
try:
    for layer in range(17):
        restrict()
except Unenforceable as refusal:
    results["refused"] = [layer <= 16, str(refusal)]
"""
    refused, text = run(code, writable(inside))["refused"]
    assert refused
    assert "16 Landlock sandboxes" in text


def test_kernel_without_landlock_is_refused() -> None:
    code = """
try:
    restrict()
except Unenforceable as refusal:
    results["refused"] = str(refusal)
attempt("read", read, "/etc/passwd")
"""
    found = run(code, writable(), abi=0)
    assert "no Landlock" in found["refused"]
    assert found["read"] == "ok"


@pytest.mark.parametrize(
    ("abi", "fs", "net_tcp", "scopes", "ioctl_dev", "shortcomings"),
    [
        (0, "none", False, (), False, 1),
        (1, "no-refer", False, (), False, 4),
        (2, "no-truncate", False, (), False, 3),
        (3, "full", False, (), False, 2),
        (4, "full", True, (), False, 2),
        (5, "full", True, (), True, 1),
        (6, "full", True, ("abstract_unix_socket", "signal"), True, 0),
        (7, "full", True, ("abstract_unix_socket", "signal"), True, 0),
        (12, "full", True, ("abstract_unix_socket", "signal"), True, 0),
    ],
)
def test_report_says_what_a_version_covers(
    abi: int, fs: str, net_tcp: bool, scopes: tuple[str, ...], ioctl_dev: bool, shortcomings: int
) -> None:
    *covered, degraded = landlock_rules.describe(abi)
    assert (tuple(covered), len(degraded)) == ((fs, net_tcp, scopes, ioctl_dev), shortcomings)


def test_private_devices_are_granted_as_a_whole(inside: Path) -> None:
    """Terminals and shared memory too, since they are the command's own; nothing can be made beside them."""
    rights = dict(landlock_rules.granted(writable(inside), private_dev=True))
    assert set(rights) == {"/", str(inside), "/dev", "/dev/shm"}
    assert rights["/dev/shm"] == rights[str(inside)]
    made = landlock_rules.handled_rights(5) & ~0b1111 & ~landlock_rules.TRUNCATE & ~landlock_rules.IOCTL_DEV
    assert rights["/dev"] & made == 0


def test_restricted_reading_with_private_mounts_adds_only_proc(inside: Path) -> None:
    rights = dict(landlock_rules.granted(writable(inside, base=NONE), private_dev=True))
    assert set(rights) == {str(inside), "/proc", "/dev", "/dev/shm"}


@pytest.mark.parametrize(("abi", "rights"), [(1, 13), (2, 14), (3, 15), (4, 15), (5, 16), (8, 16), (9, 17), (20, 17)])
def test_versions_know_this_many_rights(abi: int, rights: int) -> None:
    assert landlock_rules.handled_rights(abi) == (1 << rights) - 1
