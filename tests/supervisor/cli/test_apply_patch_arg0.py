"""The standalone patch program: where its patch comes from, what it says, and disks that fail it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.cli import Ended, run_cli
from support.interpreter import IMPORT_PATH, MINIMAL_ENV, modules_loaded_by
from support.patches import patch_of, snapshot

Call = Callable[..., Ended]

ADD = patch_of("*** Add File: b", "+1")
ADDED = Ended(0, "Success. Updated the following files:\nA b\n", "")
NO_END = "Invalid patch: The last line of the patch must be '*** End Patch'\n"
NO_BEGINNING = "Invalid patch: The first line of the patch must be '*** Begin Patch'\n"
USAGE = "Usage: apply_patch 'PATCH'\n       echo 'PATCH' | apply_patch\n"


def program(folder: Path, name: str = "apply_patch") -> list[str]:
    """argv of this checkout's `pycodex` under another name."""
    path = folder / name
    path.write_text(
        f"import sys\nsys.path[:0] = [{IMPORT_PATH!r}]\n"
        "from pycodex.supervisor.cli.main import main\nsys.exit(main())\n"
    )
    return [sys.executable, "-I", str(path)]


@pytest.fixture
def call(scratch: Path, workspace: Path) -> Call:
    def run(*arguments: str | bytes, stdin: bytes = b"", name: str = "apply_patch", before: str = "") -> Ended:
        argv: list[str | bytes] = [*program(scratch, name), *arguments]
        if before:
            argv = ["/bin/sh", "-c", f'{before}; exec "$@"', "sh", *argv]
        done = subprocess.run(argv, cwd=workspace, env=MINIMAL_ENV, input=stdin, capture_output=True, check=False)
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.mark.parametrize("name", ["apply_patch", "applypatch"])
def test_patch_as_argument_or_on_stdin(call: Call, workspace: Path, name: str) -> None:
    for arguments, stdin in (((ADD,), b""), ((), ADD.encode())):
        assert call(*arguments, stdin=stdin, name=name) == ADDED
        assert (workspace / "b").read_text() == "1\n"
        (workspace / "b").unlink()


def test_flag_of_the_main_program(workspace: Path) -> None:
    assert run_cli("--codex-run-as-apply-patch", ADD, "ignored", cwd=workspace) == ADDED
    assert (workspace / "b").read_text() == "1\n"
    missing = "Error: --codex-run-as-apply-patch requires a UTF-8 PATCH argument.\n"
    assert run_cli("--codex-run-as-apply-patch", cwd=workspace) == Ended(1, "", missing)
    assert run_cli("--codex-run-as-apply-patch", "\udcff", cwd=workspace) == Ended(1, "", missing)
    assert run_cli("--codex-run-as-apply-patch", "", cwd=workspace) == Ended(1, "", NO_END)


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "stderr"),
    [
        ((), b"", 2, USAGE),
        ((), b" \n", 1, NO_END),
        (("",), b"", 1, NO_END),
        (("--help",), b"", 1, NO_BEGINNING),
        (("--version",), b"", 1, NO_BEGINNING),
        (("a", "b"), b"", 2, "Error: apply_patch accepts exactly one argument.\n"),
        ((b"\xff",), b"", 1, "Error: apply_patch requires a UTF-8 PATCH argument.\n"),
        ((b"\xff", "b"), b"", 1, "Error: apply_patch requires a UTF-8 PATCH argument.\n"),
        (
            (),
            b"\xff",
            1,
            "Error: Failed to read PATCH from stdin.\nstream did not contain valid UTF-8\n",
        ),
        ((patch_of(),), b"", 1, "No files were modified.\n"),
        (
            (patch_of("*** Add File: b", "+1", "*** Delete File: none"),),
            b"",
            1,
            "Failed to delete file none\nNo file was changed: No such file or directory (os error 2).\n",
        ),
    ],
)
def test_refusals(
    call: Call, workspace: Path, arguments: tuple[str | bytes, ...], stdin: bytes, code: int, stderr: str
) -> None:
    assert call(*arguments, stdin=stdin) == Ended(code, "", stderr)
    assert list(workspace.iterdir()) == []


def test_names_are_utf8_whatever_the_locale(scratch: Path, workspace: Path) -> None:
    patch = patch_of("*** Add File: naïve", "+é")
    env = {**MINIMAL_ENV, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    argv = [argument for argument in program(scratch) if argument != "-I"]
    done = subprocess.run([*argv, patch], cwd=workspace, env=env, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, "Success. Updated the following files:\nA naïve\n".encode())
    assert os.listdir(os.fsencode(workspace)) == ["naïve".encode()]


def test_directory_that_is_gone(scratch: Path, call: Call) -> None:
    ended = call(ADD, before=f"mkdir {scratch}/gone; cd {scratch}/gone; rmdir {scratch}/gone")
    assert ended == Ended(1, "", "Error: cannot use the current directory: No such file or directory\n")


TOO_BIG = ("*** Update File: a", "@@", "-old", "+new", "*** Add File: d/big", *["+" + "x" * 99] * 200)


def test_size_limit_stops_the_whole_patch(call: Call, workspace: Path) -> None:
    (workspace / "a").write_text("old\n")
    before = snapshot(workspace)
    ended = call(patch_of(*TOO_BIG), before="ulimit -f 8")
    assert ended == Ended(1, "", "Failed to write file d/big\nNo file was changed: File too large (os error 27).\n")
    assert snapshot(workspace) == before


@pytest.fixture
def mounted(scratch: Path, workspace: Path) -> Call:
    """Runs a script on a small file system in a mount namespace of its own, so that nothing of it can be left.

    In it, `apply` is the program, with its patch from a file.
    """
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("no unshare")
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    inside = 'mount -t tmpfs -o size=16k none "$0"; cd "$0"; eval "$1"'
    argv = [unshare, *user, "--mount", "/bin/sh", "-ec", inside, str(workspace)]
    if subprocess.run([*argv, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")

    def run(script: str, *lines: str) -> Ended:
        (scratch / "patch").write_text(patch_of(*lines))
        apply = f"apply() {{ {' '.join(program(scratch))} < {scratch}/patch; }}\n"
        done = subprocess.run([*argv, apply + script], capture_output=True, text=True, env=MINIMAL_ENV, check=False)
        return Ended(done.returncode, done.stdout, done.stderr)

    return run


def test_full_disk_stops_the_whole_patch(mounted: Call) -> None:
    ended = mounted("echo old > a; apply || echo $?; find . | sort; cat a", *TOO_BIG)
    assert ended == Ended(
        0,
        "1\n.\n./a\nold\n",
        "Failed to write file d/big\nNo file was changed: No space left on device (os error 28).\n",
    )


@pytest.mark.parametrize("also", [(), ("*** Add File: b", "+1")], ids=["alone", "with another"])
def test_file_that_cannot_be_replaced_is_written_where_it_lies(mounted: Call, also: tuple[str, ...]) -> None:
    """Another file system is mounted on it."""
    script = "echo old > a; mount --bind a a; apply > said; cat a; umount a; cat a; rm -f b; ls -A"
    ended = mounted(script, "*** Update File: a", "@@", "-old", "+new", *also)
    assert ended == Ended(0, "new\nnew\na\nsaid\n", "")


def test_file_that_cannot_be_put_back_is_named(call: Call, workspace: Path) -> None:
    """It is written where it lies because of its second name, and cannot grow again to what it was."""
    (workspace / "shared").write_text("head\n" + "x" * 40_000 + "\n")
    (workspace / "other").hardlink_to(workspace / "shared")
    lines = ("*** Update File: shared", "@@", "-" + "x" * 40_000, "*** Add File: c", "+1", "*** Add File: c/d", "+1")
    ended = call(patch_of(*lines), before="ulimit -f 8")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        "Failed to write file c\nIs a directory (os error 21). These files could not be put back as they were: shared\n"
    )


def test_nothing_heavy_is_loaded(workspace: Path) -> None:
    code = "from pycodex.supervisor.cli.main import main; sys.exit(main())"
    loaded = modules_loaded_by(code, "--codex-run-as-apply-patch", ADD, cwd=str(workspace))
    assert loaded & {"asyncio", "difflib", "json", "msgpack", "pathlib", "pydantic", "re", "trio", "typing"} == set()
