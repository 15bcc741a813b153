"""Nothing that listens on the host hears from a confined command."""

import pytest

from support.escape.attack import Attack, attacker_argv, confined, finish, prove, run, start, stop
from support.escape.world import MODES, READ_ONLY, WITH_NETWORK, WORKSPACE_WRITE, Mode, World

FAMILY = "ipc_network"
RESTRICTED = (READ_ONLY, WORKSPACE_WRITE)
SOCKETS = [
    Attack("unix_stream", "I01"),
    Attack("unix_abstract_stream", "I02"),
    Attack("unix_seqpacket", "I02"),
    Attack("unix_datagram", "I03"),
    Attack("unix_stream_pair_redirected", "I05", never="the kernel refuses it everywhere"),
    Attack("pass_descriptor_out", "I04"),
    Attack("well_known_sockets", "I01", never="the machine's daemons are not ours to talk to"),
    Attack("tcp", "I06"),
    Attack("udp", "I07"),
    Attack("listen", "I06", by_report=True),
    Attack("every_family", "I08", by_report=True),
    Attack("named_protocols", "I09", by_report=True),
]
LOCAL = [attack for attack in SOCKETS if "unix" in attack.name or attack.name == "pass_descriptor_out"]
# These hold with the network on as well.
SHARED = [
    Attack("io_uring", "I10", by_report=True, may_be_missing=True),
    Attack("shared_memory", "I17"),
    Attack("semaphores_and_queues", "I17"),
    Attack("posix_queue", "I18"),
    Attack("posix_shared_memory", "I18"),
    Attack("create_in_shared_memory", "I18", harmless_inside=True),
]


@pytest.mark.parametrize("attack", SOCKETS, ids=str)
class TestSockets:
    def test_works_without_a_sandbox(self, world: World, attack: Attack) -> None:
        world.add_listeners()
        prove(world, FAMILY, attack)

    @pytest.mark.parametrize("mode", RESTRICTED, ids=str)
    def test_is_stopped(self, world: World, attack: Attack, mode: Mode) -> None:
        world.add_listeners()
        stop(world, FAMILY, attack, mode)


@pytest.mark.parametrize("attack", SHARED, ids=str)
class TestSharedObjects:
    def test_works_without_a_sandbox(self, world: World, attack: Attack) -> None:
        world.add_shared_objects()
        prove(world, FAMILY, attack)

    @pytest.mark.parametrize("mode", MODES, ids=str)
    def test_is_stopped(self, world: World, attack: Attack, mode: Mode) -> None:
        world.add_shared_objects()
        stop(world, FAMILY, attack, mode)


@pytest.mark.parametrize("attack", LOCAL, ids=str)
def test_the_network_does_not_open_local_sockets(world: World, attack: Attack) -> None:
    """The session bus, docker and ssh-agent listen there: reaching one is as good as leaving the sandbox."""
    world.add_listeners()
    stop(world, FAMILY, attack, WITH_NETWORK)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_programs_can_talk_to_themselves(world: World, mode: Mode) -> None:
    """I16: asyncio, trio, node and test runners hang without it."""
    outcome = run(world, confined(world, mode, attacker_argv(FAMILY, "local_pair", world)))
    assert outcome.achieved, outcome


def test_the_network_is_there_when_it_is_granted(world: World) -> None:
    """The counterpart without which a sandbox that forbids everything would pass."""
    listeners = world.add_listeners()
    outcome = run(world, confined(world, WITH_NETWORK, attacker_argv(FAMILY, "tcp", world)))
    assert "connect" in outcome.report["detail"]["worked"]
    assert "tcp" in listeners.heard()


def test_a_command_learns_that_there_is_no_network(world: World) -> None:
    for mode, expected in ((WORKSPACE_WRITE, b"1"), (READ_ONLY, b"1"), (WITH_NETWORK, b"")):
        shown = ["/bin/sh", "-c", 'printf %s "$CODEX_SANDBOX_NETWORK_DISABLED"']
        out, _ = finish(start(world, confined(world, mode, shown)))
        assert out == expected
