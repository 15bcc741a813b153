"""Attempts to use the three inherited streams for more than reading and writing them.

They were opened outside, so they still lead to the host's own mounts.
"""

import os
import struct

from escape.programs.rawcalls import AT_EMPTY_PATH, World, each, later, syscall, write_to


def change_metadata(world: World) -> object:
    """Standard input is a file outside all writable roots, opened for reading."""
    return each(
        {
            "fchmod": lambda: os.fchmod(0, 0o777),
            "fchown": lambda: os.fchown(0, os.getuid(), os.getgid()),
            "futimens": lambda: os.utime(0, (1, 1)),
            "fsetxattr": lambda: os.setxattr(0, "user.stream", b"pwned"),
            "fremovexattr": lambda: os.removexattr(0, "user.kept"),
            "fchmodat2": lambda: syscall("fchmodat2", 0, b"", 0o775, AT_EMPTY_PATH),
            "/proc/self/fd": lambda: os.chmod("/proc/self/fd/0", 0o774),
            "/dev/stdin": lambda: os.utime("/dev/stdin", (2, 2)),
            "utimensat": lambda: syscall("utimensat", 0, None, struct.pack("qqqq", 3, 0, 3, 0), 0),
        }
    )


def reopen_for_writing(world: World) -> object:
    flags = {"write": os.O_WRONLY, "both": os.O_RDWR, "truncate": os.O_WRONLY | os.O_TRUNC}
    return each(
        {
            f"{name} {how}": later(write_to, name, b"pwned", flag)
            for name in ("/proc/self/fd/0", "/dev/stdin", "/dev/fd/0")
            for how, flag in flags.items()
        }
    )
