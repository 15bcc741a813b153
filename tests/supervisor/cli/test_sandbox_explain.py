"""`--explain` shows the plan and runs nothing."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.cli import Ended

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox of Linux")

Call = Callable[..., Ended]


SECRETS = (".credentials.json", "app-server-token", "auth.json")


def rows(ended: Ended) -> dict[str, list[str]]:
    """The values of each label, in order."""
    assert (ended.code, ended.err) == (0, "")
    found: dict[str, list[str]] = {}
    label = ""
    for line in ended.out.splitlines():
        label = line[:14].strip() or label
        found.setdefault(label, []).append(line[16:])
    return found


def test_nothing_is_run(pycodex: Call, workspace: Path) -> None:
    pycodex("sandbox", "linux", "--full-auto", "--explain", "touch", "x")
    assert not (workspace / "x").exists()


def test_read_only_plan(pycodex: Call, workspace: Path) -> None:
    shown = rows(pycodex("sandbox", "--explain"))
    assert shown["directory"] == [str(workspace)]
    assert shown["readable"] == ["the whole disk"]
    assert shown["writable"] == ["none"]
    assert shown["network"] == ["off"]


def test_workspace_plan_names_roots_protected_paths_and_placeholders(pycodex: Call, workspace: Path) -> None:
    (workspace / ".git").mkdir()
    limits = ("-c", "sandbox.limits.processes=9")
    shown = rows(pycodex("sandbox", "linux", "--full-auto", "--explain", *limits))
    assert sorted(shown["writable"]) == ["/tmp", str(workspace)]
    assert f"{workspace}/.git (read-only)" in shown["protected"]
    assert f"{workspace}/.codex (missing; kept from being created)" in shown["placeholders"]
    assert shown["limits"] == ["processes = 9"]
    assert shown["this host"][0].startswith("level ")


def test_network_plan_denies_the_credentials(pycodex: Call, home: Path) -> None:
    (home / "auth.json").write_text("{}")
    network = ("-c", "sandbox_workspace_write.network_access=true")
    shown = rows(pycodex("sandbox", "linux", "--full-auto", "--explain", *network))
    assert shown["network"] == ["on"]
    assert shown["denied"] == [f"{home}/{name} (not even readable)" for name in SECRETS]


def test_full_access_is_called_off(pycodex: Call) -> None:
    shown = rows(pycodex("sandbox", "-P", ":danger-no-sandbox", "--explain"))
    assert shown["sandbox"] == ["off (danger-full-access): every file and the network are open"]


def test_pipe_gets_no_colours(pycodex: Call) -> None:
    assert "\x1b" not in pycodex("sandbox", "--explain", env={"TERM": "xterm-256color"}).out
