"""Attempts to see, stop, change or outlive processes that are not one's own.

`world["victim"]` is the host's pid of a process of the same user, `victim_address` where its canary is.
"""

import ctypes
import fcntl
import os
import signal
import socket
import struct
import time

from escape.programs.rawcalls import (
    World,
    each,
    error_name,
    in_child,
    later,
    libc,
    opens,
    require_sandbox,
    syscall,
    write_to,
)

PTRACE_ATTACH, PTRACE_SEIZE, PTRACE_TRACEME = 16, 0x4206, 0
IOPRIO_WHO_PROCESS, IOPRIO_WHO_PGRP, IOPRIO_WHO_USER, IOPRIO_IDLE = 1, 2, 3, 3 << 13
PWNED = b"PWNED"


def _vector(address: int, size: int) -> bytes:
    return struct.pack("QQ", address, size)


def trace(world: World) -> object:
    victim = world["victim"]
    return each(
        {
            "seize": lambda: in_child(lambda: syscall("ptrace", PTRACE_SEIZE, victim, 0, 0)),
            "traceme": lambda: in_child(lambda: syscall("ptrace", PTRACE_TRACEME, 0, 0, 0)),
        }
    )


def read_memory(world: World) -> object:
    buffer = ctypes.create_string_buffer(len(PWNED))
    own = _vector(ctypes.addressof(buffer), len(PWNED))
    syscall("process_vm_readv", world["victim"], own, 1, _vector(world["victim_address"], len(PWNED)), 1, 0)
    return buffer.value.decode("latin-1")


def write_memory(world: World) -> object:
    buffer = ctypes.create_string_buffer(PWNED)
    own = _vector(ctypes.addressof(buffer), len(PWNED))
    syscall("process_vm_writev", world["victim"], own, 1, _vector(world["victim_address"], len(PWNED)), 1, 0)
    return True


def write_memory_file(world: World) -> object:
    with open(f"/proc/{world['victim']}/mem", "r+b", buffering=0) as memory:
        memory.seek(world["victim_address"])
        memory.write(PWNED)
    return True


def read_secrets(world: World) -> object:
    base = f"/proc/{world['victim']}"
    return each({name: later(opens, f"{base}/{name}", os.O_RDONLY) for name in ("environ", "maps", "cmdline", "auxv")})


def visible_processes(world: World) -> object:
    """Signal 0 only asks whether somebody is there."""
    near = range(max(2, world["victim"] - 200), world["victim"] + 200)
    family = _own_tree()
    found = [pid for pid in near if pid not in family and _there(pid)]
    listed = [name for name in os.listdir("/proc") if name.isdigit() and int(name) == world["victim"]]
    return found + listed


def _own_tree() -> set[int]:
    return {1, os.getpid(), os.getppid()}


def _there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def signal_victim(world: World) -> object:
    victim = world["victim"]
    information = struct.pack("iiiiiI", signal.SIGUSR2, 0, -1, 0, os.getpid(), os.getuid()) + bytes(104)
    return each(
        {
            "kill": lambda: os.kill(victim, signal.SIGTERM),
            "group": lambda: os.killpg(victim, signal.SIGHUP),
            "tgkill": lambda: syscall("tgkill", victim, victim, signal.SIGUSR1),
            "sigqueue": lambda: syscall("rt_sigqueueinfo", victim, signal.SIGUSR2, information),
            "pidfd": lambda: signal.pidfd_send_signal(os.pidfd_open(victim), signal.SIGINT),
        }
    )


def signal_by_descriptor_owner(world: World) -> object:
    """Asks the kernel to signal the victim when a socket becomes readable."""
    ours, other = socket.socketpair()
    fcntl.fcntl(ours, fcntl.F_SETOWN, world["victim"])
    fcntl.fcntl(ours, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    other.send(b"x")
    return fcntl.fcntl(ours, fcntl.F_GETOWN) == world["victim"]


def signal_group(world: World) -> object:
    """The group may hold the sandbox's own launcher and its neighbours."""
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    os.kill(0, signal.SIGUSR1)
    return True


def schedule_group(world: World) -> object:
    """Zero names the own group, wherever its other members live."""
    return each(
        {
            "nice": lambda: os.setpriority(os.PRIO_PGRP, 0, 7),
            "io": lambda: syscall("ioprio_set", IOPRIO_WHO_PGRP, 0, IOPRIO_IDLE),
        }
    )


def schedule_victim(world: World) -> object:
    victim = world["victim"]
    cpus = os.sched_getaffinity(0)
    one = {min(cpus)} if len(cpus) > 1 else cpus
    return each(
        {
            "affinity": lambda: os.sched_setaffinity(victim, one),
            "nice": lambda: os.setpriority(os.PRIO_PROCESS, victim, os.getpriority(os.PRIO_PROCESS, victim) + 1),
            "group nice": lambda: os.setpriority(os.PRIO_PGRP, victim, 3),
            "policy": lambda: os.sched_setscheduler(victim, os.SCHED_BATCH, os.sched_param(0)),
            "io": lambda: syscall("ioprio_set", IOPRIO_WHO_PROCESS, victim, IOPRIO_IDLE),
            "oom": lambda: write_to(f"/proc/{victim}/oom_score_adj", b"1", os.O_WRONLY),
        }
    )


def limits_of_victim(world: World) -> object:
    """Sets what is already set: even a success changes nothing."""
    require_sandbox(world)
    old = ctypes.create_string_buffer(16)
    if libc.prlimit64(world["victim"], 7, None, old) or libc.prlimit64(world["victim"], 7, old, None):
        raise OSError(ctypes.get_errno(), "prlimit64")
    return True


def renice_user(world: World) -> object:
    """Reaches every process of the user that it can see: inside, only its own."""
    require_sandbox(world)
    os.setpriority(os.PRIO_USER, os.getuid(), 5)
    syscall("ioprio_set", IOPRIO_WHO_USER, os.getuid(), IOPRIO_IDLE)
    return True


def steal_descriptor(world: World) -> object:
    descriptor = syscall("pidfd_getfd", os.pidfd_open(world["victim"]), world["victim_descriptor"], 0)
    return os.write(descriptor, b"pwned\n") > 0


def steal_from_init(world: World) -> object:
    require_sandbox(world)
    pids = {1, os.getppid()}

    def take(pid: int, number: int) -> int:
        return syscall("pidfd_getfd", os.pidfd_open(pid), number, 0)

    return each({f"{pid}:{number}": later(take, pid, number) for pid in pids if pid for number in range(12)})


def trace_init(world: World) -> object:
    require_sandbox(world)
    buffer = ctypes.create_string_buffer(8)
    own = _vector(ctypes.addressof(buffer), 8)
    return each(
        {
            "seize": lambda: in_child(lambda: syscall("ptrace", PTRACE_SEIZE, 1, 0, 0)),
            "attach": lambda: in_child(lambda: syscall("ptrace", PTRACE_ATTACH, 1, 0, 0)),
            "read": lambda: syscall("process_vm_readv", 1, own, 1, _vector(0x400000, 8), 1, 0),
            "mem": lambda: opens("/proc/1/mem", os.O_RDWR),
            "environ": lambda: opens("/proc/1/environ", os.O_RDONLY),
            "oom": lambda: write_to("/proc/1/oom_score_adj", b"1000", os.O_WRONLY),
        }
    )


def read_parent(world: World) -> object:
    parent = os.getppid()
    if not parent:
        return False
    names = ("environ", "maps", "mem", "auxv")
    attempts = {name: later(opens, f"/proc/{parent}/{name}", os.O_RDONLY) for name in names}
    return each({**attempts, "fd": lambda: os.readlink(f"/proc/{parent}/fd/0")})


def signal_init(world: World) -> object:
    """Every signal at init, at the parent and at everybody; the report and the exit code must still come out right."""
    require_sandbox(world)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
        signal.signal(number, signal.SIG_IGN)
    sent: list[int] = []
    for pid in {1, os.getppid()} - {0}:
        for number in signal.valid_signals():
            try:
                os.kill(pid, number)
                sent.append(number)
            except OSError as error:
                if error_name(error) not in {"EPERM", "ESRCH"}:
                    raise
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(-1, number)
        except OSError:
            pass
    with open("/proc/1/status", encoding="ascii") as file:
        state = next(line.split()[1] for line in file if line.startswith("State:"))
    return state in {"Z", "X", "T", "t"}


def _detach() -> None:
    """A session of its own, deaf to everything that can be ignored."""
    os.setsid()
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)


def _fall_silent() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)


def outlive(world: World) -> object:
    """Leaves a daemon that waits for `go` (bounded) and then writes `late`; with `hold` it keeps the output open."""
    if os.fork() == 0:
        _detach()
        if os.fork():
            os._exit(0)
        if not world["hold"]:
            _fall_silent()
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            if os.path.exists(os.path.join(world["ws"], "go")):
                write_to(os.path.join(world["ws"], "late"), flags=os.O_WRONLY | os.O_CREAT)
                break
            time.sleep(0.01)
        os._exit(0)
    return True


def leave_a_crowd(world: World) -> object:
    """Twenty sleepers in sessions of their own, deaf to everything that can be ignored."""
    for _ in range(20):
        if os.fork() == 0:
            _detach()
            _fall_silent()
            time.sleep(5)
            os._exit(0)
    return True


def open_descriptors(world: World) -> object:
    """Everything open beyond the three standard streams."""
    listing = os.open("/proc/self/fd", os.O_RDONLY)
    names = {int(name) for name in os.listdir(listing)} - {0, 1, 2, listing}
    found = {}
    for number in sorted(names):
        try:
            found[str(number)] = os.readlink(f"/proc/self/fd/{number}")
            os.write(number, b"pwned\n")
        except OSError:
            continue
    return found


def lower_own_badness(world: World) -> object:
    require_sandbox(world)
    return write_to("/proc/self/oom_score_adj", b"-1000", os.O_WRONLY)
