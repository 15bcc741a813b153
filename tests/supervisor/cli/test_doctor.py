"""`pycodex doctor`: a report for people and one for programs, both telling the same."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pycodex.sandbox.diagnosis import Finding
from pycodex.supervisor.cli.doctor import report, text, worst
from pycodex.supervisor.cli.doctor_checks import Check
from pycodex.supervisor.cli.terminal import Palette
from pycodex.supervisor.version import VERSION
from support.cli import Ended

Call = Callable[..., Ended]

MISSING = Finding(id="sandbox.x", status="fail", summary="x is missing", details={"k": "v"}, remedy="install x")
FINE = Finding(id="system.y", status="ok", summary="y is there")


def read(ended: Ended) -> dict[str, Any]:
    assert ended.err == ""
    found = json.loads(ended.out)
    assert isinstance(found, dict)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="the checks of Linux")
def test_report_has_the_known_shape(pycodex: Call) -> None:
    found = read(pycodex("doctor", "--json"))
    assert list(found) == ["schemaVersion", "generatedAt", "overallStatus", "codexVersion", "checks"]
    assert (found["schemaVersion"], found["codexVersion"]) == (1, VERSION)
    assert found["generatedAt"].endswith("Z")
    keys = ["id", "category", "status", "summary", "details", "remediation", "durationMs"]
    for name, check in found["checks"].items():
        assert list(check) == keys
        assert (check["id"], check["category"]) == (name, name.split(".")[0])
        assert check["status"] in ("ok", "warning", "fail")
    namespaces = {f"sandbox.namespace.{kind}" for kind in ("user", "mount", "pid", "network", "ipc")}
    wanted = {"system.kernel", "system.python", "sandbox.landlock", "sandbox.seccomp", "sandbox.level", "config.load"}
    assert wanted | namespaces <= found["checks"].keys()


def test_text_and_json_agree(pycodex: Call) -> None:
    found = read(pycodex("doctor", "--json"))
    shown = pycodex("doctor")
    assert shown.code == (1 if found["overallStatus"] == "fail" else 0)
    for check in found["checks"].values():
        assert check["summary"] in shown.out


def test_broken_configuration_fails_with_its_place(pycodex: Call, home: Path) -> None:
    (home / "config.toml").write_text("[sandbox.limits]\nprocesses = 'many'\n")
    ended = pycodex("doctor", "--json")
    check = read(ended)["checks"]["config.load"]
    assert ended.code == 1
    assert check["status"] == "fail"
    assert check["summary"].startswith(f"{home}/config.toml:2:13: invalid type")


def test_missing_home_fails(pycodex: Call) -> None:
    ended = pycodex("doctor", "--json", env={"CODEX_HOME": "/no/such"})
    assert ended.code == 1
    assert read(ended)["checks"]["home.directory"]["status"] == "fail"


def test_overrides_are_checked_too(pycodex: Call) -> None:
    assert pycodex("-c", "sandbox.landlock_only=3", "doctor").code == 1


def test_doctor_leaves_the_home_as_it_was(pycodex: Call, home: Path) -> None:
    pycodex("doctor")
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [(["ok", "ok"], "ok"), (["ok", "warning"], "warning"), (["warning", "fail", "ok"], "fail"), ([], "ok")],
)
def test_the_worst_counts(statuses: list[str], expected: str) -> None:
    assert worst(statuses) == expected


def test_remedy_stands_below_what_is_missing() -> None:
    shown = text([Check(MISSING, 1), Check(FINE, 1)], "fail", Palette(colour=False), ascii_only=True, details=False)
    assert shown.splitlines() == [
        f"pycodex {VERSION}",
        "",
        "sandbox",
        "  XX x  x is missing",
        "        to mend it: install x",
        "",
        "system",
        "  ok y  y is there",
        "",
        "Not usable yet: see the lines marked above.",
    ]


def test_details_are_shown_on_request() -> None:
    shown = text([Check(MISSING, 1)], "fail", Palette(colour=False), ascii_only=True, details=True)
    assert "        k: v" in shown.splitlines()


def test_remedy_is_null_where_none_is_needed() -> None:
    checks = report([Check(FINE, 3)], "ok")["checks"]
    assert checks["system.y"]["remediation"] is None
    assert checks["system.y"]["durationMs"] == 3


def test_words_are_refused(pycodex: Call) -> None:
    ended = pycodex("doctor", "now")
    assert ended.code == 2
    assert ended.err.startswith("error: unexpected argument 'now' found")
