"""The checks of `pycodex doctor`, each a small function that looks at one thing.

Owns what is checked outside the sandbox (interpreter, directories, configuration) and the list of all checks. Gives
findings; prints nothing, changes nothing.
"""

import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping

from pycodex.protocol.confinement import FULL, LANDLOCK
from pycodex.protocol.errors import UserFacing
from pycodex.sandbox.backend import host_report
from pycodex.sandbox.diagnosis import FAIL, OK, WARNING, Finding, findings

_OLDEST_PYTHON = (3, 11)
_LONGEST_RUNTIME_DIR = 60


class Check:
    """A finding with the time it took."""

    def __init__(self, finding: Finding, duration_ms: int) -> None:
        self.finding = finding
        self.duration_ms = duration_ms

    @property
    def category(self) -> str:
        return self.finding.id.partition(".")[0]


def checks(env: Mapping[str, str], overrides: list[str]) -> Iterator[Check]:
    """Every check, in the order in which they are shown."""
    singles: tuple[Callable[[], Finding], ...] = (
        _kernel,
        _python,
        lambda: _runtime_directory(env),
        lambda: _home(env),
        lambda: _config(env, overrides),
        _libseccomp,
    )
    started = time.monotonic()
    for single in singles:
        finding = single()
        yield Check(finding, _since(started))
        started = time.monotonic()
    for finding in findings():
        yield Check(finding, _since(started))
        started = time.monotonic()
    yield Check(_level(), _since(started))


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def _kernel() -> Finding:
    return Finding(
        id="system.kernel",
        status=OK,
        summary=f"{platform.system()} {platform.release()} on {platform.machine()}",
        details={"release": platform.release(), "machine": platform.machine()},
    )


def _python() -> Finding:
    version = platform.python_version()
    details = {"executable": sys.executable, "version": version}
    if sys.version_info[:2] >= _OLDEST_PYTHON:
        return Finding(id="system.python", status=OK, summary=f"Python {version}", details=details)
    wanted = ".".join(map(str, _OLDEST_PYTHON))
    return Finding(
        id="system.python",
        status=FAIL,
        summary=f"Python {version} is too old",
        details=details,
        remedy=f"install pycodex with Python {wanted} or newer",
    )


def _runtime_directory(env: Mapping[str, str]) -> Finding:
    """Where the supervisor's socket will lie; socket paths are limited to about a hundred bytes."""
    import tempfile

    candidates = [env.get("XDG_RUNTIME_DIR", ""), f"/run/user/{os.getuid()}"]
    for path in candidates:
        if path and os.access(path, os.W_OK | os.X_OK) and len(os.fsencode(path)) <= _LONGEST_RUNTIME_DIR:
            return Finding(id="runtime.directory", status=OK, summary=f"sockets go to {path}", details={"path": path})
    try:
        fallback = tempfile.gettempdir()
    except OSError as error:
        return Finding(
            id="runtime.directory",
            status=FAIL,
            summary=f"there is no directory for sockets: {error}",
            remedy="set XDG_RUNTIME_DIR or TMPDIR to a directory that you can write",
        )
    summary = f"no user runtime directory; sockets go to a private directory in {fallback}"
    return Finding(id="runtime.directory", status=OK, summary=summary, details={"path": fallback})


def _home(env: Mapping[str, str]) -> Finding:
    from pycodex.supervisor.config.early import codex_home

    try:
        path = codex_home(env)
    except UserFacing as error:
        remedy = "set CODEX_HOME to an existing directory, or unset it to use ~/.codex"
        return Finding(id="home.directory", status=FAIL, summary=str(error), remedy=remedy)
    existing = path
    while not os.path.exists(existing):
        existing = os.path.dirname(existing)
    details = {"path": path}
    if os.path.isdir(existing) and os.access(existing, os.W_OK | os.X_OK):
        summary = f"{path} is writable" if existing == path else f"{path} will be made when it is needed"
        return Finding(id="home.directory", status=OK, summary=summary, details=details)
    return Finding(
        id="home.directory",
        status=WARNING,
        summary=f"{existing} cannot be written; sessions and settings cannot be saved",
        details=details,
        remedy=f"make {path} writable for this user, or set CODEX_HOME to a directory that is",
    )


def _config(env: Mapping[str, str], overrides: list[str]) -> Finding:
    from pycodex.supervisor.config import early, sandbox_settings

    try:
        settings = early.load(env, overrides, cwd="/")
        sandbox_settings.chosen_permissions(settings, profile=None, full_auto=False)
        sandbox_settings.limits(settings)
        sandbox_settings.landlock_only(settings)
        sandbox_settings.deny_read_defaults(settings)
    except UserFacing as error:
        summary, _, rest = str(error).partition("\n")
        details = {"error": rest.strip()} if rest.strip() else {}
        remedy = "correct the value at the place that is named"
        return Finding(id="config.load", status=FAIL, summary=summary, details=details, remedy=remedy)
    files = [layer.path for layer in settings.layers if layer.path != early.FLAGS_LAYER]
    summary = f"read from {', '.join(files)}" if files else "no config.toml; defaults are used"
    return Finding(id="config.load", status=OK, summary=summary, details={"files": ", ".join(files)})


def _libseccomp() -> Finding:
    import ctypes

    try:
        ctypes.CDLL("libseccomp.so.2")
    except OSError:
        summary = "libseccomp is not installed; only rebuilding the shipped filters needs it"
        return Finding(id="system.libseccomp", status=OK, summary=summary, details={"present": "no"})
    return Finding(id="system.libseccomp", status=OK, summary="libseccomp is installed", details={"present": "yes"})


def _level() -> Finding:
    host = host_report()
    details = {name: _shown(value) for name, value in host.to_plain().items()}
    if host.level == FULL:
        summary = "full: namespaces, read-only mounts, Landlock and seccomp"
        return Finding(id="sandbox.level", status=OK, summary=summary, details=details)
    if host.level == LANDLOCK:
        return Finding(
            id="sandbox.level",
            status=WARNING,
            summary="landlock: read-only commands run; workspace-write is refused unless the weaker level is accepted",
            details=details,
            remedy="make user namespaces available (see above), or set `[sandbox] landlock_only = true` in config.toml",
        )
    return Finding(
        id="sandbox.level",
        status=FAIL,
        summary="none: commands are refused on this host",
        details=details,
        remedy="follow the remedies above; Landlock and seccomp are the least that is needed",
    )


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)
