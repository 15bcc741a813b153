"""What is read without a grammar is what the shell reads, or nothing."""

import pytest

from pycodex.supervisor.policy.bash_words import expands, simple_commands


@pytest.mark.parametrize(
    ("script", "commands"),
    [
        ("", ()),
        ("ls", (("ls",),)),
        ("ls -l  /tmp\t/x", (("ls", "-l", "/tmp", "/x"),)),
        ("a && b || c; d | e\nf\n", (("a",), ("b",), ("c",), ("d",), ("e",), ("f",))),
        ("ls;", (("ls",),)),
        ("echo 'a b'\"c d\"e", (("echo", "a bc de"),)),
        ('echo "a\\"b" \'\\\'', (("echo", 'a\\"b', "\\"),)),
        ("echo a\\ b", (("echo", "a\\ b"),)),
        ("ls \\\n -l", (("ls", "-l"),)),
        ("ls\\\n -l", (("ls", "-l"),)),
        ("ls \\\n-l", (("ls", "-l"),)),
        ("a\n\\b c", (("a",), ("\\b", "c"))),
        ("echo a#b", (("echo", "a#b"),)),
        ("ls\u00a0x", (("ls\u00a0x",),)),
        ("echo ''", (("echo", ""),)),
    ],
)
def test_words_end_where_the_shell_ends_them(script: str, commands: tuple[tuple[str, ...], ...]) -> None:
    assert simple_commands(script) == commands


@pytest.mark.parametrize(
    "script",
    [
        *("a\\\nb", "a\rb", "a\vb", "a\fb", "a\0b", "a\x1bb", "ls # x", "#x", "a &", "a |& b", "a & b"),
        *("$X", "a $X", '"$X"', "`a`", '"`a`"', "$(a)", "(a)", "a > b", "a < b", "a <<E", "<(a)", "'a", '"a', "a\\"),
    ],
)
def test_whatever_is_in_doubt_is_not_read(script: str) -> None:
    assert simple_commands(script) is None


@pytest.mark.parametrize(
    ("script", "does"),
    [
        ("ls -l a.py", False),
        ("find . -name '*.py'", False),
        ('grep "a*" x', False),
        ("echo 'a\\b'", False),
        *((script, True) for script in ("ls *.py", "a b?", "a [x]", "a {b,c}", "cd ~", "a b\\c", 'a "b\\c"', "a $X")),
    ],
)
def test_only_bare_words_become_others(script: str, *, does: bool) -> None:
    assert expands(script) == does
