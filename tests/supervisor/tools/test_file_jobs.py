"""Work on files under the permissions of the turn; what comes back is not trusted."""

from pathlib import Path

import pytest

from pycodex.protocol.confinement import NONE, Confinement
from pycodex.protocol.errors import ModelFacing
from pycodex.supervisor.tools.file_jobs import run_job
from pycodex.supervisor.tools.handlers.list_dir import ListDir
from pycodex.supervisor.tools.handlers.read_file import ReadFile
from pycodex.supervisor.tools.handlers.view_image import ViewImage
from pycodex.supervisor.tools.reading import for_reading
from pycodex.supervisor.tools.tool import Tool
from support.direct_calls import answered, denying
from support.pools import Pools
from support.tool_calls import WORKSPACE_WRITE, make_turn, open_bench


async def test_job_runs_in_the_turns_directory_under_its_permissions(
    real_pools: Pools, workspace: Path, home: Path
) -> None:
    (workspace / "secret").write_text("key", encoding="ascii")
    turn = make_turn(cwd=str(workspace), permissions=denying(workspace / "secret"))
    async with real_pools.open() as pool, open_bench(pool, home, turn) as bench:
        done = await run_job("path_kind", {"path": str(workspace)}, bench.scope)
        assert (done.value, done.exited.code) == ("directory", 0)
        with pytest.raises(ModelFacing, match="failed to read file"):
            await run_job("read_file", {"path": str(workspace / "secret")}, bench.scope)


async def test_permissions_can_be_taken_away(real_pools: Pools, workspace: Path, home: Path) -> None:
    def nothing(confined: Confinement) -> Confinement:
        return confined.replace(base=NONE, entries=())

    turn = make_turn(cwd=str(workspace), permissions=WORKSPACE_WRITE)
    async with real_pools.open() as pool, open_bench(pool, home, turn) as bench:
        wanted = {"path": str(home)}
        for confine in (lambda confined: confined, for_reading):
            assert (await run_job("list_dir", wanted, bench.scope, confine=confine)).value
        with pytest.raises(ModelFacing):
            await run_job("list_dir", wanted, bench.scope, confine=nothing)


async def test_sizes_are_bounded(real_pools: Pools, workspace: Path, home: Path) -> None:
    (workspace / "file").write_text("x" * 400, encoding="ascii")
    turn = make_turn(cwd=str(workspace))
    async with real_pools.open() as pool, open_bench(pool, home, turn) as bench:
        wanted = {"path": str(workspace / "file")}
        assert (await run_job("read_file", wanted, bench.scope)).value
        with pytest.raises(ModelFacing, match="the answer exceeds 100 bytes"):
            await run_job("read_file", wanted, bench.scope, answer_cap_bytes=100)
        with pytest.raises(ModelFacing, match="the arguments are too large"):
            await run_job("read_file", {"path": "/" + "x" * (9 << 20)}, bench.scope)


@pytest.mark.parametrize(
    ("tool", "argument"), [(ReadFile(), "file_path"), (ListDir(), "dir_path"), (ViewImage(), "path")]
)
async def test_answer_of_another_form_is_refused(fake_pools: Pools, home: Path, tool: Tool, argument: str) -> None:
    """The stand-in of a worker gives back its order."""
    async with fake_pools.open() as pool, open_bench(pool, home, make_turn()) as bench:
        answer = await answered(tool, bench, {argument: "/x"})
    assert answer.output == f"{tool.name}: the answer makes no sense"


async def test_half_a_character_is_no_text(real_pools: Pools, workspace: Path, home: Path) -> None:
    turn = make_turn(cwd=str(workspace))
    async with real_pools.open() as pool, open_bench(pool, home, turn) as bench:
        with pytest.raises(ModelFacing, match="path_kind: the arguments are not valid Unicode"):
            await run_job("path_kind", {"path": "/\ud800"}, bench.scope)
