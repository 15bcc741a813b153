"""A worker that is not what it claims to be gets no order."""

import pytest

from pycodex.supervisor.workers.lease import WorkerLost
from support.fake_worker import command, launcher
from support.pools import Pools


@pytest.mark.parametrize(
    ("mode", "text"),
    [("impostor", "claims to be process 1"), ("disguised", "greeting as 'unconfined', started as confined")],
)
async def test_worker_that_lies_about_itself_is_refused(fake_pools: Pools, mode: str, text: str) -> None:
    async with fake_pools.open(launch=launcher(mode)) as pool:
        with pytest.raises(WorkerLost, match=text):
            await pool.run(command("true"))
