"""`pycodex sandbox` as it is called: arguments, exit codes, messages, and what really happened to files."""

import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.cli import Ended, cli_argv
from support.interpreter import MINIMAL_ENV
from support.waiting import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox of Linux")

Call = Callable[..., Ended]


# Running


@pytest.mark.parametrize(
    "arguments",
    [
        ("sandbox", "linux", "true"),
        ("sandbox", "linux", "--", "true"),
        ("sandbox", "landlock", "true"),
        ("debug", "landlock", "true"),
        ("sandbox", "--", "true"),
        ("sandbox", "-P", ":read-only", "--", "true"),
        ("sandbox", "-P", ":read-only", "true"),
        ("sandbox", "--full-auto", "linux", "true"),
        ("-c", "model=o3", "sandbox", "-c", "a=1", "linux", "-c", "b=2", "true"),
        ("--enable", "undo", "sandbox", "linux", "--disable", "undo", "true"),
    ],
)
def test_every_way_to_call_it_runs_the_command(arguments: tuple[str, ...], pycodex: Call) -> None:
    assert pycodex(*arguments) == Ended(0, "", "")


def test_streams_are_the_callers_own(pycodex: Call) -> None:
    ended = pycodex("sandbox", "linux", "sh", "-c", "cat; echo err >&2", stdin="in")
    assert ended == Ended(0, "in", "err\n")


@pytest.mark.parametrize("closing", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("mode", [(), ("--full-auto",)])
def test_stream_that_the_caller_closed_becomes_nobodys(
    closing: str, mode: tuple[str, ...], home: Path, workspace: Path
) -> None:
    """Not the first file that pycodex opens itself."""
    told = workspace / "told"
    # Through a descriptor that it is given: in read-only mode it could not open the file.
    target = ">&1" if "2>" in closing else ">&2"
    script = f"cd /proc/self/fd; for fd in 0 1 2; do readlink $fd; done {target}; exit 3"
    with told.open("wb") as file:
        argv = cli_argv("sandbox", "linux", *mode, "--", "sh", "-c", script)
        outer = ["sh", "-c", f'"$@" {closing}', "sh", *argv]
        done = subprocess.run(
            outer,
            cwd=workspace,
            env={**MINIMAL_ENV, "CODEX_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            check=False,
        )
    assert done.returncode == 3
    assert all(line in ("/dev/null", str(told)) for line in told.read_text().splitlines())


def test_flags_after_the_command_belong_to_it(pycodex: Call) -> None:
    assert pycodex("sandbox", "linux", "echo", "--full-auto", "-c", "--help") == Ended(0, "--full-auto -c --help\n", "")


@pytest.mark.parametrize(
    ("script", "code"), [("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137), ("kill -TERM $$", 143)]
)
def test_exit_code_is_the_commands(script: str, code: int, pycodex: Call) -> None:
    assert pycodex("sandbox", "linux", "bash", "-c", script) == Ended(code, "", "")


def test_command_is_told_that_the_network_is_off(pycodex: Call) -> None:
    show = ("sh", "-c", "echo $CODEX_SANDBOX_NETWORK_DISABLED-$MINE")
    with_network = ("--full-auto", "-c", "sandbox_workspace_write.network_access=true")
    assert pycodex("sandbox", "linux", *show, env={"MINE": "kept"}).out == "1-kept\n"
    assert pycodex("sandbox", "linux", *with_network, *show).out == "-\n"


# What is allowed


def test_default_is_read_only(pycodex: Call, workspace: Path) -> None:
    ended = pycodex("sandbox", "linux", "-c", "sandbox_mode=danger-full-access", "touch", "x")
    assert ended.code == 1
    assert not (workspace / "x").exists()


def test_full_auto_writes_in_the_workspace_and_not_beside_it(pycodex: Call, workspace: Path) -> None:
    ended = pycodex("sandbox", "linux", "--full-auto", "sh", "-c", "touch in.txt && ! touch ../out.txt 2>/dev/null")
    assert ended.code == 0
    assert (workspace / "in.txt").exists()
    assert not (workspace.parent / "out.txt").exists()


@pytest.mark.parametrize("place", ["before", "after", "file"])
def test_writable_roots_come_from_file_and_flags(
    place: str, pycodex: Call, workspace: Path, home: Path, scratch: Path
) -> None:
    extra = scratch / "extra"
    extra.mkdir()
    flag = ["-c", f'sandbox_workspace_write.writable_roots=["{extra}"]']
    if place == "file":
        (home / "config.toml").write_text(f'[sandbox_workspace_write]\nwritable_roots = ["{extra}"]\n')
    before, after = (flag if place == each else [] for each in ("before", "after"))
    assert pycodex(*before, "sandbox", "linux", *after, "--full-auto", "touch", str(extra / "x")).code == 0
    assert (extra / "x").exists()


def test_slash_tmp_can_be_excluded(pycodex: Call, slash_tmp: Path) -> None:
    target = slash_tmp / "x"
    exclude = ("-c", "sandbox_workspace_write.exclude_slash_tmp=true")
    assert pycodex("sandbox", "linux", "--full-auto", *exclude, "touch", str(target)).code == 1
    assert pycodex("sandbox", "linux", "--full-auto", "touch", str(target)).code == 0


def test_directory_flag_moves_the_workspace(pycodex: Call, workspace: Path, scratch: Path) -> None:
    other = scratch / "other"
    other.mkdir()
    (scratch / "link").symlink_to("other")
    ended = pycodex("sandbox", "-C", "../link", "--full-auto", "--", "sh", "-c", "touch x; pwd; echo $PWD")
    assert ended == Ended(0, f"{other}\n{other}\n", "")
    assert (other / "x").exists()
    assert pycodex("sandbox", "-C", str(other), "--full-auto", "--", "touch", str(workspace / "y")).code == 1


def test_workspace_profile_is_workspace_write(pycodex: Call, workspace: Path) -> None:
    assert pycodex("sandbox", "-P", ":workspace", "--", "touch", "x").code == 0
    assert (workspace / "x").exists()


def test_named_profile_denies_what_it_says(pycodex: Call, workspace: Path, home: Path) -> None:
    secret = workspace / "secret.txt"
    secret.write_text("hidden")
    (home / "config.toml").write_text(
        f'[permissions.p.filesystem]\n":root" = "read"\n":project_roots" = "write"\n"{secret}" = "none"\n'
    )
    ended = pycodex("sandbox", "-P", "p", "--", "sh", "-c", "touch ok; cat secret.txt")
    assert ended.code == 1
    assert "hidden" not in ended.out
    assert (workspace / "ok").exists()
    assert f"pycodex: the sandbox does not allow reading {secret}" in ended.err


def test_limits_are_applied(pycodex: Call, workspace: Path) -> None:
    limit = ("-c", "sandbox.limits.file_bytes=1000")
    pycodex("sandbox", "linux", "--full-auto", *limit, "sh", "-c", "head -c 5000 /dev/zero > big")
    assert (workspace / "big").stat().st_size <= 1000


# What is said when it fails


def test_failed_write_is_explained(pycodex: Call, workspace: Path) -> None:
    ended = pycodex("sandbox", "linux", "touch", "x")
    assert ended.err.splitlines()[1:] == [
        f"pycodex: the sandbox does not allow writing to {workspace}/x: it is read-only",
        f"pycodex: to allow writing in {workspace}, add --full-auto",
    ]


def test_failed_network_access_is_explained(pycodex: Call) -> None:
    ended = pycodex("sandbox", "linux", "bash", "-c", "curl() { return 6; }; curl https://example.com")
    assert ended == Ended(
        6,
        "",
        "pycodex: the sandbox does not allow network access\n"
        "pycodex: to allow it, add --full-auto -c sandbox_workspace_write.network_access=true\n",
    )


# Errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("linux", "--", "no-such-command"), "cannot run 'no-such-command': No such file or directory"),
        (("linux", "/etc/passwd"), "cannot run '/etc/passwd': Permission denied"),
        (("linux", ""), "cannot run '': No such file or directory"),
        (("linux",), "no command given to run in the sandbox; try: pycodex sandbox linux -- ls"),
        (("linux", "--"), "no command given to run in the sandbox; try: pycodex sandbox linux -- ls"),
        (("--",), "no command given to run in the sandbox; try: pycodex sandbox linux -- ls"),
        (("linux", "-c", "foo", "true"), "Invalid override (missing '='): foo"),
        (("linux", "-c", "=1", "true"), "Empty key in override: =1"),
        (("-C", "/no/such", "--", "true"), "cannot use directory '/no/such': No such file or directory"),
        (("-C", "/etc/passwd", "--", "true"), "cannot use directory '/etc/passwd': Not a directory"),
        (("macos", "true"), "Seatbelt sandbox is only available on macOS"),
        (("seatbelt", "--log-denials", "true"), "Seatbelt sandbox is only available on macOS"),
        (("windows", "true"), "Windows sandbox is only available on Windows"),
    ],
)
def test_error_is_one_line(arguments: tuple[str, ...], message: str, pycodex: Call) -> None:
    assert pycodex("sandbox", *arguments) == Ended(1, "", f"Error: {message}\n")


def test_home_that_does_not_exist_is_told(pycodex: Call) -> None:
    ended = pycodex("sandbox", "linux", "true", env={"CODEX_HOME": "/no/such"})
    assert ended == Ended(1, "", 'Error: CODEX_HOME points to "/no/such", but that path does not exist\n')


def test_syntax_error_in_the_file_is_told_with_its_place(pycodex: Call, home: Path) -> None:
    (home / "config.toml").write_text('model = "x\n')
    ended = pycodex("sandbox", "linux", "true")
    assert (ended.code, ended.out) == (1, "")
    first, *_, frame, _ = ended.err.splitlines()
    assert first.startswith(f"Error: {home}/config.toml:1:11: ")
    assert frame == "      |           ^"


def test_current_directory_that_is_gone_is_told(scratch: Path) -> None:
    script = 'd=$(mktemp -d "$0/gone.XXXX") && cd "$d" && rmdir "$d" && exec "$@"'
    done = subprocess.run(
        ["sh", "-c", script, str(scratch), *cli_argv("sandbox", "linux", "true")],
        env=MINIMAL_ENV,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "Error: cannot use the current directory: No such file or directory\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("linux", "--nope", "x"), "error: unexpected argument '--nope' found"),
        (("linux", "--log-denials", "true"), "error: unexpected argument '--log-denials' found"),
        (("--nope",), "error: unexpected argument '--nope' found"),
        (("nope",), "error: unrecognized subcommand 'nope'"),
        (
            ("linux", "--full-auto", "--full-auto", "x"),
            "error: the argument '--full-auto' cannot be used multiple times",
        ),
        (("-P", "p", "--full-auto", "--", "x"), "error: the argument '--full-auto' cannot be used with "),
    ],
)
def test_wrong_usage_ends_with_2(arguments: tuple[str, ...], message: str, pycodex: Call) -> None:
    ended = pycodex("sandbox", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(message)


def test_bare_group_shows_its_help_on_stderr(pycodex: Call) -> None:
    assert pycodex("sandbox") == Ended(2, "", pycodex("sandbox", "--help").out)


# Signals


def started(*arguments: str, env: dict[str, str]) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        cli_argv("sandbox", "linux", *arguments),
        env={**MINIMAL_ENV, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_the_command_and_all_it_started(number: signal.Signals, home: Path) -> None:
    process = started("sh", "-c", "sleep 600 & echo ready; wait", env={"CODEX_HOME": str(home)})
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (128 + number, "", "")


def test_command_may_handle_the_signal_itself(home: Path) -> None:
    script = "trap 'echo handled; exit 3' TERM; echo ready; while :; do sleep 0.05; done"
    process = started("bash", "-c", script, env={"CODEX_HOME": str(home)})
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=20)
    assert (process.returncode, out) == (3, "handled\n")


def test_interrupt_key_ends_the_command(home: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        argv = cli_argv("sandbox", "linux", "sh", "-c", "echo ready; read line")
        os.execve(argv[0], argv, {**MINIMAL_ENV, "CODEX_HOME": str(home)})
    seen = b""
    while b"ready" not in seen:
        assert select.select([terminal], [], [], 20)[0]
        seen += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    ended: list[int] = []

    def has_ended() -> bool:
        waited, status = os.waitpid(pid, os.WNOHANG)
        ended.extend([os.waitstatus_to_exitcode(status)] if waited else [])
        return bool(ended)

    eventually(has_ended)
    os.close(terminal)
    assert ended == [130]
