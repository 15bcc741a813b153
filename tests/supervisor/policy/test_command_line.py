"""An argv is taken apart only where a shell would do nothing else with it."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.policy.bash import MOST_PARSED, every_command, heredoc_command, plain_commands
from pycodex.supervisor.policy.command_line import Segments, script_of, segments_of
from pycodex.supervisor.policy.safe_commands import is_dangerous, is_known_safe
from pycodex.supervisor.policy.summaries import parsed_cmd

Scale = Callable[[int, int], int]


@pytest.mark.parametrize("shell", ["bash", "zsh", "sh", "/bin/bash", "/usr/local/bin/zsh", "./sh", "/opt/bash.exe"])
@pytest.mark.parametrize("flag", ["-c", "-lc"])
def test_shell_with_a_script(shell: str, flag: str) -> None:
    assert script_of((shell, flag, "ls && pwd")) == "ls && pwd"
    assert segments_of((shell, flag, "ls && pwd")) == Segments((("ls",), ("pwd",)), shell=shell)


@pytest.mark.parametrize(
    ("shell", "is_one"),
    [
        *((path, True) for path in ("bash", "/bin/sh", "/usr/bin/zsh", "/usr/local/bin/bash", "/opt/own/bash")),
        *((path, False) for path in ("./bash", "bin/bash", "/tmp/bash", "/bin/../tmp/bash", "/usr/bin/x/bash")),
    ],
)
def test_shell_is_known_by_its_place(shell: str, *, is_one: bool) -> None:
    for script in ("ls && pwd", "cat <<E\nx\nE"):
        assert segments_of((shell, "-c", script)).has_shell_of_the_system(users="/opt/own/bash") is is_one
    assert segments_of(("./ls",)).has_shell_of_the_system(users="/bin/bash")


@pytest.mark.parametrize(
    "argv",
    [
        (),
        ("ls",),
        ("bash",),
        ("bash", "-c"),
        ("bash", "-c", "ls", "x"),
        ("bash", "-l", "-c", "ls"),
        ("bash", "-l", "ls"),
        ("bash", "-cl", "ls"),
        ("bash", "-ec", "ls"),
        ("bash", "--", "ls"),
        ("dash", "-c", "ls"),
        ("fish", "-c", "ls"),
        ("BASH", "-c", "ls"),
        ("bash.tar.gz", "-c", "ls"),
        ("bash/", "-c", "ls"),
        ("pwsh", "-c", "ls"),
        ("ls", "&&", "pwd"),
    ],
)
def test_anything_else_stays_whole(argv: tuple[str, ...]) -> None:
    assert script_of(argv) is None
    assert segments_of(argv) == Segments((argv,))


@pytest.mark.parametrize(
    "script", ["", "ls $X", "ls > f", "(ls)", "if ls; then pwd; fi", "ls '", "a\0b", "x|" * 100_000]
)
def test_script_of_which_nothing_is_known_stays_with_its_shell(script: str) -> None:
    argv = ("/bin/bash", "-lc", script)
    assert segments_of(argv) == Segments((argv,))


@pytest.mark.parametrize(
    ("script", "does_more"),
    [
        ("python3 - <<'EOF'\nprint(1)\nEOF\n", False),
        ("python3 - <<'EOF' > out\nprint(1)\nEOF\n", True),
        ("PATH=. python3 - <<'EOF'\nprint(1)\nEOF\n", True),
    ],
)
def test_command_that_is_fed_a_document(script: str, does_more: bool) -> None:
    found = segments_of(("bash", "-c", script))
    assert found == Segments((("python3", "-"),), is_complex=True, does_more=does_more, shell="bash")


@given(st.lists(st.text(), max_size=4) | st.text().map(lambda script: ["bash", "-lc", script]))
def test_any_argv_has_commands(argv: list[str]) -> None:
    assert segments_of(argv).commands != ()


# Scripts that nobody has thought of

METACHARACTERS = list("$`><&(){}#;|!*?[]~=\\'\" \t\n\r\v\f-/^%@:,.+0aé€😀\0\ud800\ue000\ue001")
TOKENS = [
    *METACHARACTERS,
    *("&&", "||", ";;", "|&", ">>", "<<", "<<-", "<<<", "2>&1", "&>", "<(", ">(", "$(", "${", "$((", "((", "[[", "]]"),
    *("if", "then", "fi", "for", "in", "do", "done", "case", "esac", "while", "function", "time", "!", "coproc"),
    *("ls", "rm", "-rf", "sudo", "git", "bash", "-c", "cd", "sed", "-n", "1p", "cat", "EOF", "'EOF'", "\nEOF\n"),
    *("X=1", "$X", '"$X"', "'a b'", '"a b"', "\\\n", "\\$", "\\'", '\\"', "#x", "1", "{a,b}", "a{1..3}"),
]
WORDS = ["ls", "rm", "-rf", "x", "'a b'", '"a b"', "a'b'c", "$X", '"$Y"', "*.py", "1", "\\;", "é", "--", "git", "echo"]


def made_of_bytes(random: Random, depth: int) -> str:
    data = random.randbytes(random.randrange(80))
    return data.decode("utf-8", "surrogateescape") if depth % 2 else data.decode("latin-1")


def made_of_tokens(random: Random, depth: int) -> str:
    between = "" if depth % 2 else " "
    return between.join(random.choices(TOKENS, k=random.randrange(20)))


def made_of_quotes(random: Random, depth: int) -> str:
    if depth == 0:
        return random.choice(WORDS)
    inner = "".join(made_of_quotes(random, depth - 1) for _ in range(random.randrange(1, 3)))
    frame = random.choice(["'{}'", '"{}"', "{}'", '{}"', "$'{}'", '"$({})"', "`{}`", "bash -c '{}'", "\\{}", "{} {}"])
    return frame.replace("{}", inner)


def made_by_grammar(random: Random, depth: int) -> str:
    if depth <= 0:
        return " ".join(random.choices(WORDS, k=random.randrange(1, 5)))
    frame = random.choice(
        [
            *(
                "{} && {}",
                "{} || {}",
                "{}; {}",
                "{} | {}",
                "{}\n{}",
                "{} |& {}",
                "{} & {}",
                "({})",
                "{{ {}; }}",
                "! {}",
            ),
            *("{} > f", "{} 2>&1", "{} < f", "{} <<< x", "{} <<E\nx\nE\n", "{} - <<'E' > f\n$X\nE\n", "X=1 {}"),
            *("if {}; then {}; fi", "for x in y; do {}; done", "while {}; do {}; done", "case x in y) {};; esac"),
            *("f() {{ {}; }}", "echo $({})", "echo `{}`", "cat <({})", "{} # {}", "sudo {}", "time {}", "{};"),
        ]
    )
    return frame.format(made_by_grammar(random, depth - 1), made_by_grammar(random, depth - 2))


def made_long(random: Random, depth: int) -> str:
    return made_of_tokens(random, depth) + random.choice(TOKENS + WORDS) * 5000


MAKERS = [made_of_bytes, made_of_tokens, made_of_quotes, made_by_grammar]


def made_scripts(seed: int, count: int) -> Iterator[str]:
    random = Random(seed)
    for number in range(count):
        make = made_long if number % 50 == 49 else MAKERS[number % len(MAKERS)]
        yield make(random, random.randrange(4))


def test_no_script_is_too_much_for_whoever_reads_it(scale: Scale) -> None:
    for script in made_scripts(1, scale(500, 10_000)):
        for shell, flag in (("/bin/bash", "-lc"), ("sh", "-c")):
            argv = (shell, flag, script)
            segments = segments_of(argv)
            assert segments.commands, script
            assert all(map(len, segments.commands)), script
            assert every_command(script) is not None or len(script) > MOST_PARSED, script
            assert not (is_known_safe(argv) and is_dangerous(argv)), script
            assert parsed_cmd(argv) == parsed_cmd(argv), script


def expands(script: str) -> bool:
    """Whether a shell must do more with it than to run commands one after the other.

    Says so only where that is certain: of a character outside of quotes, or of a `$` or a backtick outside of single
    ones. Reads up to the first such character; before it, nothing but quotes and backslashes can hide anything.
    """
    quote, position = "", 0
    while position < len(script):
        character = script[position]
        if quote == "'":
            quote = "" if character == "'" else quote
        elif character == "\\":
            position += 1
        elif character in "$`":
            return True
        elif quote == '"':
            quote = "" if character == '"' else quote
        elif character in "'\"":
            quote = character
        elif character in "<>()" or (character == "#" and (position == 0 or script[position - 1] in " \t\n;&|")):
            return True
        elif character == "&":
            if script[position : position + 2] != "&&" or script[position - 1 : position] == "|":
                return True
            position += 1
        position += 1
    return False


def test_script_that_does_more_than_run_commands_is_never_taken_apart(scale: Scale) -> None:
    seen = 0
    for script in made_scripts(2, scale(500, 10_000)):
        if not expands(script):
            continue
        seen += 1
        argv = ("/bin/bash", "-lc", script)
        assert plain_commands(script) is None, script
        assert not is_known_safe(argv), script
        fed = heredoc_command(script)
        expected = Segments((argv,))
        if fed is not None:
            assert "<<" in script
            expected = Segments((fed.words,), is_complex=True, does_more=fed.does_more, shell="/bin/bash")
        assert segments_of(argv) == expected, script
    assert seen > 100


BASH = shutil.which("bash") or ""
# Tells of each command instead of running it: there is no program that could be found.
TELLS = """
command_not_found_handle() { printf '%s\\0' "$#" "$@"; }
set -f +B
PATH=/nonexistent
eval "$1"
"""
PIECES = ["aa", "bb", "-g", "x=y", "5", "é", " ", " ", "\t", "\u00a0", "\n", "; ", " && ", "'c d'", '"e  f"', "''", "#"]
# Where the grammar may see the end of a word, or none, and bash does not.
ODD_PIECES = ["\r", "\v", "\f", "\u2028", "\\\n", "\\cc", "\\ "]


def run_by_bash(script: str) -> list[tuple[str, ...]]:
    done = subprocess.run(
        [BASH, "--norc", "--noprofile", "-c", TELLS, "bash", script], capture_output=True, check=False
    )
    told = iter(done.stdout.decode().split("\0")[:-1])
    return [tuple(next(told) for _ in range(int(count))) for count in told]


def compare_with_bash(pieces: list[str], *, seed: int, count: int) -> None:
    """Scripts of these pieces, as many as that are taken apart, are taken apart as bash does it."""
    random = Random(seed)
    while count:
        script = "aa" + "".join(random.choices(pieces, k=random.randrange(1, 9)))
        commands = plain_commands(script)
        if commands is not None:
            words = [tuple(re.sub(r"\\(.)", r"\1", word) for word in command) for command in commands]
            assert run_by_bash(script) == words, script
            count -= 1


@pytest.mark.skipif(not BASH, reason="there is no bash here")
def test_plain_commands_are_those_that_bash_runs(scale: Scale) -> None:
    compare_with_bash(PIECES, seed=3, count=scale(100, 3000))


@pytest.mark.skipif(not BASH, reason="there is no bash here")
def test_words_end_where_bash_ends_them(scale: Scale) -> None:
    compare_with_bash([*PIECES, *ODD_PIECES], seed=4, count=scale(100, 3000))


@pytest.mark.parametrize(
    "script",
    [
        # The second line is a command of its own.
        "ls\n\\touch x",
        "ls x\n\\touch x",
        # There may be a directory of that odd name, and anything in it.
        *("ls\r/x", "ls\v/x", "ls\f/x", "ls\\\n/x"),
    ],
)
def test_nothing_hides_behind_a_command_that_is_safe(script: str) -> None:
    assert not is_known_safe(("/bin/bash", "-lc", script))
    assert {words[0] for words in segments_of(("/bin/bash", "-lc", script)).commands} != {"ls"}
