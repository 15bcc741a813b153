"""Called as `codex-linux-sandbox`, with a policy as JSON."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.cli import Ended
from support.interpreter import IMPORT_PATH, MINIMAL_ENV

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox of Linux")

Call = Callable[..., Ended]

READ_ONLY = '{"type":"read-only"}'
ROOT_READABLE = {"path": {"type": "special", "value": {"kind": "root"}}, "access": "read"}


@pytest.fixture
def helper(scratch: Path, workspace: Path, home: Path) -> Call:
    program = scratch / "codex-linux-sandbox"
    program.write_text(
        f"import sys\nsys.path[:0] = [{IMPORT_PATH!r}]\n"
        "from pycodex.supervisor.cli.main import main\nsys.exit(main())\n"
    )

    def call(*arguments: str) -> Ended:
        done = subprocess.run(
            [sys.executable, "-I", str(program), *arguments],
            cwd=workspace,
            env={**MINIMAL_ENV, "CODEX_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    return call


def split(*entries: object) -> tuple[str, ...]:
    files = json.dumps({"kind": "restricted", "entries": [*entries]})
    return ("--file-system-sandbox-policy", files, "--network-sandbox-policy", '"restricted"')


def writable(path: Path) -> dict[str, object]:
    return {"path": {"type": "path", "path": str(path)}, "access": "write"}


def profile(*entries: object) -> tuple[str, ...]:
    value = {"type": "managed", "file_system": {"type": "restricted", "entries": [*entries]}, "network": "restricted"}
    return ("--permission-profile", json.dumps(value))


def test_tagged_policy_is_enforced(helper: Call, workspace: Path) -> None:
    run = ("--sandbox-policy-cwd", ".", "--sandbox-policy")
    assert helper(*run, READ_ONLY, "--", "sh", "-c", "pwd; touch x 2>/dev/null").out == f"{workspace}\n"
    assert not (workspace / "x").exists()
    assert helper(*run, '{"type":"workspace-write","writable_roots":[]}', "--", "touch", "x").code == 0
    assert (workspace / "x").exists()


@pytest.mark.parametrize("form", [split, profile])
def test_rules_are_enforced_in_both_forms(form: Callable[..., tuple[str, ...]], helper: Call, workspace: Path) -> None:
    policy = form(ROOT_READABLE, writable(workspace / "open"))
    (workspace / "open").mkdir()
    run = ("--sandbox-policy-cwd", str(workspace), "--command-cwd", str(workspace), *policy, "--")
    assert helper(*run, "touch", "open/x").code == 0
    assert helper(*run, "touch", "closed").code == 1
    assert [path.name for path in workspace.iterdir()] == ["open"]


def test_newer_word_for_a_denied_path(helper: Call, workspace: Path) -> None:
    secret = workspace / "secret"
    secret.write_text("hidden")
    denied = {"path": {"type": "path", "path": str(secret)}, "access": "deny"}
    ended = helper("--sandbox-policy-cwd", ".", *profile(ROOT_READABLE, denied), "--", "cat", "secret")
    assert ended.code == 1
    assert ended.out == ""


def test_full_access_is_not_confined(helper: Call, scratch: Path) -> None:
    policy = ("--sandbox-policy", '{"type":"danger-full-access"}')
    assert helper("--sandbox-policy-cwd", ".", *policy, "--", "touch", str(scratch / "x")).code == 0
    assert (scratch / "x").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--", "true"), "missing sandbox policy configuration"),
        (
            ("--file-system-sandbox-policy", '{"kind":"unrestricted"}', "--", "true"),
            "file-system and network sandbox policies must be provided together",
        ),
        (
            ("--network-sandbox-policy", '"restricted"', "--", "true"),
            "file-system and network sandbox policies must be provided together",
        ),
        (("--sandbox-policy", READ_ONLY), "No command specified to execute."),
        (("--sandbox-policy", READ_ONLY, "no-such-x"), "cannot run 'no-such-x': No such file or directory"),
        (
            ("--sandbox-policy", READ_ONLY, "--apply-seccomp-then-exec", "--", "true"),
            "--apply-seccomp-then-exec is not supported: this sandbox needs no second stage and has no proxy",
        ),
        (
            ("--sandbox-policy", READ_ONLY, "--allow-network-for-proxy", "--", "true"),
            "--allow-network-for-proxy is not supported: this sandbox needs no second stage and has no proxy",
        ),
    ],
)
def test_error_is_one_line(arguments: tuple[str, ...], message: str, helper: Call) -> None:
    assert helper("--sandbox-policy-cwd", ".", *arguments) == Ended(1, "", f"Error: {message}\n")


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--sandbox-policy", "{"),
        ("--sandbox-policy", '{"type":"nope"}'),
        ("--sandbox-policy", "[" * 100000),
        ("--permission-profile", "3"),
        ("--permission-profile", '{"type":"managed"}'),
        ("--permission-profile", '{"type":"external","network":7}'),
    ],
)
def test_policy_that_makes_no_sense_is_a_usage_error(flag: str, value: str, helper: Call) -> None:
    ended = helper("--sandbox-policy-cwd", ".", flag, value, "--", "true")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: invalid value '{value:.200}' for '{flag} <")


def test_directory_of_the_policy_is_required(helper: Call) -> None:
    ended = helper("--", "true")
    assert ended.code == 2
    assert ended.err.startswith(
        "error: the following required arguments were not provided:\n  --sandbox-policy-cwd <SANDBOX_POLICY_CWD>\n"
    )


def test_help(helper: Call) -> None:
    assert helper("--help").out.startswith("Run a command under a sandbox policy given as JSON")
