"""Answers say where all of the output is if they do not hold it; errors, what was to run and why it did not."""

import math
import re
from pathlib import Path

import pytest
import trio

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.model_info import BYTES, TOKENS, TruncationPolicy
from pycodex.supervisor.tools.exec_answer import answered, not_started
from pycodex.supervisor.tools.processes import Origin, Processes
from pycodex.supervisor.tools.spool import Spools
from pycodex.supervisor.workers.lease import JobFailed, JobRefused, WorkerLost
from support.fake_worker import command
from support.pools import Pools
from support.tool_calls import OpenPool

NO_LIMIT = TruncationPolicy(TOKENS, 1_000_000)
BY_BYTES = TruncationPolicy(BYTES, 10_000)
BY_TOKENS = TruncationPolicy(TOKENS, 10_000)


async def answer_to(
    pools: Pools, spools: Spools | None, output: str, *, history: TruncationPolicy, max_tokens: int | None = None
) -> str:
    """What is said of a command that printed this, if the history is kept by that policy."""
    async with pools.open() as pool, trio.open_nursery() as nursery:
        processes = Processes(OpenPool(pool), nursery.start_soon, spools)
        origin = Origin(call_id="c", turn_id="t", argv=("say",), parsed_cmd=(), truncation=history, emit=lambda _: None)
        process = await processes.start(command("say", output), origin)
        assert await process.wait(math.inf)
        answer = answered(process, processes, max_tokens=max_tokens).output
        await processes.end_all()
    assert isinstance(answer, str)
    return answer


def files_in(home: Path) -> dict[str | None, str]:
    return {str(path): path.read_text(encoding="ascii") for path in home.rglob("*") if path.is_file()}


def named_file(answer: str) -> str | None:
    found = re.search(r"^Command: .*\nChunk ID: [0-9a-f]{6}\nFull output: (.*)\nWall time: ", answer)
    assert (found is not None) == ("Full output" in answer)
    return found[1] if found is not None else None


@pytest.mark.parametrize(
    ("size", "max_tokens", "history"),
    [
        (40_001, None, BY_TOKENS),
        (40_001, None, NO_LIMIT),
        (5, 1, NO_LIMIT),
        (1, 0, NO_LIMIT),
        (48_001, 20_000, BY_TOKENS),
        (12_001, None, BY_BYTES),
        # The output alone would fit into the history, the answer does not.
        (11_990, None, BY_BYTES),
    ],
)
async def test_output_that_is_cut_is_named(
    fake_pools: Pools, home: Path, size: int, max_tokens: int | None, history: TruncationPolicy
) -> None:
    spools = Spools(str(home), "t")
    answer = await answer_to(fake_pools, spools, "x" * size, history=history, max_tokens=max_tokens)
    assert files_in(home) == {named_file(answer): "x" * size}


@pytest.mark.parametrize(
    ("size", "max_tokens", "history"),
    [
        (40_000, None, BY_TOKENS),
        (47_000, 20_000, BY_TOKENS),
        (11_500, None, BY_BYTES),
        (4, 1, NO_LIMIT),
        (0, 0, BY_BYTES),
    ],
)
async def test_output_that_is_shown_whole_is_in_no_file(
    fake_pools: Pools, home: Path, size: int, max_tokens: int | None, history: TruncationPolicy
) -> None:
    spools = Spools(str(home), "t")
    answer = await answer_to(fake_pools, spools, "x" * size, history=history, max_tokens=max_tokens)
    assert named_file(answer) is None
    assert files_in(home) == {}
    assert answer.endswith("\nOutput:\n" + "x" * size)


async def test_output_that_cannot_be_kept_is_not_named(fake_pools: Pools) -> None:
    for spools in (None, Spools("/proc/self", "t")):
        answer = await answer_to(fake_pools, spools, "x" * 50_000, history=BY_TOKENS)
        assert named_file(answer) is None
        assert "tokens truncated" in answer


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (JobFailed("cwd", errno=2), "Failed to create unified exec process: No such file or directory (os error 2)"),
        (JobFailed("the worker failed"), "the worker failed"),
        (
            JobRefused("no user namespaces"),
            "the sandbox cannot enforce what is asked, so nothing was run: no user namespaces",
        ),
        (WorkerLost("killed by signal 9"), "killed by signal 9"),
    ],
)
def test_reason_is_named(error: ModelFacing, reason: str) -> None:
    assert str(not_started(("/bin/bash", "-c", "echo hi"), error)) == (
        f'exec_command failed for `/bin/bash -c \'echo hi\'`: CreateProcess {{ message: "Rejected(\\"{reason}\\")" }}'
    )
