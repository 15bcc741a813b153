"""Attempts to reach anything that listens outside: sockets of every family, shared memory, message queues."""

import array
import ctypes
import errno
import os
import socket
import struct

from escape.programs.rawcalls import Tally, World, each, later, libc, opens, require_sandbox, syscall, write_to

MESSAGE = b"pwned"
MSG_FASTOPEN = 0x20000000
SETVAL = 16


def _abstract(name: str) -> str:
    return "\0" + name


def unix_stream(world: World) -> object:
    return each({path: later(_connect, socket.SOCK_STREAM, path) for path in world["stream_paths"]})


def unix_abstract_stream(world: World) -> object:
    return _connect(socket.SOCK_STREAM, _abstract(world["abstract_stream"]))


def unix_seqpacket(world: World) -> object:
    return _connect(socket.SOCK_SEQPACKET, world["seqpacket_path"])


def _connect(kind: int, address: str) -> bool:
    with socket.socket(socket.AF_UNIX, kind) as client:
        client.connect(address)
        return client.send(MESSAGE) > 0


def unix_datagram(world: World) -> object:
    """Every way to hand a datagram to a name: with an address, connected first, and from one end of a pair."""
    names = {"path": world["datagram_path"], "abstract": _abstract(world["abstract_datagram"])}

    def pair() -> socket.socket:
        return socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]

    def single() -> socket.socket:
        return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)

    def addressed(client: socket.socket, name: str) -> None:
        client.sendto(MESSAGE, name)

    def message(client: socket.socket, name: str) -> None:
        client.sendmsg([MESSAGE], [], 0, name)

    def connected(client: socket.socket, name: str) -> None:
        client.connect(name)
        client.send(MESSAGE)

    attempts = {}
    for label, name in names.items():
        for maker in (single, pair):
            kind = f"{maker.__name__} {label}"
            for way in (addressed, message, connected, _sendmmsg):
                attempts[f"{way.__name__} {kind}"] = later(
                    lambda maker, way, name: way(maker(), name), maker, way, name
                )
    return each(attempts)


def _sendmmsg(client: socket.socket, name: str) -> bool:
    path = struct.pack("H", socket.AF_UNIX) + name.encode() + (b"" if name.startswith("\0") else b"\0")
    address, data = ctypes.create_string_buffer(path, len(path)), ctypes.create_string_buffer(MESSAGE)
    vector = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(data), len(MESSAGE)), 16)
    header = struct.pack(
        "QIxxxxQQQQixxxxIxxxx", ctypes.addressof(address), len(path), ctypes.addressof(vector), 1, 0, 0, 0, 0
    )
    return syscall("sendmmsg", client.fileno(), header, 1, 0) == 1


def unix_stream_pair_redirected(world: World) -> object:
    """One end of an honest pair, then another peer."""
    ours, _ = socket.socketpair()
    return each(
        {
            "connect": lambda: ours.connect(world["stream_paths"][0]),
            "sendto": lambda: ours.sendto(MESSAGE, world["stream_paths"][0]) and False,
        }
    )


def pass_descriptor_out(world: World) -> object:
    """Gives a listener outside a descriptor of ours, and takes what it would give."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(world["stream_paths"][0])
        rights = array.array("i", [os.open("/", os.O_RDONLY)])
        return client.sendmsg([MESSAGE], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)]) > 0


def well_known_sockets(world: World) -> object:
    require_sandbox(world)
    paths = (
        "/run/docker.sock",
        "/run/dbus/system_bus_socket",
        "/run/systemd/private",
        "/run/containerd/containerd.sock",
    )
    return each({path: later(_connect, socket.SOCK_STREAM, path) for path in paths if os.path.exists(path)})


def tcp(world: World) -> object:
    def connect(family: int, host: str, port: int) -> bool:
        with socket.socket(family, socket.SOCK_STREAM) as client:
            client.settimeout(2)
            client.connect((host, port))
            return client.send(MESSAGE) > 0

    def fast_open() -> bool:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
            return client.sendto(MESSAGE, MSG_FASTOPEN, ("127.0.0.1", world["tcp_port"])) > 0

    def fast_open_message() -> bool:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
            return client.sendmsg([MESSAGE], [], MSG_FASTOPEN, ("127.0.0.1", world["tcp_port"])) > 0

    return each(
        {
            "connect": lambda: connect(socket.AF_INET, "127.0.0.1", world["tcp_port"]),
            "connect by v6": lambda: connect(socket.AF_INET6, "::ffff:127.0.0.1", world["tcp_port"]),
            "sendto fast open": fast_open,
            "sendmsg fast open": fast_open_message,
            "mptcp": lambda: _mptcp(world["tcp_port"]),
        }
    )


def _mptcp(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as client:
        client.settimeout(2)
        client.connect(("127.0.0.1", port))
        return client.send(MESSAGE) > 0


def udp(world: World) -> object:
    address = ("127.0.0.1", world["udp_port"])

    def connected() -> None:
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client.connect(address)
        client.send(MESSAGE)

    return each(
        {
            "sendto": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(MESSAGE, address),
            "sendmsg": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendmsg([MESSAGE], [], 0, address),
            "connect": connected,
        }
    )


def listen(world: World) -> object:
    def serve(family: int, address: tuple[str, int] | str) -> None:
        with socket.socket(family, socket.SOCK_STREAM) as server:
            server.bind(address)
            server.listen()

    return each(
        {
            "tcp": lambda: serve(socket.AF_INET, ("127.0.0.1", 0)),
            "abstract": lambda: serve(socket.AF_UNIX, _abstract(world["token"])),
            "unbound": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).listen(),
        }
    )


def every_family(world: World) -> object:
    """All families and types but local streams; those that the kernel lacks do not count."""
    tally = Tally()
    missing = {"EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EINVAL", "ENOENT", "ENODEV", "ENXIO"}
    kinds = {"stream": 1, "datagram": 2, "raw": 3, "rdm": 4, "seqpacket": 5, "packet": 10}
    allowed = {(1, "stream"), (1, "seqpacket")}
    for family in range(46):
        for label, kind in kinds.items():
            if (family, label) in allowed:
                continue
            for flags in (0, 0x80000 | 0x800):
                name = f"{family} {label} {flags:#x}"
                descriptor = libc.socket(family, kind | flags, 0)
                if descriptor >= 0:
                    os.close(descriptor)
                    tally.worked.append(name)
                elif (code := errno.errorcode[ctypes.get_errno()]) not in missing:
                    tally.stopped[name] = code
    tally.stopped = dict(list(tally.stopped.items())[:3])
    return tally


def named_protocols(world: World) -> object:
    makers = {
        "netlink route": (16, 3, 0), "netlink audit": (16, 3, 9), "netlink uevent": (16, 2, 15), "packet": (17, 3, 768),
        "raw icmp": (2, 3, 1), "ping": (2, 2, 1), "ping6": (10, 2, 58), "vsock": (40, 1, 0), "alg": (38, 5, 0),
        "bluetooth": (31, 3, 1), "can": (29, 3, 1), "xdp": (44, 3, 0), "tipc": (30, 5, 0), "smc": (43, 1, 0),
        "key": (15, 3, 2), "unix raw": (1, 3, 0), "high bits": (2 | (1 << 40), 1, 0),
    }  # fmt: skip

    def make(family: int, kind: int, protocol: int) -> bool:
        descriptor = libc.socket(ctypes.c_long(family), ctypes.c_long(kind), ctypes.c_long(protocol))
        if descriptor < 0:
            raise OSError(ctypes.get_errno(), "socket")
        os.close(descriptor)
        return True

    return each({name: later(make, *numbers) for name, numbers in makers.items()})


def io_uring(world: World) -> object:
    return syscall("io_uring_setup", 1, bytes(120)) >= 0


def local_pair(world: World) -> object:
    """The one thing that must work: programs talk to themselves this way."""
    ours, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    ours.sendall(MESSAGE)
    return other.recv(16) == MESSAGE and ours.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_STREAM


def shared_memory(world: World) -> object:
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(world["shm_id"], None, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "shmat")
    ctypes.memmove(address, MESSAGE, len(MESSAGE))
    return True


def semaphores_and_queues(world: World) -> object:
    def set_semaphore() -> None:
        if libc.semctl(world["sem_id"], 0, SETVAL, 7):
            raise OSError(ctypes.get_errno(), "semctl")

    return each(
        {
            "semaphore": set_semaphore,
            "message": lambda: syscall("msgsnd", world["msg_id"], struct.pack("q", 1) + MESSAGE, len(MESSAGE), 0o4000),
            "shm by key": lambda: syscall("shmget", world["ipc_key"], 0, 0),
            "listing": lambda: len(_lines("/proc/sysvipc/shm")) > 1,
        }
    )


def _lines(path: str) -> list[str]:
    with open(path, encoding="ascii") as file:
        return file.read().splitlines()


def posix_queue(world: World) -> object:
    descriptor = syscall("mq_open", world["mq_name"].encode(), os.O_WRONLY | os.O_NONBLOCK, 0, None)
    syscall("mq_timedsend", descriptor, MESSAGE, len(MESSAGE), 0, None)
    return True


def posix_shared_memory(world: World) -> object:
    return each(
        {
            "write": lambda: write_to(world["shm_file"]),
            "read": lambda: opens(world["shm_file"], os.O_RDONLY),
        }
    )


def create_in_shared_memory(world: World) -> object:
    """Works inside too, on a /dev/shm of its own; nothing may appear outside."""
    return write_to(f"/dev/shm/{world['token']}", flags=os.O_WRONLY | os.O_CREAT)
