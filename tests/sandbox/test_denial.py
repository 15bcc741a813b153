"""Whether the sandbox was it, and what would have helped."""

import pytest

from pycodex.protocol.confinement import Confinement, Entry
from pycodex.sandbox.denial import Denial, explain, guess, likely_denied

CWD = "/ws"
READ_ONLY = Confinement()
WORKSPACE = Confinement(
    entries=(
        Entry(path="/tmp", access="write"),
        Entry(path="/ws", access="write"),
        Entry(path="/ws/.git", access="read"),
        Entry(path="/ws/pinned", access="pin"),
        Entry(path="/ws/secret", access="none"),
    ),
    placeholders=("/ws/.codex",),
)
WITH_NETWORK = WORKSPACE.replace(network=True)
RESTRICTED = Confinement(base="none", entries=(Entry(path="/usr", access="read"),))


@pytest.mark.parametrize(
    ("code", "signal", "text", "expected"),
    [
        (1, None, "touch: cannot touch 'x': Read-only file system", True),
        (1, None, "OPERATION NOT PERMITTED", True),
        (127, None, "x: Permission denied", True),
        (0, None, "Permission denied", False),
        (1, None, "no such file", False),
        (2, None, "usage", False),
        (126, None, "", False),
        (127, None, "not found", False),
        (159, None, "", True),
        (None, 31, "", True),
        (None, 9, "", False),
        (1, None, "failed to write file /x", True),
        (1, None, "blocked by seccomp", True),
    ],
)
def test_likely_denied(code: int | None, signal: int | None, text: str, expected: bool) -> None:
    assert likely_denied(code, signal, text) is expected


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("touch: cannot touch '/etc/x': Read-only file system", "/etc/x"),
        ("mkdir: cannot create directory \u2018/etc/a b\u2019: Permission denied", "/etc/a b"),
        ("bash: /etc/x: Permission denied", "/etc/x"),
        ("bash: line 1: /etc/x: Read-only file system", "/etc/x"),
        ("OSError: [Errno 30] Read-only file system: '/etc/x'", "/etc/x"),
        ("PermissionError: [Errno 13] Permission denied: '/etc/x'", "/etc/x"),
        ("Error: EROFS: read-only file system, open '/etc/x'", "/etc/x"),
        ("open /etc/x: read-only file system", "/etc/x"),
        ("fatal: Unable to create '/ws/.git/index.lock': Read-only file system", "/ws/.git/index.lock"),
        ("error: could not lock config file .git/config: Read-only file system", "/ws/.git/config"),
        ("noise\nsh: 1: cannot create .codex/config.toml: Read-only file system\nmore", "/ws/.codex/config.toml"),
    ],
)
def test_path_is_taken_from_what_was_printed(text: str, path: str) -> None:
    denial = explain(("x",), CWD, WORKSPACE, text)
    assert denial is not None
    assert (denial.path, denial.access) == (path, "write")


@pytest.mark.parametrize(
    "noise",
    [
        "a",
        " ",
        "'",
        "\u2019",
        "'a",
        '"" ',
        "a: ",
        "a :",
        "permission denied ",
        "'' permission denied ",
        ": permission denied",
    ],
)
def test_line_of_a_mebibyte_is_read_to_its_end(noise: str) -> None:
    """With more than one look at each character this would take hours."""
    line = noise * ((1 << 20) // len(noise))
    assert likely_denied(1, None, line + "permission denied")
    denial = explain(("x",), CWD, WORKSPACE, f"{line}\nx: '/etc/x': Read-only file system")
    assert denial is not None
    assert denial.path == "/etc/x"


@pytest.mark.parametrize(
    "text",
    [
        "touch: cannot touch '/ws/x': Permission denied",
        "bash: /tmp/x: Permission denied",
        "ping: socket: Operation not permitted",
        "all is well",
        "",
    ],
)
def test_failure_that_the_plan_does_not_explain_is_not_explained(text: str) -> None:
    assert explain(("x",), CWD, WORKSPACE, text) is None


def test_printed_network_error_counts_only_without_network() -> None:
    text = "curl: (6) Could not resolve host: example.com"
    denial = explain(("x",), CWD, WORKSPACE, text)
    assert denial == Denial(
        path="",
        access="network",
        rule="the sandbox does not allow network access",
        remedy="to allow it, add -c sandbox_workspace_write.network_access=true",
    )
    assert explain(("x",), CWD, WITH_NETWORK, text) is None


def test_refusal_without_a_path_falls_back_on_the_arguments() -> None:
    denial = explain(("ssh", "host"), CWD, WORKSPACE, "ssh: connect to host x port 22: Operation not permitted")
    assert denial is not None
    assert denial.access == "network"


def test_nothing_is_explained_where_nothing_was_confined() -> None:
    free = Confinement(unconfined_because="danger-full-access")
    assert explain(("touch", "/etc/x"), CWD, free, "touch: cannot touch '/etc/x': Permission denied") is None
    assert guess(free, argv=("touch", "/etc/x"), cwd=CWD, exit_code=1) is None


@pytest.mark.parametrize(
    ("confinement", "argv", "rule", "remedy"),
    [
        (
            READ_ONLY,
            ("touch", "x"),
            "the sandbox does not allow writing to /ws/x: it is read-only",
            "to allow writing in /ws, add --full-auto",
        ),
        (
            READ_ONLY,
            ("touch", "/etc/x"),
            "the sandbox does not allow writing to /etc/x: it is read-only",
            "to allow it, add --full-auto -c 'sandbox_workspace_write.writable_roots=[\"/etc\"]'",
        ),
        (
            WORKSPACE,
            ("touch", "/etc/x"),
            "the sandbox does not allow writing to /etc/x: only /tmp and /ws can be written",
            "to allow it, add -c 'sandbox_workspace_write.writable_roots=[\"/etc\"]'",
        ),
        (
            WORKSPACE,
            ("sh", "-c", "echo y > .git/hooks/x"),
            "the sandbox does not allow writing to /ws/.git/hooks/x: /ws/.git is protected, although /ws is writable",
            "to do it, run the command outside the sandbox; protected paths stay read-only inside",
        ),
        (
            WORKSPACE,
            ("mkdir", ".codex"),
            "the sandbox does not allow writing to /ws/.codex: it is protected, although /ws is writable",
            "to do it, run the command outside the sandbox; protected paths stay read-only inside",
        ),
        (
            WORKSPACE,
            ("mv", "pinned", "other"),
            "the sandbox does not allow renaming or removing /ws/pinned: a protected path depends on it",
            "to do it, run the command outside the sandbox",
        ),
        (
            WORKSPACE,
            ("cat", "secret/key"),
            "the sandbox does not allow reading /ws/secret/key (below /ws/secret, which is denied)",
            "to allow it, drop the rule from the profile; a default one: -c sandbox.deny_read_defaults=false",
        ),
        (
            RESTRICTED,
            ("cat", "/home/u/x"),
            "the sandbox does not allow reading /home/u/x: only paths the profile names can be read",
            'to allow it, add "/home/u/x" = "read" to the profile\'s filesystem table',
        ),
        (
            READ_ONLY,
            ("curl", "example.com"),
            "the sandbox does not allow network access",
            "to allow it, add --full-auto -c sandbox_workspace_write.network_access=true",
        ),
    ],
)
def test_arguments_give_rule_and_remedy(
    confinement: Confinement, argv: tuple[str, ...], rule: str, remedy: str
) -> None:
    denial = guess(confinement, argv=argv, cwd=CWD, exit_code=1)
    assert denial is not None
    assert (denial.rule, denial.remedy) == (rule, remedy)


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("bash", "-c", "exit 7"), 7),
        (("touch", "/ws/x"), 1),
        (("touch", "/tmp/x"), 1),
        (("sh", "-c", "echo > /dev/null; false"), 1),
        (("ls", "/nonexistent"), 2),
        (("grep", "x", "/etc/passwd"), 1),
        (("bash", "-c", "curl x"), 127),
        (("touch", "/etc/x"), 0),
        (("make", "test"), 2),
    ],
)
def test_without_evidence_nothing_is_said(argv: tuple[str, ...], code: int) -> None:
    assert guess(WORKSPACE, argv=argv, cwd=CWD, exit_code=code) is None


def test_git_finds_the_protected_directory_above() -> None:
    denial = guess(WORKSPACE, argv=("git", "commit", "-m", "x"), cwd="/ws/deep/down", exit_code=128)
    assert denial is not None
    assert denial.path == "/ws/.git"


def test_foreign_system_calls_are_named() -> None:
    denial = guess(WORKSPACE, argv=("./old",), cwd=CWD, exit_code=159)
    assert denial is not None
    assert denial.access == "syscall"


def test_paths_are_judged_where_they_really_lead() -> None:
    denial = guess(
        WORKSPACE, argv=("touch", "link/x"), cwd=CWD, exit_code=1, resolve=lambda path: path.replace("/ws/link", "/etc")
    )
    assert denial is not None
    assert denial.path == "/etc/x"
