"""Who is at the other end of a connection from this machine.

Owns the question whether that is a program of the same user which is not held in a sandbox. A command of a model's that
may use the network can reach our port like any other, and must not drive the server that confines it. Knows processes
by what the kernel tells of them, and nobody whom it does not tell of.
"""

import os
from collections.abc import Iterator, Sequence

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_HELD = ("NoNewPrivs", "Seccomp")


def is_free_program(own: tuple[str, int], peer: tuple[str, int]) -> bool:
    """Whether the socket that `peer` names belongs to programs of ours alone, none of them more held than we are.

    False also where that cannot be told. Looks through all processes: not for the trio loop.
    """
    inode = _inode_of(peer[1], own[1])
    if inode is None:
        return False
    holders = list(_holders(f"socket:[{inode}]"))
    return bool(holders) and all(map(_is_as_free_as_we, holders))


def _inode_of(port: int, to_port: int) -> str | None:
    """The socket of this user that is connected from one local port to another."""
    for table in _TABLES:
        for fields in _rows(table):
            own, other, uid, inode = fields[1], fields[2], fields[7], fields[9]
            if _port(own) == port and _port(other) == to_port and uid == str(os.getuid()) and inode != "0":
                return inode
    return None


def _rows(table: str) -> Iterator[Sequence[str]]:
    try:
        with open(table, encoding="ascii") as file:
            next(file, None)
            yield from (line.split() for line in file)
    except OSError:
        return


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)


def _holders(link: str) -> Iterator[int]:
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        folder = f"/proc/{name}/fd"
        try:
            if any(_link(f"{folder}/{fd}") == link for fd in os.listdir(folder)):
                yield int(name)
        except OSError:
            # Another user's, or gone.
            continue


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _is_as_free_as_we(pid: int) -> bool:
    if _link(f"/proc/{pid}/ns/user") != _link("/proc/self/ns/user"):
        return False
    theirs, ours = _held(f"/proc/{pid}/status"), _held("/proc/self/status")
    return (
        theirs is not None and ours is not None and all(their <= own for their, own in zip(theirs, ours, strict=True))
    )


def _held(path: str) -> tuple[int, ...] | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
        return tuple(int(fields[name]) for name in _HELD)
    except (OSError, KeyError, ValueError):
        return None
