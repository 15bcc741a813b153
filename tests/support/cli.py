"""The command line as a person would call it, from this checkout.

Owns how a test starts `pycodex` as a real process. Knows no subcommand.
"""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from support.interpreter import MINIMAL_ENV, python_argv

MAIN = "from pycodex.supervisor.cli.main import main; sys.exit(main())"


@dataclass(frozen=True)
class Ended:
    """How a call ended."""

    code: int
    out: str
    err: str


def cli_argv(*arguments: str) -> list[str]:
    return python_argv(MAIN, *arguments)


def run_cli(
    *arguments: str, cwd: Path | str = "/", env: Mapping[str, str] | None = None, stdin: str | None = None
) -> Ended:
    """Call `pycodex` and wait. `env` comes on top of a minimal environment."""
    done = subprocess.run(
        cli_argv(*arguments),
        cwd=cwd,
        env={**MINIMAL_ENV, **(env or {})},
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)
