"""Pid 1 of a confined call: reaps, reports how the command ended, and takes everybody else with it.

Has no privileges, no descriptors but one pipe, and a filter that allows it little more than waiting. When it exits the
kernel ends whatever is left in its pid namespace. At levels without a pid namespace it is an ordinary parent that
collects orphans.
"""

import _signal
import os
import struct

from pycodex.linux_sandbox import capabilities, kernel, seccomp_filter

_USAGE = struct.Struct("=5q")
"""User seconds and microseconds, system seconds and microseconds, peak RSS in KiB."""

REPORT = struct.Struct("=i5q?")
"""Raw wait status, the figures of _USAGE, whether processes were left."""


def reap_until(command: int, report_fd: int) -> None:
    """Wait for `command` and report how it ended. Whoever is left by then has become our child."""
    while True:
        pid, status, usage = kernel.wait_for_any_child()
        if pid == command:
            break
    os.write(report_fd, REPORT.pack(status, *_USAGE.unpack_from(usage), _has_children()))


def _has_children() -> bool:
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True


def serve_as_init(command: int, report_fd: int) -> None:
    """Never returns. `report_fd` is the only descriptor that stays open."""
    try:
        _ignore_everybody()
        os.dup2(report_fd, 3, inheritable=False)
        for standard in (0, 1, 2):
            os.close(standard)
        os.closerange(4, 4096)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        capabilities.drop()
        seccomp_filter.load(seccomp_filter.program_for_init())
        reap_until(command, 3)
    finally:
        os._exit(0)


def _ignore_everybody() -> None:
    # A handler, even Python's for SIGINT, would make pid 1 reachable by signals from inside its namespace.
    for number in range(1, _signal.NSIG):
        if number not in (_signal.SIGKILL, _signal.SIGSTOP, _signal.SIGCHLD):
            try:
                _signal.signal(number, _signal.SIG_IGN)
            except OSError:
                continue
