"""The supervisor's end of the workers' socket: one ZeroMQ ROUTER, driven by trio.

Owns the socket, its limits, and who may speak: a peer is bound to its connection by the one-time token of its first
message, and from then on only facts about its own job reach it. Everything else is logged and dropped. Knows neither
what a job is for nor how workers are started. Takes frames, gives checked facts to peers.
"""

import logging
import os
from collections.abc import Callable
from typing import Final

import trio
import zmq

from pycodex.protocol.frames import (
    MAX_FRAME_BYTES,
    BadFrame,
    Exited,
    Failed,
    Output,
    Ready,
    Refused,
    Started,
    decode_fact,
)

JobFact = Started | Output | Exited | Refused | Failed

# Messages, per connection. Outbound they bound what a worker that does not read can make us keep. Inbound they only
# cover the moment until the receive loop runs, and the kernel's buffer holds the sender back beyond that; yet libzmq
# forgets what is in that buffer when a sender that is held back goes away, so a worker sees it emptied before it exits.
RECEIVE_HWM: Final = 1000
SEND_HWM: Final = 64
# What a stranger may make us decode: a greeting is a few hundred bytes.
MAX_GREETING_BYTES: Final = 64 << 10
# After so many messages other tasks get their turn.
BATCH: Final = 128
# A plain number: the library's makes an object of every answer that it is compared with.
_CAN_RECEIVE: Final = int(zmq.POLLIN)
LOGGED_DROPS: Final = 100
LOG_EVERY: Final = 1000

logger = logging.getLogger("pycodex.workers")


class Unroutable(Exception):
    """The peer's connection is gone; nothing was sent."""


class Congested(Exception):
    """The peer does not read fast enough; nothing was sent."""


class Peer:
    """Whoever may speak on one connection. Subclassed by the owner of workers; all methods must return at once."""

    token: str
    flavour: str
    job_id: str = ""
    """The job whose facts are accepted; empty: none."""
    routing_id: bytes | None = None

    def greeted(self, ready: Ready) -> None:
        raise NotImplementedError

    def greeted_again(self, ready: Ready) -> bool:
        """After the end of a job it may be ready for another; False when there is nothing that it could greet for."""
        raise NotImplementedError

    def accept(self, fact: JobFact) -> None:
        raise NotImplementedError

    def misbehaved(self, what: str) -> None:
        raise NotImplementedError


class Endpoint:
    """A bound socket. `serve` must run in a nursery for as long as facts are wanted."""

    def __init__(self, path: str) -> None:
        self._expected: dict[str, Peer] = {}
        self._bound: dict[bytes, Peer] = {}
        self._dropped = 0
        self._wait_scope: trio.CancelScope | None = None
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context(io_threads=1)
        self._socket = self._context.socket(zmq.ROUTER)
        try:
            self._configure(path)
        except BaseException:
            self.close()
            raise
        self._fd = self._option(zmq.FD)
        self._send: Callable[..., object] = self._socket.send

    def _configure(self, path: str) -> None:
        for option, value in (
            (zmq.LINGER, 0),
            (zmq.ROUTER_MANDATORY, 1),
            (zmq.RCVHWM, RECEIVE_HWM),
            (zmq.SNDHWM, SEND_HWM),
            (zmq.MAXMSGSIZE, MAX_FRAME_BYTES),
        ):
            self._socket.setsockopt(option, value)
        self._socket.bind(f"ipc://{path}")
        os.chmod(path, 0o600)

    def _option(self, option: zmq.SocketOption) -> int:
        value = self._socket.getsockopt(option)
        assert isinstance(value, int)
        return value

    def close(self) -> None:
        self._context.destroy(linger=0)

    def expect(self, peer: Peer) -> None:
        """Accept `peer`'s token once."""
        self._expected[peer.token] = peer

    def forget(self, peer: Peer) -> None:
        """Whatever still comes from this peer is a stranger's."""
        self._expected.pop(peer.token, None)
        if peer.routing_id is not None:
            self._bound.pop(peer.routing_id, None)
            peer.routing_id = None

    def send(self, peer: Peer, frame: bytes) -> None:
        """Hand over one frame, at once or not at all."""
        if peer.routing_id is None:
            raise Unroutable
        try:
            self._send(peer.routing_id, zmq.NOBLOCK | zmq.SNDMORE)
            self._send(frame, zmq.NOBLOCK)
        except zmq.Again:
            raise Congested from None
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:
                raise
            raise Unroutable from None
        finally:
            # Sending makes libzmq look at its mailbox, which takes the wake-up that the receive loop waits for.
            if self._wait_scope is not None and self._option(zmq.EVENTS) & _CAN_RECEIVE:
                self._wait_scope.cancel()

    async def serve(self) -> None:
        """Receive for ever. The descriptor only tells that something changed: hence drain first, then wait."""
        while True:
            if self.drain():
                await trio.lowlevel.checkpoint()
                continue
            with trio.CancelScope() as self._wait_scope:
                await trio.lowlevel.wait_readable(self._fd)
            self._wait_scope = None

    def drain(self) -> bool:
        """Take in what has arrived. True when there may be more."""
        receive, more = self._socket.recv, zmq.RCVMORE
        for _ in range(BATCH):
            if not self._option(zmq.EVENTS) & _CAN_RECEIVE:
                return False
            # All parts of a message arrive together, so none of these can fail for want of data.
            routing_id = receive(zmq.NOBLOCK)
            frame = receive(zmq.NOBLOCK) if self._socket.getsockopt(more) else b""
            strange = False
            while self._socket.getsockopt(more):
                receive(zmq.NOBLOCK)
                strange = True
            self._receive(routing_id, b"" if strange else frame)
        return True

    def _receive(self, routing_id: bytes, frame: bytes) -> None:
        peer = self._bound.get(routing_id)
        if peer is None and len(frame) > MAX_GREETING_BYTES:
            self._drop(None, "%d bytes from a stranger", len(frame))
            return
        try:
            fact = decode_fact(frame)
        except BadFrame as error:
            self._drop(peer, "bad frame: %s", error)
            return
        if isinstance(fact, Ready):
            self._greet(routing_id, peer, fact)
        elif peer is None:
            self._drop(None, "%s from a stranger", type(fact).__name__)
        elif fact.job_id != peer.job_id or not peer.job_id:
            self._drop(peer, "%s about a job that is not its own", type(fact).__name__)
        else:
            peer.accept(fact)

    def _greet(self, routing_id: bytes, bound: Peer | None, ready: Ready) -> None:
        if bound is not None:
            if ready.token != bound.token or ready.flavour != bound.flavour or not bound.greeted_again(ready):
                self._drop(bound, "second greeting")
            return
        peer = self._expected.pop(ready.token, None)
        if peer is None:
            self._drop(None, "greeting with an unknown or used token")
            return
        if ready.flavour != peer.flavour:
            self._drop(peer, "greeting as %.40r, started as %s", ready.flavour, peer.flavour)
            return
        peer.routing_id = routing_id
        self._bound[routing_id] = peer
        peer.greeted(ready)

    def _drop(self, peer: Peer | None, what: str, *values: object) -> None:
        self._dropped += 1
        if self._dropped <= LOGGED_DROPS or self._dropped % LOG_EVERY == 0:
            logger.warning("dropped message %d: " + what, self._dropped, *values)
        if peer is not None:
            peer.misbehaved(what % values)
