"""The steps of `pycodex demo`: what is tried, what must come of it, and why.

Owns the scene (a workspace, a directory outside it, a listener, a bystander process) and the list of steps. Each step
can tell from the host's side whether its promise held.
"""

import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ALLOWED = "allowed"
REFUSED = "refused"


@dataclass(frozen=True)
class Step:
    """One command. `holds` looks at the host afterwards: an exit code alone proves nothing."""

    title: str
    argv: tuple[str, ...]
    expected: str
    why: str
    holds: Callable[[], bool]
    full_auto: bool = True
    shown: str = ""


class Scene:
    """What the steps act upon."""

    def __init__(self, workspace: Path, outside: Path) -> None:
        self.workspace = workspace
        self.outside = outside
        self.in_tmp = Path("/tmp") / f"pycodex-demo-{secrets.token_hex(6)}"
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.bystander = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)

    def close(self) -> None:
        self.listener.close()
        self.bystander.kill()
        self.bystander.wait()
        self.in_tmp.unlink(missing_ok=True)

    def was_called(self) -> bool:
        try:
            self.listener.accept()[0].close()
        except BlockingIOError:
            return False
        return True


def steps(scene: Scene) -> Iterator[Step]:
    yield from _writing(scene)
    yield from _protected(scene)
    yield from _reaching_out(scene)
    yield Step(
        title="change a file without --full-auto",
        argv=("touch", "second.txt"),
        expected=REFUSED,
        why="without --full-auto the sandbox is read-only",
        holds=lambda: not (scene.workspace / "second.txt").exists(),
        full_auto=False,
    )


def _writing(scene: Scene) -> Iterator[Step]:
    yield Step(
        title="write a file in the workspace",
        argv=("sh", "-c", "echo hello > notes.txt"),
        expected=ALLOWED,
        why="the current directory is a writable root",
        holds=(scene.workspace / "notes.txt").exists,
    )
    yield Step(
        title="write a temporary file",
        argv=("touch", str(scene.in_tmp)),
        expected=ALLOWED,
        why="/tmp is a writable root, too",
        holds=scene.in_tmp.exists,
    )
    yield Step(
        title="write next to the workspace",
        argv=("touch", str(scene.outside / "escaped.txt")),
        expected=REFUSED,
        why="everything outside the writable roots is read-only",
        holds=lambda: not (scene.outside / "escaped.txt").exists(),
    )


def _protected(scene: Scene) -> Iterator[Step]:
    hook = scene.workspace / ".git" / "hooks" / "pre-commit"
    yield Step(
        title="plant a git hook",
        argv=("sh", "-c", "echo 'echo hooked' > .git/hooks/pre-commit"),
        expected=REFUSED,
        why="a hook would run later, outside the sandbox; .git is protected",
        holds=lambda: not hook.exists(),
    )
    yield Step(
        title="make a project configuration where none is",
        argv=("sh", "-c", "mkdir -p .codex && echo 'model = 1' > .codex/config.toml"),
        expected=REFUSED,
        why="protected names that do not exist yet are kept from being created",
        holds=lambda: not (scene.workspace / ".codex").exists(),
    )
    yield Step(
        title="move the repository's directory away",
        argv=("mv", ".git", "old-git"),
        expected=REFUSED,
        why="a protected path cannot be renamed either",
        holds=hook.parent.is_dir,
    )


def _reaching_out(scene: Scene) -> Iterator[Step]:
    port = scene.listener.getsockname()[1]
    connect = f"socket.create_connection(('127.0.0.1', {port}), 2)"
    program = f"import socket, sys\ntry: {connect}\nexcept OSError as error: sys.exit(str(error))"
    yield Step(
        title="open a network connection, to this very machine",
        argv=(sys.executable, "-c", program),
        expected=REFUSED,
        why="the network is off, the loopback interface included",
        holds=lambda: not scene.was_called(),
        shown=f'python3 -c "... {connect}"',
    )
    yield Step(
        title="kill a process outside",
        argv=("sh", "-c", f"kill {scene.bystander.pid}"),
        expected=REFUSED,
        why="inside, only the sandbox's own processes can be reached",
        holds=lambda: scene.bystander.poll() is None,
    )
    seconds = f"600.{secrets.randbelow(10**9):09d}"
    yield Step(
        title="leave a process behind",
        argv=("sh", "-c", f"sleep {seconds} >/dev/null 2>&1 & echo started one"),
        expected=ALLOWED,
        why="it may be started, but it ended together with the command",
        holds=lambda: not _is_running(seconds),
    )


def _is_running(argument: str) -> bool:
    """Whether any process has this word on its command line."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                words = Path("/proc", name, "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if argument.encode() in words:
                return True
    return False
