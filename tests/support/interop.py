"""Recorded behaviour of the reference, replayed against this checkout.

Owns where the scenarios are, which of them apply, and how one is run. The recordings are no part of the repository.
"""

import json
import subprocess
import sys
from pathlib import Path

from support.tree import ROOT

INTEROP = ROOT.parent / "shared" / "interop"
HERE = ROOT / "tests" / "interop"
TOPICS = ("cli-", "config-", "context-", "exec-", "human-", "model-", "plan-", "session-")
LONGEST_S = 110


def known_scenarios() -> list[str]:
    return sorted(path.stem for path in (INTEROP / "scenarios").glob("*.json")) if INTEROP.is_dir() else []


def not_built() -> dict[str, str]:
    """Scenarios of our topics that need something we do not have yet, with what that is."""
    listed: dict[str, str] = json.loads((HERE / "not_built.json").read_text(encoding="utf-8"))
    return listed


def applying() -> list[str]:
    return [name for name in known_scenarios() if name.startswith(TOPICS) and name not in not_built()]


def differences(name: str) -> str:
    """What differs from the recording beyond the meant deviations; empty if nothing does."""
    done = subprocess.run(
        [
            *(sys.executable, str(INTEROP / "interop.py"), "check", "-v"),
            *("--bin", str(Path(sys.executable).with_name("pycodex"))),
            *("--deviations", str(HERE / "deviations.json")),
            # The list of offered tools grows with the tools.
            *("--skip", ".model.tools"),
            str(INTEROP / "scenarios" / f"{name}.json"),
        ],
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr
