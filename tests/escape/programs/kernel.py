"""Attempts at the kernel itself: rare system calls, devices, sysctls, control groups, privilege, the terminal."""

import ctypes
import fcntl
import os
import resource
import stat
import struct
import subprocess
from collections.abc import Callable

from escape.programs.rawcalls import World, each, in_child, later, libc, opens, past_the_gate, require_sandbox, syscall

PR_CAP_AMBIENT, PR_SET_SECUREBITS, PR_SET_KEEPCAPS = 47, 28, 8
KEYRING_SESSION, KEYRING_USER = -3, -4
TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS, TIOCSCTTY = 0x5412, 0x541C, 0x5423, 0x541D, 0x540E
DEVICES = (
    "kmsg mem kmem port vda vda1 sda sda1 nvme0n1 dm-0 mapper/control loop-control loop0 fuse net/tun input/event0 "
    "input/mice uinput kvm vhost-net vhost-vsock tty0 tty1 console vcs vcsa autofs btrfs-control cpu/0/msr "
    "dri/card0 userfaultfd udmabuf hwrng nvram rfkill vsock ppp sg0 mtd0 zram0 ram0"
).split()
ALLOWED_DEVICES = {"null", "zero", "full", "random", "urandom", "tty", "ptmx"}
SYSTEM_FILES = (
    "/proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/kernel/hostname /proc/sys/kernel/panic "
    "/proc/sys/kernel/randomize_va_space /proc/sys/vm/overcommit_memory /proc/sys/vm/drop_caches "
    "/proc/sys/fs/suid_dumpable /proc/sys/fs/binfmt_misc/register /proc/sys/net/ipv4/ip_forward "
    "/proc/sys/kernel/ns_last_pid /proc/sys/user/max_user_namespaces /proc/sys/kernel/domainname "
    "/proc/sys/kernel/shmmax /proc/sys/fs/mqueue/msg_max /proc/sysrq-trigger /proc/irq/default_smp_affinity "
    "/proc/mtrr /proc/timer_list /proc/kcore /proc/kmsg /proc/acpi/wakeup /proc/scsi/scsi /proc/bus/pci/devices "
    "/sys/kernel/uevent_helper /sys/power/state /sys/kernel/mm/ksm/run /sys/module/printk/parameters/time "
    "/sys/kernel/debug/tracing/trace_marker /sys/kernel/tracing/trace_marker /sys/fs/selinux/enforce "
    "/sys/kernel/security/lockdown /sys/class/mem/null/uevent /sys/devices/virtual/mem/null/uevent"
).split()


def bpf(world: World) -> object:
    """An array map of one element."""
    return syscall("bpf", 0, struct.pack("IIII", 2, 4, 4, 1) + bytes(112), 128) >= 0


def performance_events(world: World) -> object:
    """A software counter on this very process."""
    attributes = struct.pack("IIQ", 1, 128, 0) + bytes(112)
    return syscall("perf_event_open", attributes, 0, -1, -1, 0) >= 0


def page_faults(world: World) -> object:
    return each({"kernel": lambda: syscall("userfaultfd", 0), "user": lambda: syscall("userfaultfd", 1)})


def keyrings(world: World) -> object:
    name = world["token"].encode()
    return each(
        {
            "join session": lambda: syscall("keyctl", 1, None, 0, 0, 0),
            "add_key": lambda: syscall("add_key", b"user", name, b"pwned", 5, KEYRING_SESSION),
            "keyctl": lambda: syscall("keyctl", 0, KEYRING_SESSION, 0, 0, 0),
            "request_key": lambda: _found_key(name),
        }
    )


def _found_key(name: bytes) -> bool:
    try:
        return syscall("request_key", b"user", name, None, 0) > 0
    except OSError as error:
        if error.errno == 126:  # ENOKEY: it was looked for
            return True
        raise


def run_from_memory(world: World) -> object:
    """A program without a file is allowed; it must stay as confined as its parent."""
    descriptor = os.memfd_create("shell")
    with open("/bin/sh", "rb") as source:
        os.write(descriptor, source.read())
    command = f"echo pwned > {world['target']}/new"
    subprocess.run(
        [f"/proc/self/fd/{descriptor}", "-c", command], pass_fds=[descriptor], check=False, stderr=subprocess.DEVNULL
    )
    return os.path.exists(f"{world['target']}/new")


def change_personality_and_write(world: World) -> object:
    """Read-implies-exec and friends change how memory looks, never what may be written."""
    libc.personality(ctypes.c_ulong(0x0400000))
    os.close(os.open(os.path.join(world["target"], "file"), os.O_WRONLY | os.O_TRUNC))
    return True


def set_user_id_program(world: World) -> object:
    """A copy of `id` that belongs to somebody else and says so."""
    answer = subprocess.run([world["set_user_id"], "-u"], capture_output=True, text=True, check=False)
    if answer.returncode:
        raise PermissionError(1, answer.stderr)
    return int(answer.stdout) != os.getuid()


def file_capabilities(world: World) -> object:
    answer = subprocess.run([world["capable"], "/proc/self/status"], capture_output=True, text=True, check=False)
    if answer.returncode:
        raise PermissionError(1, answer.stderr)
    effective = next(line.split()[1] for line in answer.stdout.splitlines() if line.startswith("CapEff"))
    return int(effective, 16) != 0


def status_of_privilege(world: World) -> object:
    """What is left of privilege, from the kernel's own account of this process."""
    with open("/proc/self/status", encoding="ascii") as file:
        fields = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    faults = {name: fields[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb") if int(fields[name], 16)}
    if fields["NoNewPrivs"].strip() != "1":
        faults["NoNewPrivs"] = fields["NoNewPrivs"]
    if fields["Seccomp"].strip() != "2":
        faults["Seccomp"] = fields["Seccomp"]
    return faults


def regain_privilege(world: World) -> object:
    require_sandbox(world)
    header = struct.pack("Ii", 0x20080522, 0)
    everything = struct.pack("IIIIII", *[0xFFFFFFFF] * 6)
    one = struct.pack("IIIIII", 1 << 21, 1 << 21, 0, 0, 0, 0)
    other = 65534 if os.getuid() == 0 else 0
    return each(
        {
            "capset all": lambda: in_child(lambda: syscall("capset", header, everything)),
            "capset sys_admin": lambda: in_child(lambda: syscall("capset", header, one)),
            "ambient": lambda: in_child(lambda: syscall("prctl", PR_CAP_AMBIENT, 2, 21, 0, 0)),
            "securebits": lambda: in_child(lambda: syscall("prctl", PR_SET_SECUREBITS, 0, 0, 0, 0)),
            "setuid": lambda: in_child(lambda: syscall("setuid", other)),
            "setgid": lambda: in_child(lambda: syscall("setgid", other)),
            "setresuid": lambda: in_child(lambda: syscall("setresuid", -1, other, -1)),
            "setgroups": lambda: in_child(lambda: os.setgroups([0])),
            "hard limit": lambda: in_child(lambda: resource.setrlimit(resource.RLIMIT_CORE, (1, 1))),
        }
    )


def rare_calls(world: World) -> object:
    """Arguments that cannot work or change nothing: what counts is whether the kernel got to see them."""
    require_sandbox(world)
    host = os.uname().nodename.encode()
    return past_the_gate(
        {
            "acct": lambda: syscall("acct", b"/nowhere"),
            "swapon": lambda: syscall("swapon", b"/nowhere", 0),
            "swapoff": lambda: syscall("swapoff", b"/nowhere"),
            "settimeofday": lambda: syscall("settimeofday", None, None),
            "sethostname": lambda: syscall("sethostname", host, len(host)),
            "setdomainname": lambda: syscall("setdomainname", b"", 0),
            "init_module": lambda: syscall("init_module", b"", 0, b""),
            "finit_module": lambda: syscall("finit_module", -1, b"", 0),
            "delete_module": lambda: syscall("delete_module", b"pycodex_no_such_module", 0o4000),
            "quotactl": lambda: syscall("quotactl", -1, b"/nowhere", 0, None),
            "syslog": lambda: syscall("syslog", 10, None, 0),
            "syslog read": lambda: syscall("syslog", 3, bytes(64), 64),
            "fanotify_init": lambda: syscall("fanotify_init", 0, 0),
            "iopl": lambda: syscall("iopl", 3),
            "kcmp": lambda: syscall("kcmp", 1, os.getpid(), 0, 0, 0),
            "process_madvise": lambda: syscall("process_madvise", -1, None, 0, 0, 0),
            "lookup_dcookie": lambda: syscall("lookup_dcookie", 0, None, 0),
            "open_by_handle_at": lambda: syscall("open_by_handle_at", -1, bytes(136), 0),
            "io_uring_enter": lambda: syscall("io_uring_enter", -1, 0, 0, 0, None, 0),
            "io_uring_register": lambda: syscall("io_uring_register", -1, 0, None, 0),
            "pidfd_getfd": lambda: syscall("pidfd_getfd", -1, 0, 0),
            "process_vm_readv": lambda: syscall("process_vm_readv", os.getpid(), None, 0, None, 0, 0),
        }
    )


def devices(world: World) -> object:
    """Opening is all: nothing is read or written. Watchdogs are left out, since opening one arms it."""
    require_sandbox(world)
    return each({name: later(opens, f"/dev/{name}") for name in DEVICES})


def unexpected_devices(world: World) -> object:
    """Every device node in /dev but the harmless ones; terminals and links are looked at elsewhere."""
    require_sandbox(world)
    modes = {entry.name: entry.stat(follow_symlinks=False).st_mode for entry in os.scandir("/dev")}
    return sorted(name for name, mode in modes.items() if _is_device(mode) and name not in ALLOWED_DEVICES)


def _is_device(mode: int) -> bool:
    return stat.S_ISCHR(mode) or stat.S_ISBLK(mode)


def other_terminals(world: World) -> object:
    """Terminals of the host are not in a private /dev/pts."""
    require_sandbox(world)
    return each({path: later(opens, path, os.O_WRONLY | os.O_NOCTTY) for path in world["terminals"]})


def system_files(world: World) -> object:
    """Opening for writing is all: nothing is written."""
    require_sandbox(world)
    return each({path: later(opens, path, os.O_WRONLY | os.O_NONBLOCK) for path in SYSTEM_FILES})


def control_groups(world: World) -> object:
    require_sandbox(world)
    roots = [root for root in world["cgroups"] if os.path.isdir(root)]
    makes = {f"mkdir {root}": later(os.mkdir, f"{root}/{world['token']}") for root in roots}
    opened = {
        f"open {root}/{name}": later(opens, f"{root}/{name}", os.O_WRONLY)
        for root in roots
        for name in ("cgroup.procs", "release_agent", "notify_on_release", "memory.max", "devices.allow")
    }
    return each({**makes, **opened})


def core_dumps(world: World) -> object:
    """One byte is none as well: too small for a file, and the one size for which the kernel starts no dump program."""
    return max(resource.getrlimit(resource.RLIMIT_CORE)) > 1


def inject_input(world: World) -> object:
    """Types a letter into the terminal it was started on, by every descriptor and name it has."""
    targets = {
        "stdin": lambda: 0,
        "tty": lambda: os.open("/dev/tty", os.O_RDWR),
        "name": lambda: os.open(world["terminal"], os.O_RDWR | os.O_NOCTTY),
    }

    def type_letter(opener: Callable[[], int], request: int) -> None:
        letter = ctypes.create_string_buffer(b"x")
        if libc.ioctl(opener(), ctypes.c_ulong(request), letter):
            raise OSError(ctypes.get_errno(), "ioctl")

    requests = {"plain": TIOCSTI, "upper half": TIOCSTI | 1 << 32}
    return each(
        {
            f"{where} {kind}": later(type_letter, opener, request)
            for where, opener in targets.items()
            for kind, request in requests.items()
        }
    )


def take_terminal(world: World) -> object:
    """Pastes into the caller's terminal, changes how it works, or makes it its own."""
    require_sandbox(world)
    gated = past_the_gate(
        {
            "paste": lambda: fcntl.ioctl(0, TIOCLINUX, b"\x03"),
            "select": lambda: fcntl.ioctl(0, TIOCLINUX, b"\x02" + bytes(16)),
            "console": lambda: fcntl.ioctl(0, TIOCCONS, 0),
        }
    )
    others = each(
        {
            "discipline": lambda: fcntl.ioctl(0, TIOCSETD, struct.pack("i", 2)),
            "steal": lambda: fcntl.ioctl(0, TIOCSCTTY, 1),
        }
    )
    others.worked += gated.worked
    return others
