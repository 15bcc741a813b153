"""A confined command has no privilege and cannot get one, whoever started it."""

import os

from support.orders import CONFINED, shell, writing
from support.pools import Pools

from pycodex.protocol.confinement import WRITE, Confinement

SCRIPT = "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; id -u; id -g"


async def test_no_capability_is_left_in_any_set(real_pools: Pools) -> None:
    async with real_pools.open() as pool:
        for confinement in (CONFINED, CONFINED.replace(network=True), writing("/tmp"), Confinement(base=WRITE)):
            done = await pool.run(shell(SCRIPT, confinement=confinement))
            *status, uid, gid = done.stdout.data.decode().splitlines()
            values = {name: int(value, 16) for name, value in (line.split(":\t") for line in status)}
            # The bounding set is closed off by the bits below: nothing can be raised from it.
            bounding = values.pop("CapBnd")
            assert values == {"CapInh": 0, "CapPrm": 0, "CapEff": 0, "CapAmb": 0, "NoNewPrivs": 1, "Seccomp": 2}
            assert bounding >= 0
            assert (int(uid), int(gid)) == (os.geteuid(), os.getegid())


async def test_being_root_helps_with_nothing(real_pools: Pools) -> None:
    """As root this is uid 0 all the same; as somebody else the calls fail for two reasons."""
    script = "chown 1 /tmp/$0; hostname x; mount -t tmpfs none /mnt; kill -0 1; su -c true; exit 0"
    async with real_pools.open() as pool:
        done = await pool.run(shell(script, confinement=Confinement(base=WRITE)))
        assert done.stdout.data == b""
        assert done.stderr.data.count(b"\n") >= 4
