"""Limits that only an observer can keep: memory and number of processes of a whole tree."""

import os

from pycodex.linux_sandbox import tree
from pycodex.protocol.confinement import Limits

INTERVAL_SECONDS = 0.05
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def is_needed(limits: Limits) -> bool:
    return limits.memory_bytes is not None or limits.processes is not None


def exceeded(root_pid: int, limits: Limits) -> str:
    """The limit that the descendants of `root_pid` exceed, in words; empty if they keep to them."""
    members = tree.descendants(root_pid)
    if limits.processes is not None and len(members) > limits.processes:
        return f"limit processes = {limits.processes} exceeded"
    if limits.memory_bytes is not None and sum(map(_private_bytes, members)) > limits.memory_bytes:
        return f"limit memory_bytes = {limits.memory_bytes} exceeded"
    return ""


def _private_bytes(pid: int) -> int:
    """Resident memory less what comes from files, which several processes share."""
    try:
        fd = os.open(f"/proc/{pid}/statm", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        fields = os.read(fd, 256).split()
    except OSError:
        return 0
    finally:
        os.close(fd)
    return (int(fields[1]) - int(fields[2])) * _PAGE_BYTES if len(fields) > 2 else 0
