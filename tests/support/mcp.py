"""MCP servers for tests: a real program, well-behaved or not, as the configuration names it.

Owns where the programs are and how they are named in a configuration, and what a server has noted about itself.
"""

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pycodex.supervisor.config.mcp_servers import McpServer, StdioServer
from support.engine import Place
from support.tree import ROOT

PROGRAM = ROOT / "tests" / "support" / "mcp_program.py"


def server(fault: str = "", *, name: str = "s", notes: Path | None = None, **settings: Any) -> McpServer:
    """One that misbehaves in this way. What happens to it is written to `notes`."""
    env = {} if notes is None else {"NOTES": str(notes)}
    transport = StdioServer(command=sys.executable, args=(str(PROGRAM), fault), env=env)
    return McpServer(name=name, transport=transport, **settings)


def table(name: str, fault: str = "", *, notes: Path | None = None, more: str = "") -> str:
    """The same as text of a config.toml."""
    env = "" if notes is None else f"env = {{ NOTES = {json.dumps(str(notes))} }}\n"
    args = json.dumps([str(PROGRAM), fault])
    return f"[mcp_servers.{name}]\ncommand = {json.dumps(sys.executable)}\nargs = {args}\n{env}{more}\n"


def noted(notes: Path) -> list[str]:
    return notes.read_text(encoding="utf-8").splitlines() if notes.exists() else []


def heard(notes: Path) -> list[Any]:
    """The messages that the server got, without their ids."""
    return [json.loads(line) for line in noted(notes) if line.startswith("{")]


def pids(notes: Path) -> list[int]:
    """Of the server, and of those that it has started."""
    words = " ".join(line.removeprefix("pid ") for line in noted(notes) if not line.startswith(("{", "slow")))
    return [int(word) for word in words.split()]


def alive(processes: Iterable[int]) -> list[int]:
    return [pid for pid in processes if os.path.exists(f"/proc/{pid}") and _state(pid) not in ("Z", "X", "")]


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return ""


def add_servers(place: Place, *tables: str) -> None:
    """To the configuration of an engine that is running already; it is read again for every thread."""
    path = place.home / "config.toml"
    path.write_text(path.read_text(encoding="utf-8") + "\n".join(tables), encoding="utf-8")
