"""What command lines set out to do."""

import pytest

from pycodex.sandbox.intent import NETWORK, READ, WRITE, wishes

CWD = "/ws"


def written(*argv: str) -> list[str]:
    return [wish.path for wish in wishes(argv, CWD) if wish.access == WRITE]


def needs_network(*argv: str) -> bool:
    return any(wish.access == NETWORK for wish in wishes(argv, CWD))


@pytest.mark.parametrize(
    ("argv", "paths"),
    [
        (("touch", "a", "/etc/b"), ["/ws/a", "/etc/b"]),
        (("touch", "-d", "now", "a"), ["/ws/a"]),
        (("rm", "-r", "../x"), ["/x"]),
        (("mkdir", "-m", "700", "d"), ["/ws/d"]),
        (("mv", "a", "/b"), ["/ws/a", "/b"]),
        (("cp", "-r", "a", "/b"), ["/b"]),
        (("chmod", "600", "/b"), ["/b"]),
        (("dd", "if=/a", "of=/b"), ["/b"]),
        (("sed", "-i", "s/a/b/", "f"), ["/ws/f"]),
        (("sed", "s/a/b/", "f"), []),
        (("git", "commit", "-m", "x"), ["/ws/.git"]),
        (("git", "-C", "/other", "add", "."), ["/other/.git"]),
        (("git", "config", "--get", "x"), []),
        (("env", "A=1", "timeout", "5", "touch", "a"), ["/ws/a"]),
        (("bash", "-c", "touch x"), ["/ws/x"]),
        (("bash", "-lc", "cd sub && echo a > b 2>/dev/null; touch /c"), ["/ws/sub/b", "/dev/null", "/c"]),
        (("sh", "-c", "echo a >> '/a b'"), ["/a b"]),
        (("sh", "-c", "echo a\ntouch b"), ["/ws/b"]),
        (("sh", "-c", 'touch "$HOME/x" *.txt ~/y'), []),
        (("sh", "-c", "touch 'unbalanced"), []),
        (("sh", "script.sh"), []),
        (("python", "build.py"), []),
        (("bash", "-c", "exit 7"), []),
        (("bash", "-c"), []),
    ],
)
def test_writes_are_found(argv: tuple[str, ...], paths: list[str]) -> None:
    assert written(*argv) == paths


@pytest.mark.parametrize(
    "argv",
    [
        ("curl", "example.com"),
        ("pip", "install", "x"),
        ("python3", "-m", "pip", "install", "x"),
        ("npm", "ci"),
        ("git", "clone", "https://x/y"),
        ("git", "push"),
        ("sh", "-c", "cd x && npm install"),
        ("fetcher", "https://x"),
        ("rsync", "a", "host:b"),
    ],
)
def test_need_of_a_network_is_found(argv: tuple[str, ...]) -> None:
    assert needs_network(*argv)


@pytest.mark.parametrize(
    "argv",
    [
        ("grep", "https://x", "file"),
        ("git", "status"),
        ("curl", "file:///x"),
        ("pip", "list"),
        ("rsync", "a", "b"),
        ("echo", "curl"),
    ],
)
def test_no_network_is_needed(argv: tuple[str, ...]) -> None:
    assert not needs_network(*argv)


def test_plain_words_may_be_read() -> None:
    assert [wish.path for wish in wishes(("cat", "-n", "/a", "b"), CWD) if wish.access == READ] == ["/a", "/ws/b"]
