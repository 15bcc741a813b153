"""The supervisor's handle on the zygote process.

Owns its channel, the packets on it and its reaping. Says what the zygote says, decides nothing: which workers there
should be is `roster`'s business. Everything read is checked; a packet that makes no sense counts as the end.
"""

import os
import socket
from dataclasses import dataclass

import msgpack
import trio

from pycodex.protocol.confinement import Enforced
from pycodex.protocol.record import BadRecord
from pycodex.supervisor.workers.launch import Launched
from pycodex.supervisor.workers.orphans import kill_trees, reap

PROTOCOL_VERSION = 1
MAX_PACKET_BYTES = 64 << 10
GREETING_TIMEOUT_S = 20.0
KILL_TIMEOUT_S = 3.0


class ZygoteGone(Exception):
    """The zygote ended, or does not speak as it should. The text says how."""


@dataclass(frozen=True, slots=True)
class Forked:
    token: str
    pid: int


@dataclass(frozen=True, slots=True)
class Died:
    token: str
    pid: int
    status: int
    """As given by wait."""


class Zygote:
    """A started zygote. `close` must be awaited, whatever happened."""

    def __init__(self, launched: Launched) -> None:
        self.pid = launched.pid
        self.host: Enforced | None = None
        self._channel = socket.socket(fileno=launched.channel_fd)
        self._channel.setblocking(False)
        self._pidfd = os.pidfd_open(launched.pid)
        self._status: int | None = None

    async def greet(self, socket_path: str) -> Enforced:
        """Tell it where workers connect; learn what the host can enforce."""
        with trio.move_on_after(GREETING_TIMEOUT_S):
            self._send({"socket": socket_path, "version": PROTOCOL_VERSION})
            packet = await self._receive()
            if packet.get("hello") != PROTOCOL_VERSION:
                raise ZygoteGone(f"zygote greeted with {packet!r:.80}")
            try:
                self.host = Enforced.from_plain(packet.get("host"))
            except BadRecord as error:
                raise ZygoteGone(f"zygote's report of the host: {error}") from None
            return self.host
        raise ZygoteGone(f"zygote said nothing for {GREETING_TIMEOUT_S:g} s")

    def fork(self, token: str, flavour: str) -> None:
        """Ask for one more worker; `Forked` follows."""
        self._send({"fork": token, "flavour": flavour})

    async def next_packet(self) -> Forked | Died:
        packet = await self._receive()
        token, pid, status = packet.get("token"), packet.get("forked", packet.get("died")), packet.get("status")
        if type(token) is not str or type(pid) is not int or pid <= 1:
            raise ZygoteGone(f"zygote sent {packet!r:.80}")
        if "forked" in packet:
            return Forked(token, pid)
        return Died(token, pid, status if type(status) is int else 0)

    def _send(self, packet: dict[str, object]) -> None:
        try:
            self._channel.send(msgpack.packb(packet))
        except BlockingIOError:
            raise ZygoteGone("zygote does not read its orders") from None
        except OSError as error:
            raise ZygoteGone(f"zygote is gone: {error.strerror}") from None

    async def _receive(self) -> dict[str, object]:
        while True:
            try:
                data = self._channel.recv(MAX_PACKET_BYTES)
            except BlockingIOError:
                await trio.lowlevel.wait_readable(self._channel)
                continue
            except OSError as error:
                raise ZygoteGone(f"zygote is gone: {error.strerror}") from None
            break
        if not data:
            raise ZygoteGone("zygote closed its channel")
        try:
            packet = msgpack.unpackb(data, strict_map_key=True, max_ext_len=0)
        except (ValueError, msgpack.exceptions.UnpackException) as error:
            raise ZygoteGone(f"zygote sent no packet: {error}") from None
        if type(packet) is not dict:
            raise ZygoteGone(f"zygote sent {packet!r:.80}")
        return packet

    def hang_up(self) -> None:
        """Nothing more is wanted: it sweeps and exits. What it still says can be read."""
        try:
            self._channel.shutdown(socket.SHUT_WR)
        except OSError:
            # It has gone already.
            pass

    async def close(self, *, grace_s: float) -> str:
        """Let it sweep and exit, kill it with its tree if it does not, reap it. Says how it ended."""
        with trio.CancelScope(shield=True):
            self._channel.close()
            if not await self._exited_within(grace_s):
                killed = kill_trees([self.pid])
                await self._exited_within(KILL_TIMEOUT_S)
                await reap([pid for pid in killed if pid != self.pid], within_s=KILL_TIMEOUT_S)
            if self._pidfd >= 0:
                os.close(self._pidfd)
                self._pidfd = -1
        return _describe(self._status)

    async def _exited_within(self, seconds: float) -> bool:
        if self._status is None and self._pidfd >= 0:
            with trio.move_on_after(seconds):
                await trio.lowlevel.wait_readable(self._pidfd)
                self._reap()
        return self._status is not None

    def _reap(self) -> None:
        try:
            self._status = os.waitpid(self.pid, os.WNOHANG)[1]
        except ChildProcessError:
            self._status = 0


def _describe(status: int | None) -> str:
    if status is None:
        return "could not be ended"
    return describe_status(status)


def describe_status(status: int) -> str:
    try:
        code = os.waitstatus_to_exitcode(status)
    except ValueError:
        return f"ended with status {status}"
    return f"killed by signal {-code}" if code < 0 else f"exited with code {code}"
