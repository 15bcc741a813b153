"""Limits that only an observer can keep: memory and number of processes of a whole tree."""

import os

from pycodex.linux_sandbox import tree
from pycodex.protocol.confinement import Limits

INTERVAL_SECONDS = 0.05


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
    """Resident memory but what comes from files, which several processes share and the kernel can drop."""
    try:
        fd = os.open(f"/proc/{pid}/status", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        lines = os.read(fd, 4096).splitlines()
    except OSError:
        return 0
    finally:
        os.close(fd)
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith((b"RssAnon:", b"RssShmem:")))
