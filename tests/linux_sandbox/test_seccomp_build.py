"""The shipped filters, decided call by call with an interpreter: both architectures are tested on either."""

import errno
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.bpf import ALLOW, KILL_PROCESS, evaluate, failing_with

try:
    import pyseccomp
except (ImportError, RuntimeError) as error:
    pytest.skip(f"libseccomp cannot be loaded: {error}", allow_module_level=True)

from pycodex.linux_sandbox import seccomp_build

X86_64, AARCH64 = 0xC000003E, 0xC00000B7
I386, ARM = 0x40000003, 0x40000028
ARCHES = {"x86_64": X86_64, "aarch64": AARCH64}
OFFLINE, ONLINE = ("offline", "offline-root"), ("online", "online-root")
FOR_USERS, FOR_ROOT = ("offline", "online"), ("offline-root", "online-root")
BASES = (*FOR_USERS, *FOR_ROOT)
LAYERS = (*BASES, "shared", "unscoped", "frozen", "grouped", "leashed")
DENIED, UNKNOWN = failing_with(errno.EPERM), failing_with(errno.ENOSYS)
NUMBERS = range(472)
RUBBISH = 0xDEADBEEF << 32

NEW_NUMBERS = {
    "fchmodat2": 452,
    "statmount": 457,
    "lsm_set_self_attr": 460,
    "mseal": 462,
    "setxattrat": 463,
    "getxattrat": 464,
    "removexattrat": 466,
    "open_tree_attr": 467,
    "file_getattr": 468,
    "file_setattr": 469,
    "rseq_slice_yield": 471,
}

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_ALG, AF_VSOCK = 1, 2, 10, 16, 17, 38, 40
STREAM, DGRAM, RAW, SEQPACKET, CLOEXEC_NONBLOCK = 1, 2, 3, 5, 0o2004000


@dataclass(frozen=True)
class Call:
    """A system call and the arguments that are not zero."""

    name: str
    arguments: tuple[int, ...] = ()


def shipped(arch: str, layer: str) -> bytes:
    return Path(seccomp_build.OUTPUT_DIR, seccomp_build.file_name(arch, layer)).read_bytes()


def number_of(arch: str, name: str) -> int | None:
    """None where the architecture lacks the call."""
    if name in NEW_NUMBERS:
        return NEW_NUMBERS[name]
    number: int = pyseccomp.resolve_syscall(ARCHES[arch], name)
    assert number != -1, name
    return number if number >= 0 else None


def decide(arch: str, layer: str, call: Call) -> int | None:
    number = number_of(arch, call.name)
    return None if number is None else evaluate(shipped(arch, layer), ARCHES[arch], number, call.arguments).action


def denied_whatever_the_arguments(arch: str, layer: str) -> set[int]:
    """Numbers that a layer refuses without looking at an argument."""
    verdicts = {number: evaluate(shipped(arch, layer), ARCHES[arch], number) for number in NUMBERS}
    return {
        number for number, verdict in verdicts.items() if verdict.action != ALLOW and not verdict.looked_at_arguments
    }


def numbers(arch: str, names: str) -> set[int]:
    found = {number_of(arch, name) for name in names.split()}
    return {number for number in found if number is not None}


ALWAYS_DENIED = """
    ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_getfd
    io_uring_setup io_uring_enter io_uring_register
    mount umount2 pivot_root move_mount open_tree open_tree_attr fsopen fsmount fsconfig fspick mount_setattr
    setns unshare chroot clone3 openat2
    bpf perf_event_open userfaultfd memfd_secret modify_ldt uselib _sysctl nfsservctl lookup_dcookie
    keyctl add_key request_key open_by_handle_at fanotify_init
    kexec_load kexec_file_load create_module init_module finit_module delete_module
    quotactl quotactl_fd swapon swapoff reboot acct syslog lsm_set_self_attr
    settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname iopl ioperm vhangup
"""
DENIED_OFFLINE = ALWAYS_DENIED + "connect bind listen accept accept4 sendmmsg recvmmsg"
DENIED_BY_LAYER = {
    "offline": DENIED_OFFLINE,
    "online": ALWAYS_DENIED,
    "offline-root": DENIED_OFFLINE,
    "online-root": ALWAYS_DENIED,
    "shared": "shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink"
    " file_setattr",
    "unscoped": "rt_sigqueueinfo rt_tgsigqueueinfo",
    "frozen": "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat"
    " setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat file_setattr",
    "grouped": "",
    "leashed": "",
}
MODE_CHANGES = "chmod fchmod fchmodat fchmodat2"
WITH_MODES = f"{MODE_CHANGES} open openat creat mknod mknodat"


PLACEMENT = "sched_setaffinity sched_setscheduler sched_setparam sched_setattr migrate_pages move_pages"
ORDINARY = """
    read write readv writev pread64 openat close close_range mmap munmap mprotect brk futex
    execve execveat fork vfork wait4 waitid exit exit_group kill tgkill rt_sigaction rt_sigprocmask pipe2 dup3
    epoll_create1 epoll_ctl epoll_pwait eventfd2 timerfd_create inotify_init1 inotify_add_watch memfd_create
    sendmsg recvmsg recvfrom shutdown getsockopt setsockopt getsockname getpeername sendfile splice vmsplice
    copy_file_range renameat2 unlinkat linkat symlinkat mkdirat fchmodat fchmodat2 utimensat setxattr flock
    prctl seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self personality capset
    pidfd_open pidfd_send_signal getrandom rseq set_robust_list membarrier mlock madvise sched_setaffinity
    setpriority prlimit64 shmget semget msgget mq_open name_to_handle_at statx statmount mseal getxattrat
    file_getattr rseq_slice_yield setsid setpgid getpid gettid
"""


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("layer", DENIED_BY_LAYER)
def test_exactly_these_calls_are_denied_outright(arch: str, layer: str) -> None:
    assert denied_whatever_the_arguments(arch, layer) == numbers(arch, DENIED_BY_LAYER[layer])


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize(
    ("layer", "names"),
    [
        *((layer, f"clone ioctl fcntl socket socketpair sendto {WITH_MODES}") for layer in OFFLINE),
        *((layer, f"clone ioctl fcntl socket socketpair {WITH_MODES}") for layer in ONLINE),
        ("shared", f"prlimit64 setpriority ioprio_set ioctl {PLACEMENT}"),
        ("unscoped", "kill tkill tgkill pidfd_send_signal fcntl ioctl"),
        ("frozen", ""),
        ("grouped", "setpriority ioprio_set"),
        ("leashed", "kill"),
    ],
)
def test_arguments_are_read_of_exactly_these_calls(arch: str, layer: str, names: str) -> None:
    """All other answers the kernel can remember, so that the filter costs nothing afterwards."""
    program = shipped(arch, layer)
    asked = {n for n in NUMBERS if evaluate(program, ARCHES[arch], n).looked_at_arguments}
    assert asked == numbers(arch, names)


CLONE_NAMESPACES = (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
THREAD_FLAGS, FORK_FLAGS, VFORK_FLAGS = 0x3D0F00, 0x1200011, 0x4111
FIONREAD, TCGETS, TCSETS, TIOCSWINSZ, TIOCSCTTY, FICLONE = 0x541B, 0x5401, 0x5402, 0x5414, 0x540E, 0x40049409
DENIED_IOCTLS = (0x5412, 0x541C, 0x541D, 0x5423, 0x540C, 0x4B46, 0x4B72, 0x5606, 0x5600, 0xC0506617, 0xC0406618)
FILE_IOCTLS = (
    *(0x40086602, 0x401C5820, 0x40087602, 0x40086604, 0x800C6613, 0x40806685, 0x40047211, 0x50009401, 0x50009402),
    *(0x5000940E, 0x5000940F, 0x50009417, 0x50009418, 0x4008941A, 0x5000943F, 0xC0C89425),
)
SET_UID, SET_GID, CREATE, UNNAMED = 0o4000, 0o2000, 0o100, 0o20200000
HERE = -100
NEITHER_STREAM_NOR_PACKET = tuple(kind for kind in range(16) if kind not in (STREAM, SEQPACKET))
ADDRESS = 0x7F0000001000


def mode_changes(bits: int) -> list[Call]:
    """Every call that changes a mode, with these bits set."""
    return [
        *(Call(name, (ADDRESS, 0o755 | bits)) for name in ("chmod", "fchmod")),
        *(Call(name, (HERE, ADDRESS, 0o755 | bits)) for name in ("fchmodat", "fchmodat2")),
        *(Call(name, (HERE, ADDRESS, 0o755 | bits | RUBBISH)) for name in ("fchmodat", "fchmodat2")),
    ]


def creations(bits: int) -> list[Call]:
    """Every call that makes a file with a mode, with these bits set."""
    return [
        *(Call("open", (ADDRESS, flags | 1, 0o755 | bits)) for flags in (CREATE, UNNAMED, CREATE | 0o200)),
        *(Call("openat", (HERE, ADDRESS, flags | 1, 0o755 | bits)) for flags in (CREATE, UNNAMED, CREATE | RUBBISH)),
        Call("creat", (ADDRESS, 0o755 | bits)),
        Call("mknod", (ADDRESS, 0o100755 | bits, 0)),
        Call("mknodat", (HERE, ADDRESS, 0o100755 | bits, 0)),
    ]


DENIED_CALLS = {
    BASES: [
        *mode_changes(SET_UID),
        *mode_changes(SET_UID | SET_GID),
        *creations(SET_UID),
        *creations(SET_GID),
        *(Call("clone", (flag | 17,)) for flag in CLONE_NAMESPACES),
        *(Call("clone", (flag | RUBBISH,)) for flag in CLONE_NAMESPACES),
        Call("clone", (sum(CLONE_NAMESPACES),)),
        *(Call("ioctl", (0, request)) for request in DENIED_IOCTLS),
        *(Call("ioctl", (0, request | RUBBISH)) for request in DENIED_IOCTLS),
        Call("fcntl", (3, 1024)),
        Call("fcntl", (3, 1024 | RUBBISH)),
        Call("fcntl", (3, 1035)),
        *(Call("socketpair", (AF_UNIX, kind)) for kind in NEITHER_STREAM_NOR_PACKET),
        Call("socketpair", (AF_UNIX, DGRAM | CLOEXEC_NONBLOCK)),
        Call("socketpair", (AF_UNIX, RAW | CLOEXEC_NONBLOCK | RUBBISH)),
        *(Call("socketpair", (family, STREAM)) for family in (0, AF_INET, AF_INET6, 30, AF_VSOCK)),
        *(
            Call("socket", (family, kind))
            for family in (0, AF_PACKET, AF_ALG, AF_VSOCK, 31, 44)
            for kind in (1, 2, 3, 5)
        ),
        *(Call("socket", (family, STREAM)) for family in (*range(3, 10), *range(11, 16))),
        Call("socket", (AF_VSOCK | RUBBISH, STREAM)),
        Call("socket", (9 | RUBBISH, STREAM)),
        *(Call("socket", (AF_UNIX, kind)) for kind in NEITHER_STREAM_NOR_PACKET),
        *(Call("socket", (AF_UNIX, kind)) for kind in (DGRAM | CLOEXEC_NONBLOCK, RAW | RUBBISH)),
        Call("socket", (AF_NETLINK, RAW, 9)),
        Call("socket", (AF_NETLINK, RAW, 15)),
    ],
    OFFLINE: [
        *(
            Call("socket", (family, kind))
            for family in (AF_INET, AF_INET6, AF_NETLINK)
            for kind in (STREAM, DGRAM, RAW)
        ),
        Call("sendto", (3, ADDRESS, 5, 0, ADDRESS, 16)),
        Call("sendto", (3, ADDRESS, 5, 0, 1 << 40, 16)),
        Call("sendto", (3, ADDRESS, 5, 0, 1, 16)),
    ],
    ONLINE: [
        Call("socket", (AF_UNIX, STREAM)),
        Call("socket", (AF_UNIX, SEQPACKET | CLOEXEC_NONBLOCK)),
        Call("socket", (AF_UNIX | RUBBISH, STREAM)),
    ],
    ("shared",): [
        Call("prlimit64", (4711, 7, ADDRESS, 0)),
        Call("prlimit64", (4711, 7, 1 << 40, ADDRESS)),
        Call("setpriority", (0, 4711, 19)),
        *(Call("setpriority", (which, 0, 19)) for which in (1, 2)),
        Call("ioprio_set", (1, 4711, 0)),
        *(Call("ioprio_set", (which, 0, 0)) for which in (2, 3)),
        *(Call(name, (4711,)) for name in PLACEMENT.split()),
        *(Call("ioctl", (3, request | upper)) for upper in (0, RUBBISH) for request in FILE_IOCTLS),
    ],
    FOR_ROOT: [*mode_changes(SET_GID), *mode_changes(SET_UID | SET_GID)],
    ("grouped",): [
        *(Call("setpriority", (1 | upper, 0 | upper, 7)) for upper in (0, RUBBISH)),
        *(Call("ioprio_set", (2 | upper, 0 | upper, 7)) for upper in (0, RUBBISH)),
    ],
    ("leashed",): [Call("kill", (0 | upper, number)) for upper in (0, RUBBISH) for number in (1, 9, 15, 64)],
    ("unscoped",): [
        *(Call("kill", (pid, number)) for pid in (4711, -1, -4711, 1) for number in (9, 15, 1, 64)),
        Call("tgkill", (4711, 4711, 9)),
        Call("tkill", (4711, 15)),
        Call("pidfd_send_signal", (3, 9)),
        *(Call("fcntl", (3, command | upper)) for command in (8, 10, 15) for upper in (0, RUBBISH)),
        *(Call("ioctl", (3, request)) for request in (0x8901, 0x8902)),
    ],
}

ALLOWED_CALLS = {
    BASES: [
        *mode_changes(0o1022),
        *creations(0o1022),
        Call("openat", (HERE, ADDRESS, 0, 0o7777)),
        Call("openat", (HERE, ADDRESS, 0o2200000, 0o7777)),
        *(Call("clone", (flags,)) for flags in (THREAD_FLAGS, FORK_FLAGS, VFORK_FLAGS, 17)),
        *(Call("ioctl", (1, request)) for request in (FIONREAD, TCGETS, TCSETS, TIOCSWINSZ, TIOCSCTTY, FICLONE)),
        Call("ioctl", (3, 0xC0585611)),
        *(Call("fcntl", (3, command)) for command in (0, 1, 2, 3, 4, 6, 8, 1025, 1030, 1031, 1033)),
        *(Call("socketpair", (AF_UNIX, kind)) for kind in (STREAM, SEQPACKET, STREAM | CLOEXEC_NONBLOCK)),
        Call("sendto", (3, ADDRESS, 5, 0x4000, 0, 0)),
        *(Call(name) for name in ORDINARY.split()),
    ],
    OFFLINE: [Call("socket", (AF_UNIX, kind)) for kind in (STREAM, SEQPACKET, STREAM | CLOEXEC_NONBLOCK)],
    ONLINE: [
        *(
            Call("socket", (family, kind | CLOEXEC_NONBLOCK, protocol))
            for family in (AF_INET, AF_INET6)
            for kind, protocol in ((STREAM, 6), (DGRAM, 17), (STREAM, 0))
        ),
        Call("socket", (AF_NETLINK, RAW, 0)),
        *(Call(name) for name in "connect bind listen accept accept4 sendmmsg recvmmsg".split()),
        Call("sendto", (3, ADDRESS, 5, 0, ADDRESS, 16)),
    ],
    ("shared",): [
        Call("prlimit64", (0, 7, ADDRESS, ADDRESS)),
        Call("prlimit64", (4711, 7, 0, ADDRESS)),
        Call("setpriority", (0, 0, 10)),
        Call("ioprio_set", (1, 0, 0)),
        Call("sched_setaffinity", (0,)),
        Call("ioctl", (3, FICLONE)),
        Call("ioctl", (3, 0x80086601)),
        *(Call(name) for name in "kill tgkill chmod fchmodat shmdt openat".split()),
    ],
    ("unscoped",): [
        *(Call("kill", (0, number)) for number in (2, 9, 15)),
        *(Call("kill", (pid, 0)) for pid in (4711, -1)),
        Call("tgkill", (4711, 4712, 23)),
        Call("fcntl", (3, 4)),
        Call("ioctl", (3, FIONREAD)),
        *(Call(name) for name in "rt_sigaction alarm setitimer timer_create openat".split()),
    ],
    ("grouped",): [
        *(Call("setpriority", (which, who, 7)) for which, who in ((0, 0), (1, 7), (2, 0))),
        *(Call("ioprio_set", (which, who, 7)) for which, who in ((1, 0), (2, 7), (3, 0))),
        Call("kill", (0, 15)),
    ],
    ("leashed",): [Call("kill", (pid, number)) for pid, number in ((0, 0), (7, 9), (-7, 9), (-1, 9))],
    FOR_USERS: mode_changes(SET_GID),
    ("frozen",): [Call(name) for name in "openat write ftruncate getxattr fgetxattr flock mkdirat statx".split()],
}


def in_each_layer(table: dict[tuple[str, ...], list[Call]]) -> list[tuple[str, Call]]:
    return [(layer, call) for layers, calls in table.items() for layer in layers for call in calls]


@pytest.mark.parametrize("arch", ARCHES)
def test_denied_calls_fail_with_eperm(arch: str) -> None:
    wrong = [
        (layer, call) for layer, call in in_each_layer(DENIED_CALLS) if decide(arch, layer, call) not in (DENIED, None)
    ]
    assert wrong == []


@pytest.mark.parametrize("arch", ARCHES)
def test_allowed_calls_pass(arch: str) -> None:
    wrong = [
        (layer, call) for layer, call in in_each_layer(ALLOWED_CALLS) if decide(arch, layer, call) not in (ALLOW, None)
    ]
    assert wrong == []


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("layer", BASES)
def test_clone3_does_not_exist_so_that_libraries_fall_back(arch: str, layer: str) -> None:
    assert decide(arch, layer, Call("clone3", (ADDRESS, 88))) == UNKNOWN


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("layer", BASES)
def test_openat2_does_not_exist_as_its_mode_cannot_be_seen(arch: str, layer: str) -> None:
    assert decide(arch, layer, Call("openat2", (HERE, ADDRESS, ADDRESS, 24))) == UNKNOWN


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("layer", LAYERS)
def test_calls_from_the_future_do_not_exist(arch: str, layer: str) -> None:
    program = shipped(arch, layer)
    future = [472, 500, 511, 1 << 20, 0x7FFFFFFF, 0xFFFFFFFF]
    assert {evaluate(program, ARCHES[arch], number).action for number in future} == {UNKNOWN}


@pytest.mark.parametrize("layer", LAYERS)
def test_x32_calls_do_not_exist(layer: str) -> None:
    """Neither with their own bit nor as the bare numbers that old kernels took by mistake."""
    program = shipped("x86_64", layer)
    for number in (*(0x40000000 | n for n in (0, 1, 39, 101, 512, 521, 539)), *range(512, 548)):
        assert evaluate(program, X86_64, number).action == UNKNOWN, hex(number)


@pytest.mark.parametrize(
    ("arch", "foreign"), [("x86_64", I386), ("x86_64", AARCH64), ("aarch64", ARM), ("aarch64", X86_64)]
)
@pytest.mark.parametrize("layer", LAYERS)
def test_calls_of_another_architecture_kill(arch: str, foreign: int, layer: str) -> None:
    program = shipped(arch, layer)
    assert {evaluate(program, foreign, number).action for number in (0, 1, 20, 57, 452, 1000)} == {KILL_PROCESS}


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("layer", LAYERS)
def test_no_number_is_far_from_its_answer(arch: str, layer: str) -> None:
    """The kernel walks the program once for every number when it is loaded; a list would take 60 steps on average."""
    verdicts = [evaluate(shipped(arch, layer), ARCHES[arch], number) for number in NUMBERS]
    assert max(verdict.steps for verdict in verdicts if not verdict.looked_at_arguments) <= 24


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("layer", LAYERS)
def test_shipped_files_are_what_the_rules_say(arch: str, layer: str) -> None:
    built = seccomp_build.build(arch, seccomp_build.LAYERS[layer])
    recorded = Path(seccomp_build.OUTPUT_DIR, seccomp_build.BUILT_WITH).read_text().split()[1]
    if seccomp_build.library_version() == recorded:
        assert built == shipped(arch, layer)
    for number in NUMBERS:
        old, new = (evaluate(program, ARCHES[arch], number) for program in (shipped(arch, layer), built))
        assert (number, new.action, new.looked_at_arguments) == (number, old.action, old.looked_at_arguments)


def test_there_is_a_file_for_every_layer_and_no_other() -> None:
    expected = {seccomp_build.file_name(arch, layer) for arch in ARCHES for layer in LAYERS}
    assert {path.name for path in Path(seccomp_build.OUTPUT_DIR).glob("*.bpf")} == expected
