"""A host that forbids namespaces, and if wanted Landlock: a launcher that puts itself under a filter and then runs.

As a program: `no_namespaces.py none|landlock COMMAND...` (what is left to the command). As a module: the argv of that.
Stands alone, with nothing but the standard library. Works for root, too, as what it forbids is asked of no capability.
"""

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Sequence

LANDLOCK = "landlock"
NOTHING = "none"

_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _RETURN, _IF_EQUAL, _IF_BITS = 0x20, 0x06, 0x15, 0x45
_NUMBER_OFFSET, _ARCH_OFFSET, _FIRST_ARGUMENT_OFFSET = 0, 4, 16
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2

# Mount, cgroup, uts, ipc, user, pid, network. That of time is no flag of clone.
_CLONE_NEW = 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000
# (audit architecture, clone, unshare, setns)
_CALLS = {"x86_64": (0xC000003E, 56, 272, 308), "aarch64": (0xC00000B7, 220, 97, 268)}
_CLONE3, _LANDLOCK_CREATE_RULESET = 435, 444


def without_namespaces(argv: Sequence[str], *, left: str = LANDLOCK) -> list[str]:
    """The command line that runs `argv` on such a host."""
    return [sys.executable, "-I", "-S", os.path.abspath(__file__), left, *argv]


def program(left: str) -> bytes:
    arch, clone, unshare, setns = _CALLS[os.uname().machine]
    answers = {unshare: errno.EPERM, setns: errno.EPERM, _CLONE3: errno.ENOSYS}
    if left == NOTHING:
        answers[_LANDLOCK_CREATE_RULESET] = errno.ENOSYS
    code = [
        (_LOAD, 0, 0, _ARCH_OFFSET),
        (_IF_EQUAL, 1, 0, arch),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_OFFSET),
    ]
    for number, code_number in answers.items():
        code += [(_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | code_number)]
    code += [
        (_IF_EQUAL, 0, 3, clone),
        (_LOAD, 0, 0, _FIRST_ARGUMENT_OFFSET),
        (_IF_BITS, 0, 1, _CLONE_NEW),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *each) for each in code)


def install(bpf: bytes) -> None:
    """Bind this process and what it starts, for good."""
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(bpf, len(bpf))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(bpf) // 8, ctypes.addressof(buffer)))
    for arguments in ((_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (_PR_SET_SECCOMP, _MODE_FILTER, header, 0, 0)):
        if libc.prctl(*arguments):
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    install(program(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
