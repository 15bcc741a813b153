"""The official SDKs, installed as their users install them, and programs that drive this checkout with them.

Owns where the SDKs are kept and how such a program is run beside a scripted model. They are no dependency: each is
installed on first use into a directory of the user's cache, without the program that it brings along. Run as a program,
installs both. Knows nothing of what is said.
"""

import fcntl
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import trio

from pycodex.supervisor.model.scripted import Script, ScriptedServer, serve_script
from pycodex.supervisor.workers.runtime_dir import open_runtime_dir
from support.engine import Place
from support.tree import ROOT
from support.waiting import eventually_async

PYTHON_SDK = ("openai-codex", "0.163.0")
TYPESCRIPT_SDK = ("@openai/codex-sdk", "0.163.0")
BUNDLED_PROGRAM = "openai-codex-cli-bin"

MODEL_URL = "MODEL_URL"
"""The variable by which programs find the model."""
PYCODEX = Path(sys.executable).with_name("pycodex")
SCRIPTS = ROOT / "tests" / "interop" / "sdk_scripts"
# Where nothing can be reached, a test must know it before its own time is up.
INSTALL_WITHIN_S = 300 if __name__ == "__main__" else 30
RUN_WITHIN_S = 60


class NotInstallable(Exception):
    """Why an SDK is not there; the tests of it are skipped."""


# Installing


def python_sdk() -> Path:
    """The interpreter of an environment that holds the SDK and what it imports."""
    name, version = PYTHON_SDK
    return _kept(f"{name}-{version}-{sys.implementation.cache_tag}", _install_python) / "bin" / "python"


def typescript_sdk() -> Path:
    """The directory where npm has put the SDK."""
    name, version = TYPESCRIPT_SDK
    return _kept(f"{name.strip('@').replace('/', '-')}-{version}", _install_typescript) / "node_modules"


def _kept(name: str, install: Callable[[Path], None]) -> Path:
    """A directory of the cache, which is whole if it is there at all. Only one process installs."""
    cache_dir = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pycodex-tests"
    cache_dir.mkdir(parents=True, exist_ok=True)
    place = cache_dir / name
    with (cache_dir / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.is_dir():
            # Its own mode, not that of a temporary directory: others may want to read it.
            with tempfile.TemporaryDirectory(dir=cache_dir) as scratch:
                (made := Path(scratch) / name).mkdir()
                install(made)
                made.rename(place)
    return place


def _install_python(place: Path) -> None:
    _run([sys.executable, "-m", "venv", "--without-pip", str(place)])
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python")]
    install = [*pip, "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "15"]
    _run([*install, "--no-deps", "==".join(PYTHON_SDK)])
    (packages,) = place.glob("lib/python*/site-packages")
    (found,) = importlib.metadata.distributions(name=PYTHON_SDK[0], path=[str(packages)])
    needed = [each for each in found.requires or () if not each.startswith(BUNDLED_PROGRAM)]
    _run([*install, *needed])


def _install_typescript(place: Path) -> None:
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise NotInstallable("there is no npm or no node")
    # The program that it brings along is an optional dependency.
    quiet = ("--loglevel=error", "--no-audit", "--no-fund", "--no-update-notifier", "--fetch-retries=0")
    _run([npm, "install", *quiet, "--omit=optional", "--prefix", str(place), "@".join(TYPESCRIPT_SDK)])


def _run(argv: Sequence[str]) -> None:
    try:
        subprocess.run(argv, check=True, capture_output=True, text=True, timeout=INSTALL_WITHIN_S)
    except subprocess.TimeoutExpired as error:
        raise NotInstallable(f"{Path(argv[0]).name} took longer than {INSTALL_WITHIN_S} s") from error
    except (OSError, subprocess.CalledProcessError) as error:
        said = (getattr(error, "stderr", None) or str(error)).splitlines()
        told = [line for line in said if "error" in line.lower()] or said
        raise NotInstallable(f"{Path(argv[0]).name} failed: {told[0] if told else error}") from error


@cache
def _tried(sdk: Callable[[], Path]) -> Path | Exception:
    """Only once, also when it fails."""
    try:
        return sdk()
    except (NotInstallable, OSError) as error:
        return error


def skip_without(sdk: Callable[[], Path]) -> None:
    """Install it, if need be and if that can be done."""
    if not PYCODEX.exists():
        pytest.skip("pycodex is not installed here")
    found = _tried(sdk)
    if isinstance(found, Exception):
        pytest.skip(f"cannot install the {sdk.__name__}: {found}")


# Running


async def run_python(place: Place, script: Script, program: str, *arguments: str, **provider: Any) -> "Seen":
    """`program` is a function of `python_programs.py`."""
    argv = [str(python_sdk()), "-I", str(SCRIPTS / "python_programs.py")]
    seen = await _run_beside_model(place, script, [*argv, program, str(PYCODEX), *arguments], **provider)
    assert os.listdir(place.runtime) == []
    return seen


async def run_typescript(place: Place, script: Script, program: str, *arguments: str, **provider: Any) -> "Seen":
    """`program` is a function of `typescript_programs.mjs`. It lies where its imports lead to the SDK."""
    packages = typescript_sdk()
    folder = place.home.parent / "program"
    if not folder.is_dir():
        folder.mkdir()
        (folder / "node_modules").symlink_to(packages)
        shutil.copy(SCRIPTS / "typescript_programs.mjs", folder)
    argv = [str(shutil.which("node")), str(folder / "typescript_programs.mjs")]
    seen = await _run_beside_model(place, script, [*argv, program, str(PYCODEX), *arguments], **provider)
    # The SDK kills a run that has failed or is given up, and does not wait for its end.
    await eventually_async(lambda: _is_swept(place), what="everything has ended")
    return seen


def _is_swept(place: Place) -> bool:
    """A start clears away what killed runs have left, but nothing that is in use."""
    with open_runtime_dir(place.env):
        pass
    return not os.listdir(place.runtime)


class Seen:
    """What the program reported, and what the model was sent."""

    def __init__(self, report: Any, model: ScriptedServer) -> None:
        self.report = report
        self.requests = model.requests

    @property
    def inputs(self) -> list[list[dict[str, Any]]]:
        return [request.body["input"] for request in self.requests]


async def _run_beside_model(place: Place, script: Script, argv: list[str], **provider: Any) -> Seen:
    """Its report is the JSON that it prints."""
    async with serve_script(script) as model:
        place.point_at(model.base_url, **provider)
        with trio.fail_after(RUN_WITHIN_S):
            done = await trio.run_process(
                argv,
                cwd=place.workspace,
                env={**place.env, MODEL_URL: model.base_url},
                stdin=subprocess.DEVNULL,
                capture_stdout=True,
                capture_stderr=True,
                check=False,
            )
        assert done.returncode == 0, f"{done.stdout.decode()}\n{done.stderr.decode()}"
        return Seen(json.loads(done.stdout), model)


if __name__ == "__main__":
    for wanted in (python_sdk, typescript_sdk):
        print(f"{wanted.__name__}: {_tried(wanted)}")
