"""`pycodex demo`: a scratch repository, a handful of commands, and what the sandbox makes of each.

Owns the story that is shown and the check that it came true on the host. Every command goes through the same code as
`pycodex sandbox`; whatever was made is removed afterwards.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.cli.demo_steps import ALLOWED, REFUSED, Scene, Step, steps
from pycodex.supervisor.cli.options import GLOBAL_FLAGS, overrides_of, scan_flags_only
from pycodex.supervisor.cli.terminal import Palette, prefers_ascii, prefers_colour, say

HELP = """\
Watch the sandbox allow and refuse things, in a scratch repository

Usage: pycodex demo [OPTIONS]

Options:
  -c, --config <key=value>  Set one configuration value for the demonstration
  -h, --help                Show this text

Exit code: 0 if everything went as announced, 1 if something did not."""

_NEXT = """\
Now with your own commands, in a directory of yours:

  pycodex sandbox linux -- COMMAND               read everything, change nothing
  pycodex sandbox linux --full-auto -- COMMAND   also write in this directory and in /tmp
  pycodex sandbox --explain --full-auto          what exactly that allows here
  pycodex doctor                                 what this machine can enforce"""


class Attempt:
    """How one command ended, as a person at the terminal would have seen it."""

    def __init__(self, exit_code: int, output: str) -> None:
        self.exit_code = exit_code
        self.output = output

    @property
    def ended(self) -> str:
        """A command that could not even be started was neither allowed nor refused."""
        if self.output.startswith("Error: "):
            return "not run"
        return ALLOWED if self.exit_code == 0 else REFUSED


def run(argv: list[str], overrides: list[str]) -> int:
    """The subcommand after its own word. Returns the exit code."""
    scanned = scan_flags_only(argv, GLOBAL_FLAGS, usage="pycodex demo [OPTIONS]")
    if scanned.wants_help:
        say(HELP)
        return 0
    extra = [*overrides, *overrides_of(scanned)]
    palette = Palette(colour=prefers_colour(os.environ))
    with _scene() as scene:
        say(f"A scratch repository: {scene.workspace}\n")
        surprises = 0
        for number, step in enumerate(steps(scene), 1):
            attempt = _attempt(step, scene, extra)
            came_true = attempt.ended == step.expected and step.holds()
            surprises += not came_true
            told = _told(number, step, attempt, palette, came_true=came_true)
            say(told.replace(str(scene.workspace.parent), "..."))
    if surprises:
        say(palette.bad(f"{surprises} of these did not go as announced. Run `pycodex doctor` to see why."))
        return 1
    say(f"{palette.good('Everything went as announced; the scratch repository is gone again.')}\n\n{_NEXT}")
    return 0


@contextmanager
def _scene() -> Iterator[Scene]:
    """A repository outside /tmp (which is writable anyway), a directory beside it, and a process that is not ours."""
    root = Path(tempfile.mkdtemp(prefix="pycodex-demo-", dir=_scratch_parent()))
    scene = None
    try:
        workspace, outside = root / "workspace", root / "outside"
        workspace.mkdir()
        outside.mkdir()
        _make_repository(workspace)
        scene = Scene(workspace, outside)
        yield scene
    finally:
        if scene is not None:
            scene.close()
        shutil.rmtree(root, ignore_errors=True)


def _scratch_parent() -> str:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    for candidate in (cache, "/var/tmp"):
        try:
            os.makedirs(candidate, exist_ok=True)
        except OSError:
            continue
        if os.access(candidate, os.W_OK | os.X_OK) and not os.path.realpath(candidate).startswith("/tmp/"):
            return os.path.realpath(candidate)
    raise UserFacing("found no place for a scratch repository: neither ~/.cache nor /var/tmp can be written")


def _make_repository(workspace: Path) -> None:
    try:
        made = subprocess.run(["git", "init", "-q"], cwd=workspace, capture_output=True, check=False).returncode == 0
    except OSError:
        made = False
    if not made:
        # Without git the demonstration only needs something that looks like a repository.
        (workspace / ".git" / "hooks").mkdir(parents=True)
        (workspace / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (workspace / ".git" / "hooks").mkdir(exist_ok=True)


def _attempt(step: Step, scene: Scene, overrides: list[str]) -> Attempt:
    """Run `pycodex sandbox` in a child, because the command takes over stdout and stderr."""
    flags = [flag for text in overrides for flag in ("-c", text)]
    mode = ["--full-auto"] if step.full_auto else []
    code = f"import sys; sys.path[:0] = {sys.path!r}; from pycodex.supervisor.cli.main import main; sys.exit(main())"
    argv = [sys.executable, "-I", "-c", code, "sandbox", "linux", *flags, *mode, "--", *step.argv]
    done = subprocess.run(
        argv,
        cwd=scene.workspace,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return Attempt(done.returncode, done.stdout)


def _told(number: int, step: Step, attempt: Attempt, palette: Palette, *, came_true: bool) -> str:
    rule = "|" if prefers_ascii() else "\u2502"
    verdict = palette.good("allowed") if step.expected == ALLOWED else palette.doubtful("refused")
    if not came_true:
        verdict = palette.bad(f"SURPRISE (exit code {attempt.exit_code}; it should have been {step.expected})")
    shown = step.shown or shlex.join(step.argv)
    lines = [f"{number:>2}. {palette.strong(step.title)}", f"    $ {shown}"]
    lines += [palette.faint(f"    {rule} {line}") for line in attempt.output.splitlines()[-6:] if line]
    return "\n".join([*lines, f"    {verdict}: {step.why}", ""])
