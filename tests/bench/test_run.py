"""The benchmark runs from the command line and tells what it found. How fast anything is, is not tested here."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from support.interpreter import IMPORT_PATH, MINIMAL_ENV
from support.tree import ROOT


def run_bench(*arguments: str, home: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "bench" / "run.py"), *arguments],
        cwd=home,
        env={**MINIMAL_ENV, "PYTHONPATH": IMPORT_PATH, "HOME": str(home), "TMPDIR": str(home / "nowhere"), **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def figures_of(report: dict[str, Any], topic: str) -> dict[str, dict[str, Any]]:
    (found,) = [each for each in report["topics"] if each["name"] == topic]
    return {figure["name"]: figure for figure in found["figures"]}


def test_every_topic_module_is_in_the_catalogue(tmp_path: Path) -> None:
    refused = run_bench("no-such-topic", home=tmp_path)
    assert refused.returncode == 2
    told = refused.stderr.rpartition("there are: ")[2].split(",")
    assert len(told) == len([path for path in (ROOT / "bench" / "topics").glob("*.py") if path.stat().st_size])


@pytest.mark.skipif(sys.platform != "linux", reason="measures the sandbox of another system")
def test_quick_run_of_a_pool_topic_gives_table_and_json(tmp_path: Path) -> None:
    done = run_bench("flood", "--quick", "--json", "out/report.json", home=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    completed = figures_of(json.loads((tmp_path / "out" / "report.json").read_text()), "flood")["completed"]
    (goal,) = completed["goals"]
    assert goal["met"]
    (row,) = [line for line in done.stdout.splitlines() if line.split()[:1] == ["completed"]]
    assert f"{completed['value']} calls" in row
    assert row.endswith(f"{goal['text']}  met")


def test_programs_that_are_missing_or_broken_are_told_and_left_out(tmp_path: Path) -> None:
    broken = tmp_path / "codex"
    broken.write_text("#!/bin/sh\necho old bwrap >&2\nexit 3\n")
    broken.chmod(0o755)
    missing = str(tmp_path / "absent")
    done = run_bench(
        "version", "sandbox", "--quick", "--json", "-", home=tmp_path, CODEX_BIN=str(broken), BWRAP=missing
    )
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert figures_of(report, "version")["codex --version"]["note"] == "does not run here: exit code 3: old bwrap"
    sandbox = figures_of(report, "sandbox")
    assert sandbox["bwrap, equivalent mounts"]["note"] == "not installed"
    ours = sandbox["pycodex sandbox linux --full-auto -- true"]
    assert ours["ratio"] > 0
    assert ours["spread"]["p50"] <= ours["spread"]["p95"] <= ours["spread"]["p99"]


def test_topic_that_cannot_be_measured_fails_the_run_and_not_the_others(tmp_path: Path) -> None:
    failing = tmp_path / "pycodex"
    failing.write_text("#!/bin/sh\nexit 9\n")
    failing.chmod(0o755)
    done = run_bench("version", "pty", "--quick", "--json", "-", "--pycodex", str(failing), home=tmp_path)
    assert done.returncode == 1
    topics = {each["name"]: each for each in json.loads(done.stdout)["topics"]}
    assert "exit status 9" in topics["version"]["error"]
    assert topics["pty"]["figures"]


def test_scratch_repository_lies_outside_tmp_and_is_gone_afterwards(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="pycodex-test-", dir="/var/tmp") as cache:
        done = run_bench("pty", "--quick", "--json", "-", home=tmp_path, XDG_CACHE_HOME=cache)
        assert done.returncode == 0
        workspace = Path(json.loads(done.stdout)["machine"]["workspace"])
        assert workspace.is_relative_to(os.path.realpath(cache))
        assert os.listdir(cache) == []


def test_tmp_is_no_place_for_the_scratch_repository(tmp_path: Path) -> None:
    """Everything in it is writable in the sandbox, so that the plan would be another one."""
    done = run_bench("pty", "--quick", "--json", "-", home=tmp_path, XDG_CACHE_HOME=str(tmp_path), TMPDIR=str(tmp_path))
    workspace = Path(json.loads(done.stdout)["machine"]["workspace"])
    assert not workspace.is_relative_to(tmp_path)
    assert not workspace.is_relative_to("/tmp")


def test_command_that_is_no_program_is_refused_in_one_line(tmp_path: Path) -> None:
    done = run_bench("--pycodex", str(tmp_path / "absent"), home=tmp_path)
    assert done.returncode == 1
    assert done.stderr == f"Error: --pycodex {tmp_path / 'absent'} is not a program\n"
