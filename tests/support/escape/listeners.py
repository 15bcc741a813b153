"""Ears on the host: sockets, shared memory and queues that must never hear from a confined command.

Owns making, watching and removing them. Each `heard()` says what arrived since the last call, by name.
"""

import ctypes
import os
import socket
import struct
from pathlib import Path

from escape.programs.rawcalls import libc, numbered, syscall

IPC_CREAT, IPC_RMID, GETVAL, IPC_STAT = 0o1000, 0, 12, 2
MQ_GETSETATTR = {"x86_64": 245, "aarch64": 185}
CONTENT = b"shared memory of the host"


class Listeners:
    """Sockets of every kind that an attacker of the same machine could reach."""

    def __init__(self, folders: dict[str, Path], token: str) -> None:
        self.abstract_stream, self.abstract_datagram = f"{token}-stream", f"{token}-datagram"
        self.stream_paths = {name: str(folder / "stream.sock") for name, folder in folders.items()}
        outside = folders["out"]
        self.datagram_path, self.seqpacket_path = str(outside / "datagram.sock"), str(outside / "seqpacket.sock")
        self._streams: dict[str, socket.socket] = {}
        self._datagrams: dict[str, socket.socket] = {}
        for name, path in self.stream_paths.items():
            self._listen(f"stream in {name}", socket.AF_UNIX, path)
        self._listen("abstract stream", socket.AF_UNIX, "\0" + self.abstract_stream)
        self._listen("seqpacket", socket.AF_UNIX, self.seqpacket_path, socket.SOCK_SEQPACKET)
        self._receive("datagram", socket.AF_UNIX, self.datagram_path)
        self._receive("abstract datagram", socket.AF_UNIX, "\0" + self.abstract_datagram)
        self.tcp_port: int = self._listen("tcp", socket.AF_INET, ("127.0.0.1", 0))[1]
        self.udp_port: int = self._receive("udp", socket.AF_INET, ("127.0.0.1", 0))[1]

    def _listen(self, name: str, family: int, address: object, kind: int = socket.SOCK_STREAM) -> tuple[str, int]:
        server = self._streams[name] = socket.socket(family, kind)
        server.bind(address)  # type: ignore[arg-type]
        server.listen(64)
        server.setblocking(False)
        bound: tuple[str, int] = server.getsockname()
        return bound

    def _receive(self, name: str, family: int, address: object) -> tuple[str, int]:
        server = self._datagrams[name] = socket.socket(family, socket.SOCK_DGRAM)
        server.bind(address)  # type: ignore[arg-type]
        server.setblocking(False)
        bound: tuple[str, int] = server.getsockname()
        return bound

    def heard(self) -> list[str]:
        heard = []
        for name, server in self._streams.items():
            try:
                server.accept()[0].close()
                heard.append(name)
            except BlockingIOError:
                continue
        for name, server in self._datagrams.items():
            try:
                server.recv(64)
                heard.append(name)
            except BlockingIOError:
                continue
        return heard

    def close(self) -> None:
        for server in (*self._streams.values(), *self._datagrams.values()):
            server.close()


class SharedObjects:
    """System V shared memory, semaphore and message queue, a POSIX queue and a file in /dev/shm."""

    def __init__(self, token: str) -> None:
        self.key = int.from_bytes(os.urandom(3), "big") | 0x01000000
        self.shm_id = syscall("shmget", self.key, 4096, IPC_CREAT | 0o600)
        self.sem_id = syscall("semget", self.key, 1, IPC_CREAT | 0o600)
        self.msg_id = syscall("msgget", self.key, IPC_CREAT | 0o600)
        libc.shmat.restype = ctypes.c_void_p
        self._memory = libc.shmat(self.shm_id, None, 0)
        ctypes.memmove(self._memory, CONTENT, len(CONTENT))
        self.mq_name = token
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NONBLOCK
        self._queue = syscall("mq_open", token.encode(), flags, 0o600, struct.pack("8q", 0, 4, 64, 0, 0, 0, 0, 0))
        self.shm_file = Path("/dev/shm") / f"{token}-host"
        self.shm_file.write_bytes(CONTENT)

    def heard(self) -> dict[str, object]:
        """Not what arrived but what is there: memory, counter, lengths."""
        attributes = ctypes.create_string_buffer(64)
        numbered(MQ_GETSETATTR[os.uname().machine], self._queue, None, attributes)
        information = ctypes.create_string_buffer(256)
        syscall("msgctl", self.msg_id, IPC_STAT, information)
        return {
            "memory": ctypes.string_at(self._memory, len(CONTENT)),
            "semaphore": libc.semctl(self.sem_id, 0, GETVAL),
            "messages": struct.unpack_from("Q", information, 80)[0],
            "posix messages": struct.unpack_from("q", attributes, 24)[0],
            "posix memory": self.shm_file.read_bytes(),
        }

    def close(self) -> None:
        libc.shmdt(ctypes.c_void_p(self._memory))
        syscall("shmctl", self.shm_id, IPC_RMID, None)
        syscall("semctl", self.sem_id, 0, IPC_RMID, 0)
        syscall("msgctl", self.msg_id, IPC_RMID, None)
        os.close(self._queue)
        syscall("mq_unlink", self.mq_name.encode())
        self.shm_file.unlink(missing_ok=True)
