"""Fresh interpreters that find this checkout, and what they load.

Owns how a test starts Python on our code without the test's own modules and environment. Knows no module of ours.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pycodex.protocol

IMPORT_PATH = str(Path(next(iter(pycodex.protocol.__path__))).parent.parent)
MINIMAL_ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


def python_argv(code: str, *arguments: str, options: Sequence[str] = ()) -> list[str]:
    """argv of an isolated interpreter that runs `code` with our package importable."""
    return [sys.executable, "-I", *options, "-c", f"import sys; sys.path[:0] = [{IMPORT_PATH!r}]\n{code}", *arguments]


def modules_loaded_by(code: str, *arguments: str, env: Mapping[str, str] = MINIMAL_ENV, cwd: str = "/") -> set[str]:
    """Names of the modules that `code` loads beyond what a bare interpreter does, in all processes it forks."""
    return _loaded(code, *arguments, env=env, cwd=cwd) - _loaded("pass", env=env, cwd=cwd)


def _loaded(code: str, *arguments: str, env: Mapping[str, str], cwd: str) -> set[str]:
    argv = python_argv(code, *arguments, options=("-X", "importtime"))
    done = subprocess.run(
        argv, env=dict(env), cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    lines = done.stderr.splitlines()
    if done.returncode:
        text = "\n".join(line for line in lines if not line.startswith("import time:"))
        raise AssertionError(f"{os.path.basename(argv[0])} ended with {done.returncode}: {text}")
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}
