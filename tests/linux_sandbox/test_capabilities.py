"""A confined command has no privilege and cannot get one, whoever started it."""

import os

from pycodex.protocol.confinement import WRITE, Confinement
from support.orders import CONFINED, shell, writing
from support.pools import Pools

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
