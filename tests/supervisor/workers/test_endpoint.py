"""Only proven peers are heard, only about their own job; no wake-up is lost and nobody blocks the others."""

import logging
import os
import stat
from collections.abc import Iterator
from functools import partial

import pytest
import trio
import zmq

from pycodex.protocol.confinement import Enforced
from pycodex.protocol.frames import MAX_FRAME_BYTES, Credit, Exited, Fact, Ready, Started, decode_order, encode
from pycodex.protocol.ids import new_token
from pycodex.supervisor.workers.endpoint import Congested, Endpoint, JobFact, Peer, Unroutable
from support.waiting import eventually_async

ENFORCED = Enforced(level="none")


class Recorder(Peer):
    """A peer that writes down what it is told."""

    def __init__(self, flavour: str = "confined", job_id: str = "job") -> None:
        self.token = new_token()
        self.flavour = flavour
        self.job_id = job_id
        self.facts: list[JobFact] = []
        self.wrongs: list[str] = []

    def greeted(self, ready: Ready) -> None:
        self.ready = ready

    def greeted_again(self, ready: Ready) -> bool:
        self.again = ready
        return ready.calls_left > 0

    def accept(self, fact: JobFact) -> None:
        self.facts.append(fact)

    def misbehaved(self, what: str) -> None:
        self.wrongs.append(what)


class Dealer:
    """The other end: a plain libzmq socket."""

    def __init__(self, path: str) -> None:
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.connect(f"ipc://{path}")

    def say(self, *parts: bytes | Fact) -> None:
        self.socket.send_multipart([part if isinstance(part, bytes) else encode(part) for part in parts])

    def greet(self, peer: Recorder, *, flavour: str = "confined") -> None:
        self.say(Ready(token=peer.token, pid=1234, flavour=flavour, enforced=ENFORCED))

    def close(self) -> None:
        self.context.destroy(linger=0)


class Stage:
    """An endpoint that is being served, and dealers that connect to it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.endpoint = Endpoint(path)
        self.dealers: list[Dealer] = []

    def dealer(self) -> Dealer:
        self.dealers.append(Dealer(self.path))
        return self.dealers[-1]

    async def bound(self, peer: Recorder | None = None) -> tuple[Recorder, Dealer]:
        peer = peer or Recorder()
        self.endpoint.expect(peer)
        dealer = self.dealer()
        dealer.greet(peer)
        await eventually_async(lambda: peer.routing_id is not None)
        return peer, dealer


@pytest.fixture
def stage(runtime_base: str, nursery: trio.Nursery) -> Iterator[Stage]:
    stage = Stage(f"{runtime_base}/s")
    nursery.start_soon(stage.endpoint.serve)
    yield stage
    for dealer in stage.dealers:
        dealer.close()
    stage.endpoint.close()


def started(number: int, job_id: str = "job") -> Started:
    return Started(job_id=job_id, pid=number)


async def seen(peer: Recorder, dealer: Dealer) -> list[int]:
    """Everything accepted up to now: a mark sent last shows that what was sent before has been judged."""
    mark = 1 << 40
    dealer.say(started(mark, peer.job_id))
    await eventually_async(lambda: started(mark, peer.job_id) in peer.facts)
    pids = [fact.pid for fact in peer.facts if isinstance(fact, Started) and fact.pid != mark]
    peer.facts.clear()
    return pids


async def test_socket_is_private(stage: Stage) -> None:
    assert stat.S_IMODE(os.stat(stage.path).st_mode) == 0o600


async def test_facts_reach_the_peer_that_proved_itself(stage: Stage) -> None:
    peer, dealer = await stage.bound()
    assert peer.ready.pid == 1234
    dealer.say(started(1))
    dealer.say(Exited(job_id="job", code=0, enforced=ENFORCED))
    await eventually_async(lambda: len(peer.facts) == 2)


async def test_orders_reach_the_right_dealer(stage: Stage) -> None:
    pairs = [await stage.bound() for _ in range(3)]
    for number, (peer, _) in enumerate(pairs):
        stage.endpoint.send(peer, encode(Credit(job_id="job", size_bytes=number)))
    for number, (_, dealer) in enumerate(pairs):
        assert decode_order(dealer.socket.recv()) == Credit(job_id="job", size_bytes=number)


async def test_strangers_are_dropped(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    peer, dealer = await stage.bound()
    rogue = stage.dealer()
    with caplog.at_level(logging.WARNING, logger="pycodex.workers"):
        rogue.say(Ready(token="0" * 64, pid=1, flavour="confined", enforced=ENFORCED))
        rogue.say(Ready(token=peer.token, pid=1, flavour="confined", enforced=ENFORCED))
        rogue.say(started(666))
        rogue.say(Exited(job_id="job", code=0, enforced=ENFORCED))
        rogue.say(b"\xc1garbage")
        rogue.say(b"")
        rogue.say(b"a", b"b", b"c")
        rogue.say(b"\0" * (1 << 20))
        await eventually_async(lambda: len(caplog.records) == 8)
    assert await seen(peer, dealer) == []
    assert peer.wrongs == []


async def test_stranger_with_a_huge_frame_is_cut_off_and_others_go_on(stage: Stage) -> None:
    peer, dealer = await stage.bound()
    rogue = stage.dealer()
    monitor = rogue.socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
    rogue.say(b"\0" * (MAX_FRAME_BYTES + 1))
    await eventually_async(lambda: bool(monitor.poll(0)))
    rogue.socket.disable_monitor()
    monitor.close()
    dealer.say(started(5))
    assert await seen(peer, dealer) == [5]


async def test_token_is_good_for_one_greeting_and_its_own_flavour(stage: Stage) -> None:
    peer = Recorder("confined")
    stage.endpoint.expect(peer)
    rogue = stage.dealer()
    rogue.greet(peer, flavour="unconfined")
    await eventually_async(lambda: bool(peer.wrongs))
    rogue.greet(peer)
    rogue.say(started(1))
    other, dealer = await stage.bound()
    assert await seen(other, dealer) == []
    assert peer.routing_id is None
    assert peer.facts == []


@pytest.mark.parametrize("wrong", ["other job", "no job", "second greeting", "garbage", "parts"])
async def test_peer_is_told_of_its_own_wrongs_and_heard_further(stage: Stage, wrong: str) -> None:
    victim, other_dealer = await stage.bound(Recorder(job_id="victim"))
    peer, dealer = await stage.bound()
    if wrong == "other job":
        dealer.say(started(666, "victim"))
    elif wrong == "no job":
        dealer.say(started(666, ""))
    elif wrong == "second greeting":
        dealer.greet(peer)
    elif wrong == "garbage":
        dealer.say(b"\x93\x01")
    else:
        dealer.say(started(666), started(667))
    dealer.say(started(7))
    assert await seen(peer, dealer) == [7]
    assert len(peer.wrongs) == 1
    assert await seen(victim, other_dealer) == []


async def test_idle_peer_has_no_job_to_speak_of(stage: Stage) -> None:
    peer, dealer = await stage.bound(Recorder(job_id=""))
    dealer.say(started(1, ""))
    await eventually_async(lambda: len(peer.wrongs) == 1)
    assert peer.facts == []


async def test_forgotten_peer_is_a_stranger(stage: Stage) -> None:
    peer, dealer = await stage.bound()
    other, other_dealer = await stage.bound()
    stage.endpoint.forget(peer)
    dealer.say(started(1))
    assert await seen(other, other_dealer) == []
    assert peer.facts == []
    with pytest.raises(Unroutable):
        stage.endpoint.send(peer, b"x")


async def test_send_to_a_closed_connection_is_unroutable(stage: Stage) -> None:
    peer, dealer = await stage.bound()
    dealer.close()

    def refused() -> bool:
        try:
            stage.endpoint.send(peer, b"x")
        except Unroutable:
            return True
        return False

    await eventually_async(refused)


async def test_peer_that_does_not_read_is_congested_and_others_are_served(stage: Stage) -> None:
    deaf, _ = await stage.bound()
    peer, dealer = await stage.bound()
    assert not all(sent(stage.endpoint, deaf, b"\0" * 65536) for _ in range(20_000))
    stage.endpoint.send(peer, encode(Credit(job_id="job", size_bytes=1)))
    assert dealer.socket.recv()
    dealer.say(started(1))
    assert await seen(peer, dealer) == [1]


async def test_no_wake_up_is_lost_when_sends_and_receives_interleave(stage: Stage) -> None:
    """Every order is answered by a fact; sending looks into libzmq's mailbox and takes the descriptor's edge."""
    pairs = [await stage.bound() for _ in range(4)]
    rounds = 300

    async def ask(peer: Recorder) -> None:
        for number in range(rounds):
            frame = encode(Credit(job_id="job", size_bytes=number))
            await eventually_async(partial(sent, stage.endpoint, peer, frame))
            await trio.lowlevel.checkpoint()

    def answer(dealer: Dealer) -> None:
        for _ in range(rounds):
            dealer.say(started(dealer.socket.recv()[-1]))

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            for peer, dealer in pairs:
                nursery.start_soon(trio.to_thread.run_sync, answer, dealer)
                nursery.start_soon(ask, peer)
        await eventually_async(lambda: all(len(peer.facts) == rounds for peer, _ in pairs))


def sent(endpoint: Endpoint, peer: Recorder, frame: bytes) -> bool:
    try:
        endpoint.send(peer, frame)
    except Congested:
        return False
    return True


async def test_serve_can_be_cancelled_and_resumed_without_loss(runtime_base: str) -> None:
    stage = Stage(f"{runtime_base}/s")
    peer = Recorder()
    stage.endpoint.expect(peer)
    dealer = stage.dealer()
    dealer.greet(peer)
    for number in range(500):
        dealer.say(started(number))
    with trio.fail_after(60):
        while len(peer.facts) < 500:
            with trio.move_on_after(0.001):
                await stage.endpoint.serve()
    assert [fact.pid for fact in peer.facts if isinstance(fact, Started)] == list(range(500))
    dealer.close()
    stage.endpoint.close()


async def test_flood_from_a_stranger_leaves_others_their_turn(stage: Stage) -> None:
    peer, dealer = await stage.bound()
    rogue = stage.dealer()
    rogue.socket.setsockopt(zmq.SNDTIMEO, 0)
    flooding = True

    def flood() -> None:
        while flooding:
            try:
                rogue.socket.send(b"\xc1")
            except zmq.Again:
                continue

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.to_thread.run_sync, flood)
        dealer.say(started(3))
        assert await seen(peer, dealer) == [3]
        flooding = False
