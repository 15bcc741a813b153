"""What commands that belong to no thread may touch and see."""

import sys
from pathlib import Path

import pytest

from pycodex.protocol.permissions import DANGER_FULL_ACCESS, WORKSPACE_WRITE, FsRule, Permissions
from pycodex.supervisor.commands.workplace import LOOKING, Unconfinable, Workplace, with_own_programs
from pycodex.supervisor.config.config import Flags
from pycodex.supervisor.config.load import load_config
from pycodex.supervisor.workers.late_pool import LatePool


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    (tmp_path / "home").mkdir()
    env = {"CODEX_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "CODEX_API_KEY": "secret", "A": "1"}
    config = load_config(env=env, overrides=(), cwd=str(tmp_path.resolve()), flags=Flags())
    return Workplace(config=config, env=env, pool=LatePool(env, None))


async def test_looking_neither_writes_nor_reaches_anybody(workplace: Workplace) -> None:
    confined = workplace.confinement(LOOKING, runtime_dir="/run/x")
    assert not confined.network
    assert not confined.unconfined_because
    assert confined.hidden == ("/run/x",)


async def test_only_full_access_is_unconfined(workplace: Workplace) -> None:
    full = Permissions(mode=DANGER_FULL_ACCESS, network_access=True)
    assert workplace.confinement(full, runtime_dir="/run/x").unconfined_because == "danger-full-access"


async def test_what_cannot_be_enforced_is_not_run(workplace: Workplace) -> None:
    impossible = Permissions(mode=WORKSPACE_WRITE, rules=(FsRule(path="relative", access="write"),))
    with pytest.raises(Unconfinable):
        workplace.confinement(impossible, runtime_dir="/run/x")


async def test_no_command_sees_our_key(workplace: Workplace) -> None:
    confined = workplace.confinement(LOOKING, runtime_dir="/run/x")
    env = workplace.environment(confined, {"A": None, "B": "2"})
    assert "CODEX_API_KEY" not in env
    assert "A" not in env
    assert env["B"] == "2"


def test_programs_of_ours_are_found_last() -> None:
    assert with_own_programs({"PATH": "/bin"})["PATH"] == f"/bin:{Path(sys.executable).parent}"
