"""Recorded behaviour of the reference, replayed against this checkout.

Owns where the scenarios are, which of them apply, and how one is run and compared. The recordings, and the program that
made them, are no part of the repository.
"""

import importlib.util
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from support.tree import ROOT

INTEROP = ROOT.parent / "shared" / "interop"
HERE = ROOT / "tests" / "interop"
TOPICS = (
    *("cli-", "compact-", "config-", "context-", "exec-", "human-", "mcp-", "model-", "patch-", "plan-", "policy-"),
    *("review-", "rpc-", "rules-", "sandbox-", "session-", "shell-", "view-"),
)
LONGEST_S = 110
COMPARED = ("runs", "files", "model", "session", "home_files", "home_names")


def known_scenarios() -> list[str]:
    return sorted(path.stem for path in (INTEROP / "scenarios").glob("*.json")) if INTEROP.is_dir() else []


def not_built(what: str) -> dict[str, str]:
    """`scenarios` of our topics, or `tools`, that need something we do not have yet, with what that is."""
    listed: dict[str, str] = _read(HERE / "not_built.json")[what]
    return listed


def deviations() -> dict[str, list[dict[str, str]]]:
    """Where we differ on purpose, with the reason."""
    listed: dict[str, list[dict[str, str]]] = _read(HERE / "deviations.json")
    return listed


def applying() -> list[str]:
    return [name for name in known_scenarios() if name.startswith(TOPICS) and name not in not_built("scenarios")]


def differences(name: str) -> str:
    """What differs from the recording beyond the meant deviations; empty if nothing does."""
    program = _recorder()
    expected = _without_unbuilt_tools(_read(INTEROP / "expected" / f"{name}.json"))
    got = _seen(name)
    found = list(program.diff(*({part: side.get(part) for part in COMPARED} for side in (expected, got))))
    left, wrong = program.excuse(found, deviations().get(name, []))
    shown = (f"{at}\n  reference: {json.dumps(want)}\n  here:      {json.dumps(have)}" for at, want, have in left)
    return "\n".join((*shown, *wrong))


def _seen(name: str) -> dict[str, Any]:
    """What this checkout does."""
    done = subprocess.run(
        [
            *(sys.executable, str(INTEROP / "interop.py"), "show"),
            *("--bin", str(Path(sys.executable).with_name("pycodex"))),
            str(INTEROP / "scenarios" / f"{name}.json"),
        ],
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=True,
    )
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


def _without_unbuilt_tools(expected: dict[str, Any]) -> dict[str, Any]:
    unbuilt = not_built("tools")
    model = expected.get("model", {})
    if "tools" in model:
        model["tools"] = [name for name in model["tools"] if name not in unbuilt]
    if "params" in model:
        model["params"] = {name: known for name, known in model["params"].items() if name not in unbuilt}
    return expected


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@cache
def _recorder() -> ModuleType:
    """The program that runs scenarios, for its rules of comparison; it lies outside of every package."""
    spec = importlib.util.spec_from_file_location("recorder_of_scenarios", INTEROP / "interop.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
