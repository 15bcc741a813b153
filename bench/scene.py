"""Where the benchmark takes place: a fresh repository, an empty CODEX_HOME, a minimal environment.

Owns the scratch directory and the choice of the `pycodex` command. Both directories lie outside /tmp, which is writable
in the sandbox anyway. Takes what the command line says, gives a scene that is removed afterwards.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PATH = "/usr/local/bin:/usr/bin:/bin"


class NoScene(Exception):
    """There is no place to measure in."""


@dataclass(frozen=True, slots=True)
class Scene:
    workspace: Path
    codex_home: Path
    env: dict[str, str]
    """Of every command that is measured."""
    pycodex: tuple[str, ...]
    """The command's first words."""
    quick: bool

    def scaled(self, full: int, quick: int) -> int:
        """How often something is done in this run."""
        return quick if self.quick else full


@contextmanager
def open_scene(*, pycodex: Path | None, quick: bool) -> Iterator[Scene]:
    command = pycodex_command(pycodex)
    root = Path(tempfile.mkdtemp(prefix="pycodex-bench-", dir=_scratch_parent()))
    try:
        workspace, codex_home = root / "workspace", root / "codex-home"
        workspace.mkdir()
        codex_home.mkdir()
        _make_repository(workspace)
        env = {"PATH": PATH, "HOME": str(root), "CODEX_HOME": str(codex_home), "LC_ALL": "C.UTF-8"}
        # Where pycodex is not installed, this is how the interpreter finds it.
        if "PYTHONPATH" in os.environ:
            env["PYTHONPATH"] = os.environ["PYTHONPATH"]
        yield Scene(workspace=workspace, codex_home=codex_home, env=env, pycodex=command, quick=quick)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def pycodex_command(given: Path | None) -> tuple[str, ...]:
    if given is not None:
        if not os.access(given, os.X_OK) or given.is_dir():
            raise NoScene(f"--pycodex {given} is not a program")
        return (str(given.absolute()),)
    beside = Path(sys.executable).with_name("pycodex")
    return (str(beside),) if os.access(beside, os.X_OK) else (sys.executable, "-m", "pycodex.supervisor")


def _scratch_parent() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    writable_anyway = [os.path.realpath(path) for path in ("/tmp", os.environ.get("TMPDIR")) if path]
    for candidate in (cache, "/var/tmp"):
        try:
            os.makedirs(candidate, exist_ok=True)
        except OSError:
            continue
        path = Path(os.path.realpath(candidate))
        if os.access(path, os.W_OK | os.X_OK) and not any(path.is_relative_to(other) for other in writable_anyway):
            return path
    raise NoScene("no place for a scratch repository outside /tmp: neither ~/.cache nor /var/tmp can be used")


def _make_repository(workspace: Path) -> None:
    try:
        subprocess.run(["git", "init", "-q"], cwd=workspace, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        # What counts for the plan is that there is a repository's metadata to protect.
        (workspace / ".git" / "hooks").mkdir(parents=True, exist_ok=True)
        (workspace / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
