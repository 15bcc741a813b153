"""Which commands nobody has to be asked about, and which always."""

import shlex
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.policy.safe_commands import is_dangerous, is_known_safe

PLAIN_SAFE = (
    *(
        "cat",
        "cd",
        "cut",
        "echo",
        "expr",
        "false",
        "grep",
        "head",
        "id",
        "ls",
        "nl",
        "paste",
        "pwd",
        "rev",
        "seq",
        "stat",
    ),
    *("tail", "tr", "true", "uname", "uniq", "wc", "which", "whoami"),
)


def in_shell(script: str, shell: str = "/bin/bash", flag: str = "-lc") -> tuple[str, ...]:
    return shell, flag, script


@pytest.mark.parametrize("name", PLAIN_SAFE)
def test_safe_with_any_arguments(name: str) -> None:
    assert is_known_safe((name,))
    assert is_known_safe((name, "-x", "--output=y", "/etc/passwd"))
    assert is_known_safe((f"/usr/bin/{name}", "x"))


@pytest.mark.parametrize("name", ["numfmt", "tac"])
def test_safe_on_linux_only(name: str) -> None:
    assert is_known_safe((name, "x")) == (sys.platform == "linux")


SAFE = [
    "base64 -d a",
    "base64 -d -i a",
    "find . -name x -type f",
    "find . ( -name x )",
    "rg foo src",
    "rg --pretty foo",
    "rg -n --hidden foo",
    "sed -n 5p",
    "sed -n 5p a",
    "sed -n 1,200p a",
    "git status",
    "git status --porcelain",
    "git log",
    "git log -p --oneline",
    "git diff",
    "git diff --cached",
    "git show HEAD:a.txt",
    "git branch",
    "git branch --list",
    "git branch -l -a -r -v -vv",
    "git branch --show-current",
    "git branch --all --remotes --verbose --format=x",
    "git -C /x status",
    "git -C/x status",
    "git --git-dir /x status",
    "git --git-dir=/x status",
    "git --paginate log",
    "git -p log",
    "git --no-pager log",
    "/usr/bin/git status",
    "/usr/local/bin/rg foo",
    "git --work-tree x status",
    "git --git-dir=x -C y --no-pager log",
    "uniq -c a",
]

UNSAFE = [
    "rg -zi foo",
    "git --namespace y status",
    "git --exec-path x status",
    "git --exec-path=x status",
    "git --super-prefix x status",
    "git --shallow-file status difftool --extcmd=x a b",
    "git --attr-source status rm x",
    "git log --show-signature",
    "git diff --outp=x",
    "git diff --ext",
    "sed -n 1p -ewx",
    "sed -n 1p --expression=1e",
    "uniq a b",
    "./ls",
    "bin/ls",
    "/opt/x/rg foo",
    "/tmp/evil/git status",
    "",
    "touch x",
    "rm x",
    "cp a b",
    "sort a",
    "tree",
    "du",
    "env",
    "awk x a",
    "python3 a.py",
    "sudo ls",
    "LS",
    "ls.exe",
    "base64 -o a",
    "base64 -oa",
    "base64 --output a",
    "base64 --output=a",
    *(f"find . {action} x" for action in "-exec -execdir -ok -okdir -delete -fls -fprint -fprint0 -fprintf".split()),
    "rg -z foo",
    "rg --search-zip foo",
    "rg --pre x foo",
    "rg --pre=x foo",
    "rg --hostname-bin x foo",
    "rg --hostname-bin=x foo",
    "sed",
    "sed -n",
    "sed -n 1,2p a b",
    "sed -n 1,2 a",
    "sed -n p a",
    "sed -n ,2p a",
    "sed -n $p a",
    "sed -n 1p;w a",
    "sed 1p a",
    "sed -i s/a/b/ a",
    "git",
    "git -C",
    "git -C status",
    "git --bare",
    "git push",
    "git fetch",
    "git commit -m x",
    "git rev-parse HEAD",
    "git -c a=b log",
    "git -ca=b log",
    "git log -c",
    "git log -cx",
    "git --config-env a=b status",
    "git --config-env=a=b status",
    "git status --config-env=a=b",
    "git diff --output x",
    "git diff --output=x",
    "git diff --ext-diff",
    "git diff --textconv",
    "git log --exec x",
    "git log --exec=x",
    "git log --paginate",
    "git branch x",
    "git branch -d x",
    "git branch -D x",
    "git branch --list x",
    "git branch --format x",
]


@pytest.mark.parametrize("command", SAFE)
def test_safe(command: str) -> None:
    assert is_known_safe(tuple(command.split()))


@pytest.mark.parametrize("command", UNSAFE)
def test_not_known_to_be_safe(command: str) -> None:
    assert not is_known_safe(tuple(command.split()))


def test_line_end_does_not_pass_for_the_end() -> None:
    assert not is_known_safe(("sed", "-n", "1p\n", "a"))


@pytest.mark.parametrize(
    "script", ["ls", "ls && pwd", "cat a | head -5; echo hi || true", "cd x && git status", "ls\npwd", "echo '$(rm x)'"]
)
@pytest.mark.parametrize("shell", ["bash", "/bin/zsh", "sh"])
def test_script_of_safe_commands_is_safe(script: str, shell: str) -> None:
    assert is_known_safe(in_shell(script, shell))


@pytest.mark.parametrize(
    "script",
    [
        *(
            "",
            "touch x",
            "ls && touch x",
            "touch x && ls",
            "ls | tee x",
            "ls > f",
            "ls 2>&1",
            "ls $X",
            "ls `pwd`",
            "ls &",
        ),
        *("(ls)", "{ ls; }", "if true; then ls; fi", "FOO=1 ls", "! ls", "ls # c", '"ls"', "ls <<E\nE\n", "bash -c ls"),
    ],
)
def test_any_other_script_is_not(script: str) -> None:
    assert not is_known_safe(in_shell(script))


def test_no_command_is_not_safe() -> None:
    assert not is_known_safe(())
    assert not is_dangerous(())


DANGEROUS = [
    "rm -f x",
    "rm -rf x",
    "rm -fr x",
    "rm -Rf x",
    "rm -r -f x",
    "rm -v -r -i -f x",
    "rm x -rf",
    "rm --force x",
    "rm -r --forc x",
    "/bin/rm -rf x",
    "./rm -f x",
    "sudo rm -rf x",
    "sudo sudo rm -f x",
    "sudo -n rm -rf x",
    "sudo -u root rm -rf x",
    "sudo --user root -E -- /bin/rm -rf x",
    "sudo --user=root rm -rf x",
    "sudo A=b rm -rf x",
    "/usr/bin/sudo rm -rf x",
]

NOT_DANGEROUS = [
    "rm",
    "rm x",
    "rm -r x",
    "rm -ri x",
    "rm -- -f",
    "rm --verbose x",
    "rm --preserve-root=f x",
    "rm f",
    "rmdir -f x",
    "sudo",
    "sudo ls",
    "sudo rm x",
    "echo rm -rf x",
    "git rm -f x",
    "git reset --hard",
    "ls -f",
]


@pytest.mark.parametrize("command", DANGEROUS)
def test_dangerous(command: str) -> None:
    assert is_dangerous(tuple(command.split()))
    assert is_dangerous(in_shell(command))
    assert is_dangerous(("sudo", *in_shell(command)))
    assert not is_known_safe(tuple(command.split()))


@pytest.mark.parametrize("command", NOT_DANGEROUS)
def test_not_dangerous(command: str) -> None:
    assert not is_dangerous(tuple(command.split()))
    assert not is_dangerous(in_shell(command))


@pytest.mark.parametrize(
    "frame",
    [
        "ls && {}",
        "ls; {}; ls",
        "{} | cat",
        "{} > out",
        "{} &",
        "! {}",
        "({})",
        "{{ {}; }}",
        "if true; then {}; fi",
        "if {}; then ls; fi",
        "if a; then b; elif c; then d; else {}; fi",
        "for x in a b; do {}; done",
        "while true; do {}; done",
        "until {}; do ls; done",
        "case $x in a) {};; esac",
        "f() {{ {}; }}; f",
        "echo $({})",
        'echo "$({})"',
        "echo `{}`",
        "cat <({})",
        "x=$({})",
        "X=1 {}",
        "cat <<E\n$({})\nE\n",
        "[[ -n $({}) ]]",
        "bash -c '{}'",
        "sudo sh -c '{}'",
        "if true; then bash -c 'for x in y; do {}; done'; fi",
    ],
)
@pytest.mark.parametrize("command", ["rm -rf x", "/bin/rm -r -f $X", 'rm "-rf" "$X"', "\\rm -fr *"])
def test_found_wherever_a_script_runs_it(frame: str, command: str) -> None:
    assert is_dangerous(in_shell(frame.format(command)))
    assert not is_dangerous(in_shell(frame.format("rm x")))


@pytest.mark.parametrize("script", ["echo 'rm -rf x'", "# rm -rf x", "cat <<'E'\nrm -rf x\nE\n", "grep 'rm -f' a"])
def test_not_found_where_it_is_only_text(script: str) -> None:
    assert not is_dangerous(in_shell(script))


@pytest.mark.parametrize("depth", range(1, 8))
def test_scripts_inside_of_scripts_are_looked_into(depth: int) -> None:
    assert is_dangerous(nested(depth, "rm -rf x"))
    assert not is_dangerous(nested(depth, "rm x"))


def test_scripts_without_end_are_no_trouble() -> None:
    assert not is_dangerous(in_shell("bash -c '" * 400 + "rm -rf x" + "'" * 400))
    assert not is_dangerous(in_shell('bash -c "$(' * 200 + "rm x" + ')"' * 200))
    assert is_dangerous(in_shell('bash -c "$(' * 200 + "rm -f x" + ')"' * 200))
    assert is_dangerous(("sudo",) * 100_000 + ("rm", "-rf", "x"))


def nested(depth: int, command: str) -> Sequence[str]:
    """A chain of shells, each with the next one as its script."""
    argv: Sequence[str] = command.split()
    for _ in range(depth):
        argv = in_shell(shlex.join(argv), "bash", "-c")
    return argv


WORDS = st.sampled_from(
    [
        *(
            "rm",
            "-rf",
            "-f",
            "--",
            "sudo",
            "-u",
            "bash",
            "-c",
            "-lc",
            "git",
            "-C",
            "log",
            "sed",
            "-n",
            "1p",
            "find",
            "rg",
        ),
        *("ls", "'", '"', "$(", ")", "`", "if", "then", "fi", ";", "&&", "|", "\n", "\0", "\ud800", "<<E", "E", ""),
    ]
)


@given(
    st.lists(st.text() | WORDS, max_size=8) | st.lists(WORDS, max_size=12).map(lambda words: in_shell(" ".join(words)))
)
def test_any_argv_is_judged(argv: Sequence[str]) -> None:
    assert not (is_known_safe(argv) and is_dangerous(argv))
