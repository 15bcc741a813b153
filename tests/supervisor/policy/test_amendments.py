"""Nobody is offered to allow for good what runs whatever it is given."""

import pytest

from pycodex.supervisor.policy.amendments import is_banned

REFERENCE = [
    *("python3", "python3 -", "python3 -c", "python", "python -", "python -c"),
    *("py", "py -3", "pythonw", "pyw", "pypy", "pypy3"),
    "git",
    *("bash", "bash -lc", "sh", "sh -c", "sh -lc", "zsh", "zsh -lc"),
    *("/bin/zsh", "/bin/zsh -lc", "/bin/bash", "/bin/bash -lc"),
    *(
        f"{program}{ending}"
        for program in ("pwsh", "powershell", "powershell.exe")
        for ending in ("", " -Command", " -c")
    ),
    *("env", "sudo", "node", "node -e", "perl", "perl -e", "ruby", "ruby -e", "php", "php -r", "lua", "lua -e"),
    "osascript",
]
LATER = [
    *("rm", "rm -rf", "rm -f", "npm run", "pnpm run", "yarn run", "bun", "deno", "cmd", "fish", "dash", "ksh"),
    *("Rscript", "julia", "nodejs", "xargs", "doas", "npx"),
]
# Wherever they lie, whichever version, and with whatever else they run their commands.
DISGUISED = [
    *("/usr/bin/python3", "python3.11 -c", "/usr/local/bin/node -e", "/bin/dash -c", "bash -x", "bash --norc -c"),
    *("env X=1", "env -i bash", "/usr/bin/env python3 -c", "sudo -n sh -c", "timeout 5 bash", "nohup nice -n5 perl"),
]


@pytest.mark.parametrize("words", [*REFERENCE, *LATER, *DISGUISED])
def test_what_runs_anything_is_banned(words: str) -> None:
    assert is_banned(words.split())
    assert is_banned(tuple(words.split()))


@pytest.mark.parametrize(
    "words",
    [
        *("ls", "touch", "git push", "git status", "rm x", "rm -rf x", "python3 x.py", "python3 -c 1", "node x.js"),
        *("npm run test", "npm test", "cargo", "make", "bash x.sh", "sudo ls", "/bin/bash -lc ls"),
        *("env X=1 touch x", "timeout 5 touch", "/usr/bin/env ls", "pythonic", "/opt/python3/ls"),
    ],
)
def test_what_says_more_is_not(words: str) -> None:
    assert not is_banned(words.split())


def test_words_are_compared_one_by_one() -> None:
    assert not is_banned(["python3 -c"])
    assert not is_banned(["GIT"])


def test_no_words_at_all_would_allow_everything() -> None:
    assert is_banned([])
