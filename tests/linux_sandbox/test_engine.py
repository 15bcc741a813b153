"""What the host is said to enforce was found out by doing, and finding out leaves nothing behind."""

import os

from pycodex.linux_sandbox.engine import Engine
from pycodex.protocol.confinement import LANDLOCK, NO_LEVEL, Enforced
from support.orders import run
from support.pools import Pools, descendants


def test_report_is_the_same_each_time_and_leaves_nothing() -> None:
    before = descendants(), sorted(os.listdir("/proc/self/fd")), os.getcwd()
    first = Engine().examine()
    assert Engine().examine() == first
    assert (descendants(), sorted(os.listdir("/proc/self/fd")), os.getcwd()) == before


def test_report_does_not_contradict_itself() -> None:
    host = Engine().examine()
    namespaces = (host.userns, host.mountns, host.pidns, host.netns, host.ipcns)
    if host.level == "full":
        assert all(namespaces)
        assert host.carveouts == "mount"
    else:
        assert not any(namespaces)
        assert host.degraded, "what is missing must be said"
        assert host.carveouts == ("snapshot" if host.level == LANDLOCK else "none")
    assert host.seccomp is (host.level != NO_LEVEL)
    assert host.landlock_abi > 0 or host.level != LANDLOCK


async def test_calls_report_what_the_host_was_said_to_enforce(real_pools: Pools) -> None:
    async with real_pools.open() as pool:
        done = await pool.run(run("/bin/true"))
        assert isinstance(pool.host, Enforced)
        assert done.exited.enforced == pool.host
