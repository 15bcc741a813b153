"""The reference program itself, run against a scripted model.

Owns where it is found and what it is given: a home, a workspace and a model of its own, all on this machine. Neither
the program nor the scripted model is part of the repository.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from support.waiting import eventually

KNOWN_ROOTS = (Path("/opt/codex/node_modules"), Path("/usr/lib/node_modules"), Path("/usr/local/lib/node_modules"))
PACKAGED = "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/codex/codex"


def reference_binary() -> str | None:
    """What PYCODEX_CODEX_BIN names, else what npm has installed."""
    named = os.environ.get("PYCODEX_CODEX_BIN")
    if named:
        return named
    roots = list(KNOWN_ROOTS)
    if shutil.which("npm"):
        asked = subprocess.run(["npm", "root", "-g"], capture_output=True, text=True, check=False)
        roots.append(Path(asked.stdout.strip()))
    places = (root / inner for root in roots for inner in (PACKAGED, f"@openai/codex/node_modules/{PACKAGED}"))
    return next((str(path) for path in places if os.access(path, os.X_OK)), None)


class Reference:
    """One home and workspace, and a model that says what it was told to."""

    def __init__(self, binary: str, root: Path, port: str) -> None:
        self.home = root / "home"
        self.workspace = root / "ws"
        self._binary = binary
        self._root = root
        self.home.mkdir()
        self.workspace.mkdir()
        subprocess.run(["git", "init", "-q", str(self.workspace)], check=True)
        (self.home / "config.toml").write_text(
            'model = "gpt-5.4"\nmodel_provider = "mock"\ncheck_for_update_on_startup = false\n'
            "[analytics]\nenabled = false\n[feedback]\nenabled = false\n"
            f'[model_providers.mock]\nname = "mock"\nbase_url = "http://127.0.0.1:{port}/v1"\n'
            "request_max_retries = 0\nstream_max_retries = 0\n"
        )

    def exec(self, *arguments: str, binary: str | None = None) -> list[dict[str, Any]]:
        """The events that it printed; with `binary`, what another program does in its place."""
        done = subprocess.run(
            [binary or self._binary, "exec", "--json", *arguments],
            cwd=self.workspace,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self._root),
                "CODEX_HOME": str(self.home),
                "NO_PROXY": "*",
                "RUST_LOG": "off",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def requests(self) -> list[list[dict[str, Any]]]:
        """The items of every request so far."""
        log = (self._root / "requests.jsonl").read_text(encoding="utf-8")
        return [json.loads(line)["body"]["input"] for line in log.splitlines()]

    def sessions(self) -> list[Path]:
        return sorted((self.home / "sessions").rglob("rollout-*.jsonl"))


@contextmanager
def reference(binary: str, shared_dir: Path, script: list[Any]) -> Iterator[Reference]:
    """The model takes the turns of the script one by one."""
    # Not in the usual temporary directory, where the reference behaves in another way.
    with TemporaryDirectory(prefix="pycodex-reference-", dir="/var/tmp") as name:
        root = Path(name).resolve()
        ready = root / "port"
        (root / "script.json").write_text(json.dumps(script))
        argv = [sys.executable, str(shared_dir / "interop" / "mock_model.py"), "--by", "order", "--ready", str(ready)]
        argv += ["--script", str(root / "script.json"), "--log", str(root / "requests.jsonl")]
        with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as model:
            try:
                port = eventually(lambda: ready.exists() and ready.read_text(), what="the scripted model listens")
                yield Reference(binary, root, str(port))
            finally:
                model.terminate()
