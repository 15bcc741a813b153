"""The filters on this machine's kernel: each test confines a process of its own and looks at what it can still do."""

import json
import platform
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pycodex.linux_sandbox import seccomp_filter
from support.interpreter import IMPORT_PATH, MINIMAL_ENV, python_argv

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux's")

PRELUDE = """
import ctypes, errno, json, os, signal, socket, subprocess, sys, threading
from pycodex.linux_sandbox import seccomp_filter
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
results = {}

def raw(name, number, *arguments):
    code = ctypes.get_errno() if libc.syscall(number, *map(ctypes.c_long, arguments)) == -1 else 0
    results[name] = errno.errorcode.get(code, "ok")

def attempt(name, function, *arguments, **options):
    try:
        function(*arguments, **options)
        results[name] = "ok"
    except OSError as error:
        results[name] = errno.errorcode[error.errno]
"""

OFFLINE, ONLINE = "network=False", "network=True"
SHARED_OFFLINE = "network=False, own_namespaces=False"
FROZEN_OFFLINE = "network=False, own_namespaces=False, freeze_metadata=True"
UNSCOPED_OFFLINE = "network=False, own_namespaces=False, scoped_signals=False"


def under(options: str, code: str, *arguments: str, before: str = "") -> dict[str, Any]:
    """What `code` found out in a process of its own under the filter; `before` runs unfiltered."""
    text = "\n".join(
        (PRELUDE, before, f"seccomp_filter.load(seccomp_filter.program({options}))", code, "print(json.dumps(results))")
    )
    done = subprocess.run(
        python_argv(text, *arguments), env=MINIMAL_ENV, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def number_of(name: str) -> int:
    x86_64, aarch64 = {
        "ptrace": (101, 117),
        "unshare": (272, 97),
        "clone": (56, 220),
        "clone3": (435, 435),
        "io_uring_setup": (425, 425),
        "add_key": (248, 217),
        "process_vm_readv": (310, 270),
        "keyctl": (250, 219),
        "fchmodat2": (452, 452),
        "shmget": (29, 194),
        "getpid": (39, 172),
    }[name]
    return aarch64 if platform.machine() in ("aarch64", "arm64") else x86_64


# Without a filter none of these does more than fail for another reason.
RAW_ATTEMPTS = f"""
raw("ptrace traceme", {number_of("ptrace")}, 0, 0, 0, 0)
raw("unshare nothing", {number_of("unshare")}, 0)
raw("clone newuser", {number_of("clone")}, 0x10000000 | 0x200, 0, 0, 0, 0)
raw("clone3", {number_of("clone3")}, 0, 0)
raw("io_uring", {number_of("io_uring_setup")}, 0, 0)
raw("add_key", {number_of("add_key")}, 0, 0, 0, 0, 0)
raw("keyctl", {number_of("keyctl")}, 9999, 0, 0, 0, 0)
raw("process_vm_readv", {number_of("process_vm_readv")}, os.getpid(), 0, 0, 0, 0, 0)
raw("from the future", 4000)
"""
RAW_DENIED = {
    "ptrace traceme": "EPERM",
    "unshare nothing": "EPERM",
    "clone newuser": "EPERM",
    "clone3": "ENOSYS",
    "io_uring": "EPERM",
    "add_key": "EPERM",
    "keyctl": "EPERM",
    "process_vm_readv": "EPERM",
    "from the future": "ENOSYS",
}


@pytest.mark.parametrize("options", [OFFLINE, ONLINE])
def test_kernel_denies_what_reaches_beyond_the_process(options: str) -> None:
    assert under(options, RAW_ATTEMPTS) == RAW_DENIED


SOCKET_ATTEMPTS = """
attempt("stream pair", socket.socketpair, socket.AF_UNIX, socket.SOCK_STREAM)
attempt("packet pair", socket.socketpair, socket.AF_UNIX, socket.SOCK_SEQPACKET)
attempt("datagram pair", socket.socketpair, socket.AF_UNIX, socket.SOCK_DGRAM)
attempt("raw pair", socket.socketpair, socket.AF_UNIX, socket.SOCK_RAW)
attempt("local stream", socket.socket, socket.AF_UNIX, socket.SOCK_STREAM)
attempt("local datagram", socket.socket, socket.AF_UNIX, socket.SOCK_DGRAM)
attempt("tcp", socket.socket, socket.AF_INET, socket.SOCK_STREAM)
attempt("udp", socket.socket, socket.AF_INET, socket.SOCK_DGRAM)
attempt("tcp6", socket.socket, socket.AF_INET6, socket.SOCK_STREAM)
attempt("netlink", socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, 0)
attempt("vsock", socket.socket, 40, socket.SOCK_STREAM)
"""
DENIED_SOCKETS = ("datagram pair", "raw pair", "local datagram", "vsock")


def test_offline_leaves_only_socket_pairs() -> None:
    found = under(OFFLINE, SOCKET_ATTEMPTS)
    assert {name for name, answer in found.items() if answer == "ok"} == {"stream pair", "packet pair", "local stream"}
    assert {answer for answer in found.values() if answer != "ok"} == {"EPERM"}


def test_online_adds_the_internet_and_no_local_service() -> None:
    found = under(ONLINE, SOCKET_ATTEMPTS)
    assert {name: found[name] for name in (*DENIED_SOCKETS, "local stream")} == dict.fromkeys(
        (*DENIED_SOCKETS, "local stream"), "EPERM"
    )
    assert {found[name] for name in ("stream pair", "packet pair", "tcp", "udp", "netlink")} == {"ok"}


def test_offline_socket_cannot_reach_a_listener(tmp_path: Path) -> None:
    """The socket is the host's listener of the same user; it must see no connection."""
    before = """
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1]); listener.listen(); listener.setblocking(False)
client, outside = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_INET)
"""
    code = """
attempt("connect", client.connect, sys.argv[1])
attempt("bind", outside.bind, ("127.0.0.1", 0))
attempt("sendto", outside.sendto, b"x", ("127.0.0.1", 9))
attempt("accept", listener.accept)
"""
    found = under(OFFLINE, code, str(tmp_path / "s"), before=before)
    assert found == dict.fromkeys(("connect", "bind", "sendto", "accept"), "EPERM")


def test_socket_pair_can_do_all_that_event_loops_need() -> None:
    code = """
left, right = socket.socketpair()
left.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
left.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), left.getsockname(), left.getpeername()
left.send(b"a"); left.sendall(b"b"); left.sendmsg([b"c"])
reader, writer = os.pipe()
socket.send_fds(left, [b"d"], [reader])
data, fds, _, _ = socket.recv_fds(right, 10, 1)
left.shutdown(socket.SHUT_WR)
results["got"] = [(data + right.recv(10)).decode(), len(fds)]
"""
    assert under(OFFLINE, code) == {"got": ["abcd", 1]}


@pytest.mark.parametrize("options", [OFFLINE, ONLINE, SHARED_OFFLINE, UNSCOPED_OFFLINE])
def test_threads_processes_and_event_loops_work(options: str) -> None:
    code = """
import asyncio, concurrent.futures
thread = threading.Thread(target=lambda: results.update(thread="ok")); thread.start(); thread.join()
results["subprocess"] = subprocess.run(["sh", "-c", "echo $((6 * 7)) | cat"], capture_output=True, text=True).stdout
async def child():
    process = await asyncio.create_subprocess_exec("echo", "async", stdout=asyncio.subprocess.PIPE)
    return (await process.communicate())[0].decode()
results["asyncio"] = asyncio.run(child())
results["pool"] = list(concurrent.futures.ThreadPoolExecutor(2).map(abs, [-1, -2]))
"""
    expected = {"thread": "ok", "subprocess": "42\n", "asyncio": "async\n", "pool": [1, 2]}
    assert under(options, code) == expected


def test_filter_holds_after_exec() -> None:
    code = f"""
child = "import ctypes; libc = ctypes.CDLL(None, use_errno=True); libc.syscall({number_of("unshare")}, 0);" \\
    "print(ctypes.get_errno(), open('/proc/self/status').read().split('Seccomp:')[1].split()[0])"
results["child"] = subprocess.run([sys.executable, "-I", "-c", child], capture_output=True, text=True).stdout
"""
    assert under(OFFLINE, code) == {"child": "1 2\n"}


def test_lease_on_a_file_that_is_only_read_is_denied(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    code = """
import fcntl
fd = os.open(sys.argv[1], os.O_RDONLY)
attempt("lease", fcntl.fcntl, fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
attempt("lock", fcntl.flock, fd, fcntl.LOCK_SH)
"""
    assert under(OFFLINE, code, str(tmp_path / "f")) == {"lease": "EPERM", "lock": "ok"}


def test_terminal_takes_no_input_from_inside() -> None:
    before = "import pty, fcntl, termios\nmaster, slave = pty.openpty()\n"
    code = """
attempt("inject", fcntl.ioctl, slave, termios.TIOCSTI, b"x")
attempt("size", fcntl.ioctl, slave, termios.TIOCSWINSZ, bytes(8))
attempt("modes", termios.tcgetattr, slave)
"""
    assert under(OFFLINE, code, before=before) == {"inject": "EPERM", "size": "ok", "modes": "ok"}


def test_shared_namespaces_are_not_touched() -> None:
    code = f"""
import resource
raw("shmget", {number_of("shmget")}, 0, 4096, 0o1600)
attempt("own limit", resource.setrlimit, resource.RLIMIT_CORE, (0, 0))
attempt("own nice", os.setpriority, os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0))
attempt("other nice", os.setpriority, os.PRIO_PROCESS, other, os.getpriority(os.PRIO_PROCESS, other))
attempt("user nice", os.setpriority, os.PRIO_USER, 2147483646, 0)
attempt("other affinity", os.sched_setaffinity, other, os.sched_getaffinity(other))
attempt("own affinity", os.sched_setaffinity, 0, os.sched_getaffinity(0))
victim.kill(); victim.wait()
"""
    before = """victim = subprocess.Popen(["sleep", "600"]); other = victim.pid"""
    assert under(SHARED_OFFLINE, code, before=before) == {
        "shmget": "EPERM",
        "own limit": "ok",
        "own nice": "ok",
        "other nice": "EPERM",
        "user nice": "EPERM",
        "other affinity": "EPERM",
        "own affinity": "ok",
    }


def test_frozen_metadata_stays(tmp_path: Path) -> None:
    victim = tmp_path / "f"
    victim.write_text("x")
    before = victim.stat()
    code = f"""
path = sys.argv[1]
fd = os.open(path, os.O_RDWR)
attempt("chmod", os.chmod, path, 0o777)
attempt("fchmod", os.fchmod, fd, 0o777)
raw("fchmodat2", {number_of("fchmodat2")}, -100, 0, 0o777, 0)
attempt("chown", os.chown, path, os.getuid(), os.getgid())
attempt("utime", os.utime, path, (0, 0))
attempt("setxattr", os.setxattr, path, "user.x", b"1")
attempt("removexattr", os.removexattr, path, "user.x")
"""
    found = under(FROZEN_OFFLINE, code, str(victim))
    assert set(found.values()) == {"EPERM"}
    after = victim.stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_mode,
        before.st_mtime_ns,
        before.st_ctime_ns,
    )


def test_unscoped_signals_reach_the_own_group_only() -> None:
    """The victim is a process of the test; it is alive afterwards."""
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as victim:
        code = """
import fcntl
victim = int(sys.argv[1])
attempt("kill", os.kill, victim, signal.SIGTERM)
attempt("killpg", os.killpg, victim, signal.SIGTERM)
attempt("pidfd", signal.pidfd_send_signal, os.pidfd_open(victim), signal.SIGTERM)
reader, writer = os.pipe()
attempt("owner", fcntl.fcntl, reader, fcntl.F_SETOWN, victim)
attempt("question", os.kill, victim, 0)
signal.signal(signal.SIGUSR1, lambda *_: results.update(handled="ok"))
attempt("own group", os.kill, 0, signal.SIGUSR1)
"""
        try:
            found = under(UNSCOPED_OFFLINE, code, str(victim.pid), before="os.setsid()")
            assert victim.poll() is None
        finally:
            victim.kill()
    assert found == {
        **dict.fromkeys(("kill", "killpg", "pidfd", "owner"), "EPERM"),
        **dict.fromkeys(("question", "own group", "handled"), "ok"),
    }


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the other instruction sets of x86-64 machines")
def test_other_instruction_sets_of_the_machine_are_closed() -> None:
    code = f"raw('x32', 0x40000000 | {number_of('getpid')})"
    assert under(OFFLINE, code) == {"x32": "ENOSYS"}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the other instruction sets of x86-64 machines")
def test_32_bit_call_kills_the_process() -> None:
    text = f"""{PRELUDE}
import mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("b814000000" "cd80" "c3"))  # mov eax, getpid; int 0x80; ret
function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
seccomp_filter.load(seccomp_filter.program(network=False))
function()
"""
    done = subprocess.run(python_argv(text), env=MINIMAL_ENV, capture_output=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGSYS


def test_layers_are_read_once() -> None:
    assert seccomp_filter.program(network=False)[0] is seccomp_filter.program(network=False, own_namespaces=False)[0]


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "0 bytes"), (b"1234567", "7 bytes"), (bytes(8 * 4097), "damaged"), (None, "cannot be read")],
)
def test_damaged_filter_file_is_refused(tmp_path: Path, content: bytes | None, words: str) -> None:
    """In a copy of the package, as a broken installation would have it."""
    package = tmp_path / "pycodex"
    for folder in ("linux_sandbox", "protocol"):
        shutil.copytree(Path(IMPORT_PATH, "pycodex", folder), package / folder)
    for file in (package / "linux_sandbox" / "bpf").glob("*-offline.bpf"):
        file.unlink()
        if content is not None:
            file.write_bytes(content)
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from pycodex.linux_sandbox import seccomp_filter
from pycodex.protocol.confinement import Unenforceable
seccomp_filter.program(network=True)
try:
    seccomp_filter.program(network=False)
except Unenforceable as refusal:
    print(refusal)
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], env=MINIMAL_ENV, capture_output=True, text=True, timeout=60, check=False
    )
    assert words in done.stdout, done.stderr


def test_unknown_machine_is_refused() -> None:
    """`personality` makes this machine call itself something else, as it would to a 32-bit program."""
    if not platform.machine().endswith("64"):
        pytest.skip("no other name to take")
    code = """
import ctypes, os
ctypes.CDLL(None).personality(8)
from pycodex.linux_sandbox import seccomp_filter
from pycodex.protocol.confinement import Unenforceable
try:
    seccomp_filter.program(network=False)
except Unenforceable as refusal:
    print(os.uname().machine in str(refusal))
"""
    done = subprocess.run(python_argv(code), env=MINIMAL_ENV, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "True\n", done.stderr
