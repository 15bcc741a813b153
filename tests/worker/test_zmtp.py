"""Our DEALER against libzmq's own ROUTER, and against everything that is none."""

import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
import zmq

from pycodex.worker.zmtp import Dealer, ProtocolError
from support.pools import short_base
from support.waiting import eventually

MAX_BYTES = 8 << 20
WORD = b"go on"
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(48)


class Router:
    """libzmq's side of one endpoint."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.socket = self._context.socket(zmq.ROUTER)
        for option, value in ((zmq.LINGER, 0), (zmq.RCVTIMEO, 20_000), (zmq.SNDTIMEO, 20_000), (zmq.RCVHWM, 0)):
            self.socket.setsockopt(option, value)
        self.socket.setsockopt(zmq.SNDHWM, 0)
        self.socket.bind(f"ipc://{path}")

    def close(self) -> None:
        self._context.destroy(linger=0)

    def meet(self, dealer: Dealer) -> bytes:
        """The routing id of a dealer, which says something first."""
        send(dealer, b"hello")
        routing_id, message = self.socket.recv_multipart()
        assert message == b"hello"
        return routing_id


@pytest.fixture
def path() -> Iterator[str]:
    with short_base() as base:
        yield f"{base}/s"


@pytest.fixture
def router(path: str) -> Iterator[Router]:
    made = Router(path)
    yield made
    made.close()


def connect(path: str) -> Dealer:
    return Dealer(path, max_message_bytes=MAX_BYTES)


def send(dealer: Dealer, message: bytes) -> None:
    dealer.push(message)
    dealer.flush(block=True)


def receive(dealer: Dealer, count: int) -> list[bytes]:
    messages: list[bytes] = []

    def complete() -> bool:
        messages.extend(dealer.pull())
        return len(messages) >= count or dealer.closed

    eventually(complete, what="messages")
    return messages


@pytest.mark.parametrize("size", [1, 2, 254, 255, 256, 257, 65_535, 65_536, 65_537, 1 << 20, MAX_BYTES - 1, MAX_BYTES])
def test_messages_of_all_sizes_come_through_both_ways(router: Router, size: int) -> None:
    data = os.urandom(size)
    dealer = connect(router.path)
    routing_id = router.meet(dealer)
    # Beside us: a large message fills the socket, and only one of us can wait.
    sender = threading.Thread(target=send, args=(dealer, data))
    sender.start()
    assert router.socket.recv_multipart() == [routing_id, data]
    sender.join()
    router.socket.send_multipart([routing_id, data])
    assert receive(dealer, 1) == [data]
    dealer.close()


def test_many_small_messages_stay_apart_and_in_order(router: Router) -> None:
    messages = [b"%d" % number * (number % 90 + 1) for number in range(5000)]
    dealer = connect(router.path)
    routing_id = router.meet(dealer)
    for message in messages:
        dealer.push(message)
    dealer.flush(block=True)
    assert [router.socket.recv_multipart()[1] for _ in messages] == messages
    for message in messages:
        router.socket.send_multipart([routing_id, message])
    assert receive(dealer, len(messages)) == messages
    dealer.close()


def test_dealers_are_told_apart(router: Router) -> None:
    dealers = [connect(router.path) for _ in range(20)]
    routing_ids = [router.meet(dealer) for dealer in dealers]
    assert len(set(routing_ids)) == 20
    for number, routing_id in reversed(list(enumerate(routing_ids))):
        router.socket.send_multipart([routing_id, b"%d" % number])
    for number, dealer in enumerate(dealers):
        assert receive(dealer, 1) == [b"%d" % number]
        dealer.close()


def test_pull_does_not_wait_and_flush_only_if_asked(path: str) -> None:
    with pretender(path, greeting()) as conversation:
        dealer = connect(path)
        assert dealer.pull() == []
        dealer.push(bytes(4 << 20))
        # Nobody reads: what the kernel does not take stays with us.
        dealer.flush()
        assert dealer.wants_to_write
        assert 0 < dealer.backlog_bytes <= (4 << 20) + 9
        conversation.close()
        dealer.flush(block=True)
        assert dealer.closed
        dealer.close()


def test_closed_router_is_noticed(router: Router) -> None:
    dealer = connect(router.path)
    router.meet(dealer)
    router.close()
    eventually(lambda: dealer.pull() == [] and dealer.closed)
    send(dealer, b"x")
    assert dealer.closed
    dealer.close()


def test_messages_before_the_close_are_not_lost(path: str) -> None:
    with pretender(path, greeting(), frame(b"one") + frame(b"x" * 1000) + frame(b"two"), stay=False):
        dealer = connect(path)
        send(dealer, WORD)
        assert receive(dealer, 3) == [b"one", b"x" * 1000, b"two"]
        dealer.close()


def test_missing_router_is_an_error(path: str) -> None:
    with pytest.raises(OSError, match="No such file"):
        connect(path)


# Everything below speaks to a socket that only pretends


def frame(body: bytes, *, flags: int = 0) -> bytes:
    if len(body) < 256:
        return bytes((flags, len(body))) + body
    return bytes((flags | 2,)) + len(body).to_bytes(8, "big") + body


def greeting() -> bytes:
    return GREETING + frame(b"\x05READY\x0bSocket-Type\x00\x00\x00\x06ROUTER", flags=4)


class Conversation:
    """A listener that shakes hands with whoever connects, waits for one word, says more, and then waits or goes."""

    def __init__(self, path: str, handshake: Sequence[bytes], then: Sequence[bytes], *, stay: bool) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        self._stay = stay
        self._peer: socket.socket | None = None
        self._thread = threading.Thread(target=self._talk, args=(handshake, then))
        self._thread.start()

    def _talk(self, handshake: Sequence[bytes], then: Sequence[bytes]) -> None:
        self._peer, _ = self._listener.accept()
        try:
            for piece in handshake:
                self._peer.send(piece)
            if then:
                self._await_word(self._peer)
            for piece in then:
                self._peer.send(piece)
        except OSError:
            return  # the dealer had enough
        if not self._stay:
            self._peer.close()

    @staticmethod
    def _await_word(peer: socket.socket) -> None:
        heard = b""
        while not heard.endswith(WORD):
            heard += peer.recv(1000)

    def close(self) -> None:
        self._thread.join()
        self._listener.close()
        if self._peer is not None:
            self._peer.close()


@contextmanager
def pretender(
    path: str, handshake: bytes, then: bytes = b"", *, stay: bool = True, piece_bytes: int = 1 << 20
) -> Iterator[Conversation]:
    """`piece_bytes`: how much is said in one breath."""

    def pieces(data: bytes) -> list[bytes]:
        return [data[place : place + piece_bytes] for place in range(0, len(data), piece_bytes)]

    conversation = Conversation(path, pieces(handshake), pieces(then), stay=stay)
    try:
        yield conversation
    finally:
        conversation.close()


def test_split_reads_make_no_difference(path: str) -> None:
    said = frame(b"short") + frame(b"long" * 100) + frame(b"\x04PING\x00\x00", flags=4) + frame(b"last")
    with pretender(path, greeting(), said, piece_bytes=1):
        dealer = connect(path)
        send(dealer, WORD)
        assert receive(dealer, 3) == [b"short", b"long" * 100, b"last"]
        dealer.close()


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 400 Bad Request\r\n\r\n" * 4,
        bytes(64),
        GREETING[:30],
        GREETING,
        GREETING.replace(b"\x7f\x03", b"\x7f\x01"),
        GREETING.replace(b"NULL", b"CURV"),
        GREETING[:9] + b"\x00" + GREETING[10:],
        GREETING + b"\x04",
    ],
    ids=["nothing", "http", "zeros", "half", "no ready", "old", "security", "signature", "half ready"],
)
def test_handshake_with_something_else_fails(path: str, said: bytes) -> None:
    with pretender(path, said, stay=False), pytest.raises((ProtocolError, OSError)):
        connect(path)


@pytest.mark.parametrize(
    "said",
    [
        b"\x02" + (MAX_BYTES + 1).to_bytes(8, "big"),
        b"\x02" + b"\xff" * 8,
        b"\x06" + b"\xff" * 8,
        frame(b"part", flags=1) + frame(b"rest"),
    ],
    ids=["over the cap", "enormous", "enormous command", "parts"],
)
def test_what_no_supervisor_sends_ends_the_conversation(path: str, said: bytes) -> None:
    with pretender(path, greeting(), said):
        dealer = connect(path)
        send(dealer, WORD)
        with pytest.raises(ProtocolError):
            receive(dealer, 1)
        dealer.close()
