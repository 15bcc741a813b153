"""Other programs that do the same, for comparison: bubblewrap and the native Codex.

Owns where they are looked for and with which arguments they do what our sandbox does. None of them is needed: one that
is not here, or does not work here, is told as such and left out.
"""

import glob
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from bench.figures import NOT_INSTALLED, Figure, absent
from bench.scene import Scene
from pycodex.protocol.confinement import READ, WRITE, Confinement

_CODEX_PLACES = (
    "node_modules/@openai/codex-*/vendor/*/codex/codex",
    "~/node_modules/@openai/codex-*/vendor/*/codex/codex",
    "/usr/lib/node_modules/@openai/codex*/**/vendor/*/codex/codex",
    "/usr/local/lib/node_modules/@openai/codex*/**/vendor/*/codex/codex",
)
_TRIAL_TIMEOUT_S = 30.0


def codex_program() -> str | None:
    """The native binary: what npm puts on PATH starts node first."""
    given = os.environ.get("CODEX_BIN")
    if given:
        return given
    for place in _CODEX_PLACES:
        found = sorted(glob.glob(os.path.expanduser(place), recursive=True))
        if found:
            return found[0]
    return None


def bwrap_program() -> str | None:
    return os.environ.get("BWRAP") or shutil.which("bwrap")


def bwrap_argv(confinement: Confinement, command: Sequence[str]) -> list[str] | None:
    """The same view of the disk and the same namespaces; it has no filter, no Landlock and no placeholders to make."""
    program = bwrap_program()
    if program is None:
        return None
    argv = [program, "--new-session", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"]
    for entry in sorted(confinement.entries, key=lambda entry: entry.path.count("/")):
        if entry.access in (READ, WRITE):
            argv += ["--bind" if entry.access == WRITE else "--ro-bind", entry.path, entry.path]
    argv += [word for path in confinement.hidden for word in ("--tmpfs", path)]
    argv += ["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--proc", "/proc"]
    return [*argv, "--cap-drop", "ALL", "--", *command]


def sort_out(
    candidates: Mapping[str, Sequence[str] | None], scene: Scene
) -> tuple[dict[str, list[str]], dict[str, Figure]]:
    """Those that work here, and for each of the others the figure that says why it is left out."""
    working: dict[str, list[str]] = {}
    missing: dict[str, Figure] = {}
    for name, argv in candidates.items():
        why = NOT_INSTALLED if argv is None else _objection(argv, scene)
        if argv is not None and not why:
            working[name] = list(argv)
        else:
            missing[name] = absent(name, why)
    return working, missing


def _objection(argv: Sequence[str], scene: Scene) -> str:
    try:
        done = subprocess.run(
            list(argv),
            cwd=scene.workspace,
            env=scene.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TRIAL_TIMEOUT_S,
            check=False,
        )
    except FileNotFoundError:
        return NOT_INSTALLED
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not run here: {error}"
    if done.returncode == 0:
        return ""
    said = done.stderr.strip().splitlines() or ["without a word"]
    return f"does not run here: exit code {done.returncode}: {said[0][:100]}"
