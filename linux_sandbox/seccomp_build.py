"""What the system call filters forbid, and how they become the shipped BPF files.

Owns the rules and the build: `python -m pycodex.linux_sandbox.seccomp_build` writes `bpf/<arch>-<layer>.bpf` for every
architecture. Needs pyseccomp and libseccomp, so nothing imports it at run time; `seccomp_filter` loads the files.

A layer is one program. `offline` and `online` are complete filters of which every confined process gets one, root the
stricter one that is named so: one program is loaded faster than two. The others are stacked on top where a weaker level
asks for them; the kernel takes the strictest answer of all layers: `shared` where the process lives in the host's pid
and ipc namespaces, `unscoped` where moreover Landlock does not yet confine signals, `frozen` where file metadata must
not change and no read-only mount says so, `grouped` where the process is in its caller's process group, `leashed` where
moreover Landlock does not yet confine signals.

Comparisons that must match to deny look at the lower 32 bits only wherever the kernel takes an int, so that rubbish in
the upper half does not slip through; comparisons that deny by difference look at all 64, and rubbish is denied.
"""

import errno
import os
import struct
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pyseccomp

OUTPUT_DIR = Path(__file__).parent / "bpf"
BUILT_WITH = "BUILT_WITH"
ARCHITECTURES = {"x86_64": pyseccomp.Arch.X86_64, "aarch64": pyseccomp.Arch.AARCH64}

LAST_KNOWN = 471
"""Highest system call number these rules were written for (rseq_slice_yield). What comes later, and every x32 number,
answers ENOSYS: a new kernel must not bring a way around the rules."""

NEWER_THAN_LIBSECCOMP = {
    "fchmodat2": 452,
    "lsm_set_self_attr": 460,
    "setxattrat": 463,
    "removexattrat": 466,
    "open_tree_attr": 467,
    "file_setattr": 469,
}
"""Decided by number in a prologue of our own, whatever the library knows: these numbers are the same everywhere."""


class Condition(NamedTuple):
    """One comparison with an argument of the call."""

    argument: int
    operator: int
    value: int
    mask: int = 0


class Rule(NamedTuple):
    """Calls that fail with `answer` when all of `conditions` hold."""

    names: str
    conditions: tuple[Condition, ...] = ()
    answer: int = errno.EPERM


def is_int(argument: int, value: int) -> Condition:
    return Condition(argument, pyseccomp.MASKED_EQ, value, 0xFFFFFFFF)


def has_bits(argument: int, bits: int) -> Condition:
    return Condition(argument, pyseccomp.MASKED_EQ, bits, bits)


def lacks_bit(argument: int, bit: int) -> Condition:
    return Condition(argument, pyseccomp.MASKED_EQ, 0, bit)


def differs(argument: int, value: int) -> Condition:
    return Condition(argument, pyseccomp.NE, value)


def below(argument: int, value: int) -> Condition:
    return Condition(argument, pyseccomp.LT, value)


def above(argument: int, value: int) -> Condition:
    return Condition(argument, pyseccomp.GT, value)


def each_int(names: str, argument: int, values: tuple[int, ...]) -> tuple[Rule, ...]:
    return tuple(Rule(names, (is_int(argument, value),)) for value in values)


AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
SIGURG = 23

CLONE_NEW = (
    0x00020000,  # mount
    0x02000000,  # cgroup
    0x04000000,  # uts
    0x08000000,  # ipc
    0x10000000,  # user
    0x20000000,  # pid
    0x40000000,  # net
)
TERMINAL_IOCTLS = (
    0x5412,  # TIOCSTI: types into the terminal
    0x541C,  # TIOCLINUX: the same on a console
    0x541D,  # TIOCCONS: diverts the console
    0x5423,  # TIOCSETD: loads line disciplines
    0x540C,  # TIOCEXCL: locks others out of the terminal
)
FILE_KEY_IOCTLS = (0xC0506617, 0xC0406618)  # FS_IOC_ADD_ENCRYPTION_KEY, FS_IOC_REMOVE_ENCRYPTION_KEY
CONSOLE_IOCTL_FAMILIES = (0x4B00, 0x5600)  # keyboard maps and fonts; switching of virtual terminals
FCNTL_LEASES = (1024, 1035)  # F_SETLEASE, F_SETDELEG: others wait for the holder before they may open the file
FCNTL_SIGNALS = (8, 10, 15)  # F_SETOWN, F_SETSIG, F_SETOWN_EX
IOCTL_SIGNALS = (0x8901, 0x8902)  # FIOSETOWN, SIOCSPGRP
FILE_IOCTLS = (
    0x40086602,  # FS_IOC_SETFLAGS
    0x401C5820,  # FS_IOC_FSSETXATTR
    0x40087602,  # FS_IOC_SETVERSION
    0x40086604,  # EXT4_IOC_SETVERSION
    0x800C6613,  # FS_IOC_SET_ENCRYPTION_POLICY
    0x40806685,  # FS_IOC_ENABLE_VERITY
    0x40047211,  # FAT_IOCTL_SET_ATTRIBUTES
    0x50009401,  # BTRFS_IOC_SNAP_CREATE
    0x50009402,  # BTRFS_IOC_DEFRAG
    0x5000940E,  # BTRFS_IOC_SUBVOL_CREATE
    0x5000940F,  # BTRFS_IOC_SNAP_DESTROY
    0x50009417,  # BTRFS_IOC_SNAP_CREATE_V2
    0x50009418,  # BTRFS_IOC_SUBVOL_CREATE_V2
    0x4008941A,  # BTRFS_IOC_SUBVOL_SETFLAGS
    0x5000943F,  # BTRFS_IOC_SNAP_DESTROY_V2
    0xC0C89425,  # BTRFS_IOC_SET_RECEIVED_SUBVOL
)

S_ISUID, S_ISGID = 0o4000, 0o2000
O_CREAT, O_TMPFILE = 0o100, 0o20000000
# Name, position of the flags and of the mode.
OPENING = (("open", 1, 2), ("openat", 2, 3))
# The same without flags: they always create.
CREATING = (("creat", 1), ("mknod", 1), ("mknodat", 2))
CHANGING_MODE = (("chmod fchmod", 1), ("fchmodat fchmodat2", 2))

# A file that runs with its owner's identity lends it to any other user of the machine, long after the call: outside
# there is no sandbox around it. Directories keep their set-gid bit, which only root's are denied (see SUPERUSER).
SET_ID_FILES = (
    *(Rule(names, (has_bits(mode, S_ISUID),)) for names, mode in CHANGING_MODE),
    *(Rule(name, (has_bits(mode, bit),)) for name, mode in CREATING for bit in (S_ISUID, S_ISGID)),
    *(
        Rule(name, (has_bits(flags, creating), has_bits(mode, bit)))
        for name, flags, mode in OPENING
        for creating in (O_CREAT, O_TMPFILE)
        for bit in (S_ISUID, S_ISGID)
    ),
    # Its mode is behind a pointer; programs fall back to openat.
    Rule("openat2", answer=errno.ENOSYS),
)

ALWAYS = (
    # Memory, registers and descriptors of other processes.
    Rule("ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_getfd"),
    # Makes system calls that no filter sees.
    Rule("io_uring_setup io_uring_enter io_uring_register"),
    # A user namespace brings back every capability; a new view of the file system undoes the carve-outs.
    Rule("unshare setns chroot mount umount2 pivot_root move_mount mount_setattr"),
    Rule("open_tree open_tree_attr fsopen fsmount fsconfig fspick"),
    *(Rule("clone", (has_bits(0, flag),)) for flag in CLONE_NEW),
    # Its flags are behind a pointer, where no filter can look; libraries fall back to clone.
    Rule("clone3", answer=errno.ENOSYS),
    # Keys live in the kernel, past the end of the command; without its key the user's encrypted home is closed.
    Rule("add_key request_key keyctl"),
    *each_int("ioctl", 1, FILE_KEY_IOCTLS),
    # Opens files by inode, past every path rule.
    Rule("open_by_handle_at fanotify_init"),
    # Large kernel interfaces that ordinary programs do without.
    Rule("bpf perf_event_open userfaultfd memfd_secret modify_ldt uselib _sysctl nfsservctl lookup_dcookie"),
    # The machine itself: kernel, clock, name, swap, ports, accounting, quotas, its log, security labels.
    Rule("kexec_load kexec_file_load create_module init_module finit_module delete_module reboot swapon swapoff acct"),
    Rule("settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname iopl ioperm vhangup syslog"),
    Rule("quotactl quotactl_fd lsm_set_self_attr"),
    # The terminal behind an inherited descriptor is the user's.
    *each_int("ioctl", 1, TERMINAL_IOCTLS),
    *(Rule("ioctl", (Condition(1, pyseccomp.MASKED_EQ, family, 0xFFFFFF00),)) for family in CONSOLE_IOCTL_FAMILIES),
    # Stops the user's own programs from opening a file that was only read here.
    *each_int("fcntl", 1, FCNTL_LEASES),
    # Of the socket pairs only streams and packets: a datagram socket can be sent on to any address. Raw ones become
    # datagram sockets. Left are the types 1 and 5.
    Rule("socketpair", (differs(0, AF_UNIX),)),
    Rule("socketpair", (lacks_bit(1, 1),)),
    *(Rule("socketpair", (has_bits(1, bit),)) for bit in (2, 8)),
    *SET_ID_FILES,
)

OFFLINE = (
    *ALWAYS,
    # Nothing can be reached or offered; what a socket pair needs stays allowed.
    Rule("connect bind listen accept accept4 sendmmsg recvmmsg"),
    Rule("sendto", (differs(4, 0),)),
    # As with socket pairs.
    Rule("socket", (differs(0, AF_UNIX),)),
    Rule("socket", (lacks_bit(1, 1),)),
    *(Rule("socket", (has_bits(1, bit),)) for bit in (2, 8)),
)

ONLINE = (
    *ALWAYS,
    # The internet and the routing table only. Local sockets would reach the services of the user (containers, session
    # bus, agents), any of which runs commands outside: network access is not meant by that.
    Rule("socket", (below(0, AF_INET),)),
    *each_int("socket", 0, tuple(n for n in range(AF_INET + 1, AF_NETLINK) if n != AF_INET6)),
    Rule("socket", (above(0, AF_NETLINK),)),
    Rule("socket", (is_int(0, AF_NETLINK), differs(2, 0))),
)

SHARED = (
    # Objects of the host's ipc namespace, found by number or name and left behind.
    Rule("shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink"),
    # Limits, priority and placement of other processes.
    Rule("prlimit64", (differs(0, 0), differs(2, 0))),
    Rule("setpriority", (differs(0, 0),)),
    Rule("setpriority", (differs(1, 0),)),
    Rule("ioprio_set", (differs(0, 1),)),
    Rule("ioprio_set", (differs(1, 0),)),
    Rule(
        "sched_setaffinity sched_setscheduler sched_setparam sched_setattr migrate_pages move_pages", (differs(0, 0),)
    ),
    # Change files through descriptors that are open for reading, which Landlock does not see.
    *each_int("ioctl", 1, FILE_IOCTLS),
    Rule("file_setattr"),
)

UNSCOPED = (
    # Only the own process group, and questions whether a process lives. Go's scheduler needs SIGURG.
    Rule("kill", (differs(0, 0), differs(1, 0))),
    Rule("pidfd_send_signal", (differs(1, 0),)),
    Rule("tkill", (differs(1, SIGURG),)),
    Rule("tgkill", (differs(2, SIGURG),)),
    Rule("rt_sigqueueinfo rt_tgsigqueueinfo"),
    # The kernel would send the signal for us.
    *each_int("fcntl", 1, FCNTL_SIGNALS),
    *each_int("ioctl", 1, IOCTL_SIGNALS),
)

FROZEN = (
    Rule("chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat"),
    Rule("utime utimes futimesat utimensat"),
    Rule("setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat"),
    Rule("file_setattr"),
)

# No filter can tell a file from a directory. Of an ordinary user this would cost the shared directories of a group, in
# which every copy carries the bit; root's group is worth more than that.
SUPERUSER = tuple(Rule(names, (has_bits(mode, S_ISGID),)) for names, mode in CHANGING_MODE)

# Zero names the caller's own group, whatever namespaces lie between its members; it has no other name inside.
PRIO_PGRP, IOPRIO_WHO_PGRP = 1, 2
GROUPED = (
    Rule("setpriority", (is_int(0, PRIO_PGRP), is_int(1, 0))),
    Rule("ioprio_set", (is_int(0, IOPRIO_WHO_PGRP), is_int(1, 0))),
)
LEASHED = (Rule("kill", (is_int(0, 0), differs(1, 0))),)

LAYERS = {
    "offline": OFFLINE,
    "online": ONLINE,
    "offline-root": OFFLINE + SUPERUSER,
    "online-root": ONLINE + SUPERUSER,
    "shared": SHARED,
    "unscoped": UNSCOPED,
    "frozen": FROZEN,
    "grouped": GROUPED,
    "leashed": LEASHED,
}

_LOAD, _RETURN, _JUMP, _JUMP_EQUAL, _JUMP_GREATER, _JUMP_GREATER_EQUAL, _JUMP_BITS = (
    *(0x20, 0x06, 0x05, 0x15, 0x25, 0x35, 0x45),
)
_NUMBER_OFFSET, _ARCH_OFFSET, _ARGUMENTS_OFFSET, _ARGUMENT_BYTES = 0, 4, 16, 8


def build(arch: str, layer: tuple[Rule, ...]) -> bytes:
    """The program of one layer for one architecture, whatever machine this is."""
    token = ARCHITECTURES[arch]
    program = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    if token != pyseccomp.system_arch():
        program.remove_arch(pyseccomp.system_arch())
        program.add_arch(token)
    program.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.KILL_PROCESS)
    # A binary tree: the kernel tries the filter with every number when it is loaded, so depth is start-up time.
    program.set_attr(pyseccomp.Attr.CTL_OPTIMIZE, 2)
    by_number: dict[int, tuple[Condition, ...]] = {}
    for rule in layer:
        action = pyseccomp.ERRNO(rule.answer)
        conditions = [_argument(condition) for condition in rule.conditions]
        for name in rule.names.split():
            if name in NEWER_THAN_LIBSECCOMP:
                number = NEWER_THAN_LIBSECCOMP[name]
                by_number[number] = (
                    _either(by_number[number], rule.conditions) if number in by_number else rule.conditions
                )
                continue
            if pyseccomp.resolve_syscall(token, name) == -1:
                raise LookupError(f"this libseccomp does not know {name}: use a newer one")
            program.add_rule(action, name, *conditions)
    with tempfile.TemporaryFile() as exported:
        program.export_bpf(exported)
        exported.seek(0)
        return _prologue(token, tuple(by_number.items())) + exported.read()


def _either(one: tuple[Condition, ...], other: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Both rules in one comparison: each asks for a bit of the same argument, and any of them is too much."""
    if not one or not other:
        return ()
    (first,), (second,) = one, other
    if first.argument != second.argument:
        raise ValueError(f"no single comparison for arguments {first.argument} and {second.argument}")
    return (has_bits(first.argument, first.mask | second.mask),)


def _argument(condition: Condition) -> pyseccomp.Arg:
    if condition.operator == pyseccomp.MASKED_EQ:
        return pyseccomp.Arg(condition.argument, condition.operator, condition.mask, condition.value)
    return pyseccomp.Arg(condition.argument, condition.operator, condition.value)


def _prologue(arch_token: int, denied: tuple[tuple[int, tuple[Condition, ...]], ...]) -> bytes:
    """Checks that come first: the architecture, numbers from the future, and the calls that are denied by number."""
    returns = [
        (_RETURN, 0, 0, pyseccomp.ERRNO(errno.EPERM)),
        (_RETURN, 0, 0, pyseccomp.ERRNO(errno.ENOSYS)),
        (_RETURN, 0, 0, pyseccomp.KILL_PROCESS),
    ]
    count = sum(4 if conditions else 1 for _, conditions in denied)
    # Jumps are relative to the next instruction. After the fourth: the short cut, `count` for the comparisons, a jump
    # over the returns, and the three returns.
    code = [
        (_LOAD, 0, 0, _ARCH_OFFSET),
        (_JUMP_EQUAL, 0, count + 6, arch_token),
        (_LOAD, 0, 0, _NUMBER_OFFSET),
        (_JUMP_GREATER, count + 3, 0, LAST_KNOWN),
        (_JUMP_GREATER_EQUAL, 0, count, min((number for number, _ in denied), default=0)),
    ]
    left = count
    for number, conditions in denied:
        left -= 4 if conditions else 1
        if not conditions:
            code.append((_JUMP_EQUAL, left + 1, 0, number))
            continue
        # Bits that must be set are the only condition that is needed here.
        (condition,) = conditions
        code += [
            (_JUMP_EQUAL, 0, 3, number),
            (_LOAD, 0, 0, _ARGUMENTS_OFFSET + _ARGUMENT_BYTES * condition.argument),
            (_JUMP_BITS, left + 2, 0, condition.mask),
            (_LOAD, 0, 0, _NUMBER_OFFSET),
        ]
    code += [(_JUMP, 0, 0, len(returns)), *returns]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def library_version() -> str:
    """The libseccomp that pyseccomp uses: another one may order instructions differently."""
    return os.path.basename(os.path.realpath(_library_path())).rpartition(".so.")[2]


def _library_path() -> str:
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next(line.split()[-1] for line in maps if "libseccomp.so" in line)


def file_name(arch: str, layer_name: str) -> str:
    return f"{arch}-{layer_name}.bpf"


def main() -> None:
    OUTPUT_DIR.mkdir(exist_ok=True)
    for arch in ARCHITECTURES:
        for name, layer in LAYERS.items():
            data = build(arch, layer)
            (OUTPUT_DIR / file_name(arch, name)).write_bytes(data)
            sys.stdout.write(f"{file_name(arch, name)}: {len(data) // 8} instructions\n")
    (OUTPUT_DIR / BUILT_WITH).write_text(f"libseccomp {library_version()}\n")


if __name__ == "__main__":
    main()
