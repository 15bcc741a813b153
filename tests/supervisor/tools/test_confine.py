"""The permissions of the turn become what a command may touch, as the disk is now."""

from pathlib import Path
from typing import Any, cast

import pytest

from pycodex.protocol.confinement import Confinement, Limits
from pycodex.protocol.turn_context import TurnContext
from pycodex.sandbox.plan import access_at
from pycodex.supervisor.tools.confine import Unconfinable, confinement, environment
from pycodex.supervisor.tools.processes import Processes
from pycodex.supervisor.tools.services import ToolServices
from pycodex.supervisor.workers.late_pool import PoolSource
from support.tool_calls import FULL_ACCESS, READ_ONLY, WORKSPACE_WRITE, make_turn


def planned_for(turn: TurnContext, home: Path, **fields: Any) -> Confinement:
    """With a runtime directory that is named through a link."""
    runtime = home / "run"
    runtime.mkdir(exist_ok=True)
    link = home / "link"
    if not link.is_symlink():
        link.symlink_to(runtime)
    return confinement(turn, services(home, **fields), runtime_dir=str(link))


def services(home: Path, **fields: Any) -> ToolServices:
    defaults: dict[str, Any] = {
        "pool": cast(PoolSource, None),
        "processes": cast(Processes, None),
        "codex_home": str(home),
        "env": {"A": "1"},
    }
    return ToolServices(**{**defaults, **fields})


def test_workspace_is_writable_and_what_appears_in_it_protected(workspace: Path, home: Path) -> None:
    turn = make_turn(str(workspace), permissions=WORKSPACE_WRITE)
    first = planned_for(turn, home)
    assert access_at(first, str(workspace)) == "write"
    assert str(workspace / ".git") in first.placeholders
    (workspace / ".git").mkdir()
    (workspace / ".git" / "HEAD").touch()
    second = planned_for(turn, home)
    assert access_at(second, str(workspace / ".git")) == "read"
    assert str(workspace / ".git") not in second.placeholders


def test_runtime_directory_is_hidden_by_its_true_name(workspace: Path, home: Path) -> None:
    planned = planned_for(make_turn(str(workspace)), home)
    assert str(home / "run") in planned.hidden


def test_settings_reach_the_plan(workspace: Path, home: Path) -> None:
    limits = Limits(processes=7)
    (home / "auth.json").touch()
    online = READ_ONLY.replace(network_access=True)
    turn = make_turn(str(workspace), permissions=online)
    planned = planned_for(turn, home, limits=limits, landlock_only=True)
    assert (planned.limits, planned.landlock_only, planned.network) == (limits, True, True)
    assert access_at(planned, str(home / "auth.json")) == "none"
    open_reads = planned_for(turn, home, deny_read_defaults=False)
    assert access_at(open_reads, str(home / "auth.json")) == "read"


def test_full_access_is_named(workspace: Path, home: Path) -> None:
    planned = planned_for(make_turn(str(workspace), permissions=FULL_ACCESS), home)
    assert planned.unconfined_because == "danger-full-access"


@pytest.mark.parametrize(
    ("permissions", "disabled"),
    [(READ_ONLY, "1"), (READ_ONLY.replace(network_access=True), None), (FULL_ACCESS, None)],
)
def test_environment_tells_of_the_network(workspace: Path, home: Path, permissions: Any, disabled: str | None) -> None:
    turn = make_turn(str(workspace), permissions=permissions)
    given = services(home)
    env = environment(turn, given, planned_for(turn, home))
    assert env.pop("CODEX_SANDBOX_NETWORK_DISABLED", None) == disabled
    assert env == {"A": "1", "CODEX_THREAD_ID": "thread-1"}


@pytest.mark.parametrize("cwd", ["/nonexistent", "relative"])
def test_directory_that_cannot_be_used_is_an_error_for_the_model(home: Path, cwd: str) -> None:
    with pytest.raises(Unconfinable, match=f"so nothing was run: working directory '{cwd}'"):
        planned_for(make_turn(cwd), home)


def test_what_cannot_be_protected_is_an_error_for_the_model(workspace: Path, home: Path) -> None:
    (workspace / ".git").symlink_to("loop")
    (workspace / "loop").symlink_to(".git")
    with pytest.raises(Unconfinable):
        planned_for(make_turn(str(workspace), permissions=WORKSPACE_WRITE), home)
