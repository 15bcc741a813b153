"""A process of the same user that a confined command must neither see nor touch.

Owns its life and the questions put to it; what it answers is in `escape/programs/victim.py`.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).resolve().parents[2] / "escape" / "programs"
SECRET = "the-secret-in-the-environment-of-the-victim"


class Victim:
    """Alive from construction to `close`; leader of a session and group of its own."""

    def __init__(self, directory: Path) -> None:
        (directory / "held").write_text("held open by the victim\n", encoding="ascii")
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", str(PROGRAMS / "victim.py"), str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"SECRET": SECRET},
            start_new_session=True,
            text=True,
        )
        about = self._line()
        self.pid: int = about["pid"]
        self.address: int = about["address"]
        self.descriptor: int = about["descriptor"]

    def state(self) -> dict[str, Any]:
        """What it knows of itself now; `{"dead": status}` when it is no more."""
        if (status := self._process.poll()) is not None:
            return {"dead": status}
        assert self._process.stdin is not None
        self._process.stdin.write("state\n")
        self._process.stdin.flush()
        return self._line()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        value: dict[str, Any] = json.loads(self._process.stdout.readline())
        return value
