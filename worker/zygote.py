"""The zygote: forks workers on request and looks after everybody below it.

Thin on purpose: one thread, no ZeroMQ, no credentials. Speaks small msgpack maps over a SEQPACKET socketpair with the
supervisor. When that closes, it ends all descendants and itself. Orphans of a worker that died come to it, as it is
their subreaper, and are killed, but those that unconfined work left running on purpose.
"""

import _socket
import gc
import os
import select
import sys

import msgpack

from pycodex.protocol.confinement import FULL
from pycodex.protocol.frames import VERSION
from pycodex.sandbox.backend import host_backend
from pycodex.worker import rehearsal, worker
from pycodex.worker.ends import Birth, Links

_PACKET_BYTES = 1 << 16


class Zygote:
    """One per supervisor."""

    def __init__(self, fd: int) -> None:
        self._socket = _socket.socket(fileno=fd)
        self._engine = host_backend()
        self._workers: dict[int, Birth] = {}
        self._pids: dict[int, int] = {}
        self._spared: dict[int, int] = {}
        self._liveness_read, self._liveness_write = os.pipe()
        self._spare_read, self._spare_write = os.pipe()
        self._poller = select.poll()

    def run(self) -> None:
        first = self._receive()
        if first is None or first.get("version") != VERSION or type(first.get("socket")) is not str:
            return
        socket_path = str(first["socket"])
        self._engine.become_subreaper()
        host = self._engine.examine()
        self._send({"hello": VERSION, "pid": os.getpid(), "host": host.to_plain()})
        self._engine.preload()
        rehearsal.warm_up()
        # Children share these pages for as long as nobody walks over them.
        gc.collect()
        gc.disable()
        gc.freeze()
        for fd in (self._socket.fileno(), self._spare_read):
            self._poller.register(fd, select.POLLIN)
        while True:
            ready = [fd for fd, _ in self._poller.poll()]
            if self._spare_read in ready:
                self._note_spared()
            for fd in ready:
                if fd in self._pids:
                    self._bury(fd)
                elif fd in self._spared:
                    self._forget_spared(fd)
            if self._socket.fileno() in ready:
                order = self._receive()
                if order is None:
                    break
                self._fork(order, socket_path, host.level)
        self._engine.kill_descendants(os.getpid(), spare=frozenset(self._spared.values()))
        for pidfd in list(self._spared):
            self._forget_spared(pidfd)

    def _fork(self, order: "dict[str, object]", socket_path: str, level: str) -> None:
        birth = Birth(str(order.get("fork")), str(order.get("flavour")), level)
        birth.socket_path = socket_path
        birth.liveness_fd, birth.spare_fd = self._liveness_read, self._spare_write
        links = Links()
        pid, box_pid = self._engine.fork_with_box(birth.level, network=birth.network)
        if pid == 0:
            status = 1
            try:
                if box_pid == 0:
                    worker.be_box(birth, links.of_box())
                status = worker.live(birth, links, box_pid)
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(status)
        links.close()
        pidfd = os.pidfd_open(pid)
        self._workers[pid] = birth
        self._pids[pidfd] = pid
        self._poller.register(pidfd, select.POLLIN)
        self._send({"forked": pid, "token": birth.token})

    def _bury(self, pidfd: int) -> None:
        pid = self._pids.pop(pidfd)
        birth = self._workers.pop(pid)
        self._poller.unregister(pidfd)
        os.close(pidfd)
        _, status = os.waitpid(pid, 0)
        self._send({"died": pid, "token": birth.token, "status": status})
        # One that ended in good order has seen its box end, and with a pid namespace everybody in it.
        if status or birth.level != FULL:
            self._note_spared()
            self._sweep()

    def _sweep(self) -> None:
        """Whoever is our child and not a worker has lost its worker."""
        ours = frozenset((*self._workers, *self._spared.values()))
        if not ours.issuperset(self._engine.children(os.getpid())):
            self._engine.kill_descendants(os.getpid(), spare=ours)

    def _note_spared(self) -> None:
        poller = select.poll()
        poller.register(self._spare_read, select.POLLIN)
        while poller.poll(0):
            for word in os.read(self._spare_read, _PACKET_BYTES).split():
                pid = int(word)
                try:
                    pidfd = os.pidfd_open(pid)
                except ProcessLookupError:
                    continue
                self._spared[pidfd] = pid
                self._poller.register(pidfd, select.POLLIN)

    def _forget_spared(self, pidfd: int) -> None:
        """One of those left running has ended, or we have: whoever lives on finds another parent."""
        pid = self._spared.pop(pidfd)
        self._poller.unregister(pidfd)
        os.close(pidfd)
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            # It was a grandchild: its own parent reaps it.
            return

    def _receive(self) -> "dict[str, object] | None":
        try:
            data = self._socket.recv(_PACKET_BYTES)
        except OSError:
            return None
        if not data:
            return None
        try:
            message = msgpack.unpackb(data, raw=False, max_ext_len=0)
        except (ValueError, msgpack.exceptions.UnpackException):
            # Whoever sends this is no supervisor of ours.
            return None
        return message if type(message) is dict else None

    def _send(self, message: "dict[str, object]") -> None:
        try:
            self._socket.send(msgpack.packb(message), _socket.MSG_NOSIGNAL)
        except OSError:
            # The supervisor is gone; the next receive says so.
            return


def serve(fd: int) -> None:
    os.set_inheritable(fd, False)
    Zygote(fd).run()
    os._exit(0)
