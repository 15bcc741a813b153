"""Limits that only an observer can keep: memory and number of processes of a whole tree."""

import os

from pycodex.linux_sandbox import tree
from pycodex.protocol.confinement import Limits

INTERVAL_SECONDS = 0.05
_SHARED_MEMORY = "/dev/shm"


def is_needed(limits: Limits) -> bool:
    return limits.memory_bytes is not None or limits.processes is not None


def exceeded(root_pid: int, limits: Limits) -> str:
    """The limit that the descendants of `root_pid` exceed, in words; empty if they keep to them."""
    members = tree.descendants(root_pid)
    if limits.processes is not None and len(members) > limits.processes:
        return f"limit processes = {limits.processes} exceeded"
    if limits.memory_bytes is not None and _memory_bytes(root_pid, members) > limits.memory_bytes:
        return f"limit memory_bytes = {limits.memory_bytes} exceeded"
    return ""


def _memory_bytes(root_pid: int, members: "list[int]") -> int:
    """What the processes have for themselves, and what they share: files in /dev/shm are mostly mapped, too."""
    private = shared = 0
    for pid in members:
        anonymous, mapped = _resident_bytes(pid)
        private += anonymous
        shared += mapped
    return private + max(shared, _shared_file_bytes((root_pid, *members)))


def _resident_bytes(pid: int) -> "tuple[int, int]":
    """Anonymous and shared memory, without that of files, which the kernel can drop."""
    try:
        fd = os.open(f"/proc/{pid}/status", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0, 0
    try:
        lines = os.read(fd, 4096).splitlines()
    except OSError:
        return 0, 0
    finally:
        os.close(fd)
    anonymous, shared = (
        sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
        for name in (b"RssAnon:", b"RssShmem:")
    )
    return anonymous, shared


def _shared_file_bytes(pids: "tuple[int, ...]") -> int:
    """What lies in the /dev/shm that these processes have to themselves; nothing if it is the host's."""
    for pid in pids:
        path = f"/proc/{pid}/root{_SHARED_MEMORY}"
        try:
            if os.stat(path).st_dev == os.stat(_SHARED_MEMORY).st_dev:
                return 0
            found = os.statvfs(path)
        except OSError:
            # Gone, or the first process, which shows itself to root only: another one sees the same.
            continue
        return (found.f_blocks - found.f_bfree) * found.f_frsize
    return 0
