"""A line to `cat` on a terminal and back: the terminal's own echo, then what `cat` says."""

import os
import pty
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from bench.figures import Figure, Topic, timing
from bench.measure import Variant, awaited, blocking, in_turns
from bench.orders import WentWrong, confined_order
from bench.scene import Scene
from pycodex.protocol.frames import Pty
from pycodex.supervisor.workers.pool import open_pool
from pycodex.supervisor.workers.pty import PtySessions

CAT = "/bin/cat"
LINE = b"a line that comes back twice\n"
EXPECTED = LINE.replace(b"\n", b"\r\n") * 2
PATIENCE_MS = 10_000
BASELINE = "a terminal of this process"
OURS = "a terminal in workspace-write"


async def measure(scene: Scene) -> list[Figure]:
    async with open_pool() as pool:
        sessions = PtySessions(pool)
        order = confined_order(scene, pool, CAT).replace(pty=Pty())
        process_id = await sessions.start(order)
        with _plain_terminal() as terminal_fd:
            variants: dict[str, Variant] = {
                BASELINE: blocking(partial(_plain_round_trip, terminal_fd)),
                OURS: awaited(partial(_round_trip, sessions, process_id)),
            }
            spreads = await in_turns(variants, rounds=scene.scaled(400, 60), pause_s=0.002)
        await sessions.end(process_id)
    baseline = spreads[BASELINE]
    return [
        timing(BASELINE, baseline, baseline=baseline),
        timing(OURS, spreads[OURS], baseline=baseline),
    ]


async def _round_trip(sessions: PtySessions, process_id: int) -> None:
    await sessions.write(process_id, LINE)
    polled = await sessions.poll(process_id, yield_ms=PATIENCE_MS, max_bytes=len(EXPECTED))
    if polled.output.data != EXPECTED:
        raise WentWrong(f"the terminal said {polled.output.data!r:.200}")


@contextmanager
def _plain_terminal() -> Iterator[int]:
    ours_fd, theirs_fd = pty.openpty()
    cat = subprocess.Popen([CAT], stdin=theirs_fd, stdout=theirs_fd, stderr=theirs_fd, start_new_session=True)
    os.close(theirs_fd)
    try:
        yield ours_fd
    finally:
        os.close(ours_fd)
        cat.kill()
        cat.wait()


def _plain_round_trip(terminal_fd: int) -> None:
    os.write(terminal_fd, LINE)
    size = 0
    while size < len(EXPECTED):
        size += len(os.read(terminal_fd, len(EXPECTED)))


TOPIC = Topic("pty", "a line through `cat` on a terminal and back", measure)
