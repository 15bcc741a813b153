"""Where the demonstration takes place: a scratch directory with a repository and homes of its own.

Owns what is made on disk and that it is removed again, and the environment in which everything runs. Nothing of the
person's own home, configuration or credentials gets in.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.frontends.demo.story import FILES, MODEL

_KEPT_VARIABLES = ("LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "TERM", "TZ", "USER", "XDG_RUNTIME_DIR")
_FIRST_COMMIT = (
    ("init", "-q"),
    ("add", "."),
    ("-c", "user.name=Demo", "-c", "user.email=demo@localhost", "commit", "-q", "-m", "Make slugs of titles"),
)


class Scene:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = root / "repository"
        self.home = root / "home"
        self.codex_home = self.home / ".codex"
        self.system_dir = root / "etc"
        """In place of the machine's own configuration: the show is the same everywhere."""
        self.catalog = self.codex_home / "models.json"

    @property
    def hook(self) -> Path:
        return self.workspace / ".git" / "hooks" / "pre-commit"

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """What the engine and the commands find. Without TMPDIR, which may be anywhere, and would be writable."""
        kept = {name: given[name] for name in _KEPT_VARIABLES if name in given}
        # So that there is a `python3`, by that name.
        path = os.pathsep.join((os.path.dirname(sys.executable), given.get("PATH", os.defpath)))
        return {**kept, "PATH": path, "HOME": str(self.home), "CODEX_HOME": str(self.codex_home)}


@contextmanager
def scratch(env: Mapping[str, str]) -> Iterator[Scene]:
    """A scene for the time of the block."""
    root = Path(tempfile.mkdtemp(prefix="pycodex-demo-", dir=_parent(env)))
    try:
        scene = Scene(root)
        _furnish(scene, env)
        yield scene
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _parent(env: Mapping[str, str]) -> str:
    """Outside of /tmp, which commands may write."""
    cache = env.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    for candidate in (cache, "/var/tmp"):
        try:
            os.makedirs(candidate, exist_ok=True)
        except OSError:
            continue
        path = os.path.realpath(candidate)
        if os.access(path, os.W_OK | os.X_OK) and path != "/tmp" and not path.startswith("/tmp/"):
            return path
    raise UserFacing(f"found no place for a scratch repository: neither {cache} nor /var/tmp can be used")


def _furnish(scene: Scene, env: Mapping[str, str]) -> None:
    for directory in (scene.workspace, scene.codex_home, scene.system_dir):
        directory.mkdir(parents=True)
    for name, text in FILES.items():
        (scene.workspace / name).write_text(text, encoding="utf-8")
        (scene.workspace / name).chmod(0o755 if name.endswith(".sh") else 0o644)
    scene.catalog.write_text(json.dumps({"models": [MODEL]}), encoding="utf-8")
    _make_repository(scene, env)
    scene.hook.parent.mkdir(parents=True, exist_ok=True)


def _make_repository(scene: Scene, env: Mapping[str, str]) -> None:
    apart = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", **scene.environment(env)}
    try:
        for arguments in _FIRST_COMMIT:
            subprocess.run(["git", *arguments], cwd=scene.workspace, env=apart, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        # Without git the story only needs something that looks like a repository.
        (scene.workspace / ".git").mkdir(exist_ok=True)
        (scene.workspace / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
