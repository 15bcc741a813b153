"""A script is taken for a patch, or for plain commands, only if it is nothing else; none is too much for the reader."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.policy.bash import (
    HeredocCommand,
    HeredocPatch,
    every_command,
    heredoc_command,
    heredoc_patch,
    plain_commands,
)

PATCH = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n"
HERE = f"<<'EOF'\n{PATCH}EOF\n"
TABBED = "".join(f"\t{line}\n" for line in PATCH.splitlines())
# More than a mebibyte, and so deep that whoever goes down step by step falls.
DEEP = 400_000


@pytest.mark.parametrize(
    "script",
    [
        f"apply_patch {HERE}",
        f"applypatch {HERE}",
        f"apply_patch <<'EOF'\n{PATCH}EOF",
        f"apply_patch <<EOF\n{PATCH}EOF\n",
        f"apply_patch << EOF\n{PATCH}EOF\n",
        f'apply_patch <<"EOF"\n{PATCH}EOF\n',
        f"apply_patch <<\\EOF\n{PATCH}EOF\n",
        f"apply_patch <<'Any_Tag-1'\n{PATCH}Any_Tag-1\n",
        f"apply_patch <<'two words'\n{PATCH}two words\n",
        f"apply_patch <<-EOF\n{TABBED}\tEOF\n",
        f"apply_patch <<-'EOF'\n{PATCH}EOF\n",
        f"FOO=1 apply_patch {HERE}",
        f"FOO=1 BAR='two words' BAZ=\"$HOME\" apply_patch {HERE}",
        f"\n\n\napply_patch {HERE}",
        f"  apply_patch {HERE}",
        f"apply_patch {HERE}\n  \n\n",
    ],
)
def test_script_that_only_applies_a_patch_is_one(script: str) -> None:
    assert heredoc_patch(script) == HeredocPatch(PATCH)


@pytest.mark.parametrize(
    ("start", "directory"),
    [
        ("cd sub && apply_patch", "sub"),
        ("cd sub && applypatch", "sub"),
        ("cd a/b-c_d.e/../f && apply_patch", "a/b-c_d.e/../f"),
        ("cd /abs && apply_patch", "/abs"),
        ("cd .. && apply_patch", ".."),
        ("cd ~ && apply_patch", "~"),
        ("cd ~/x && apply_patch", "~/x"),
        ("cd é && apply_patch", "é"),
        ('cd "plain words" && apply_patch', "plain words"),
        ("cd 'raw $HOME \\ words' && apply_patch", "raw $HOME \\ words"),
        ("cd sub &&\napply_patch", "sub"),
        ("cd   sub   &&   apply_patch  ", "sub"),
        ("cd sub && FOO=1 apply_patch", "sub"),
    ],
)
def test_directory_before_is_taken_as_it_is_written(start: str, directory: str) -> None:
    assert heredoc_patch(f"{start} {HERE}") == HeredocPatch(PATCH, directory)


@pytest.mark.parametrize(
    ("above", "body", "below"),
    [
        ("<<EOF", "", "EOF"),
        ("<<EOF", "$(touch x) `touch y` ${HOME} $((1+1)) \\$a \\\\ \\\n", "EOF"),
        ("<<EOF", "EOF x\n EOF\nxEOF\n+EOF\n\tEOF\n", "EOF"),
        ("<<'EOF'", "\n\n  two blank ones, and \" ' quotes\r\n", "EOF"),
        ("<<'EOF'", "<<'OTHER'\nOTHER\napply_patch <<X\n", "EOF"),
        ("<<'EOF'", "ä€😀 \u2028 \x0b \x85\n", "EOF"),
    ],
)
def test_body_is_told_byte_for_byte(above: str, body: str, below: str) -> None:
    assert heredoc_patch(f"apply_patch {above}\n{body}{below}\n") == HeredocPatch(body)


def test_leading_tabs_go_where_the_shell_takes_them_away() -> None:
    script = "apply_patch <<-EOF\n\t\ttwo\n\t one and a space\nnone\n\t\tEOF\n"
    assert heredoc_patch(script) == HeredocPatch("two\n one and a space\nnone\n")


@pytest.mark.parametrize(
    "script",
    [
        "",
        "\n",
        "apply_patch",
        "ls",
        "ls <<EOF\napply_patch\nEOF\n",
        # More than one statement
        f"cd sub; apply_patch {HERE}",
        f"cd sub\napply_patch {HERE}",
        f"cd sub || apply_patch {HERE}",
        f"cd sub & apply_patch {HERE}",
        f"cd sub | apply_patch {HERE}",
        f"cd a && cd b && apply_patch {HERE}",
        f"true && apply_patch {HERE}",
        f"apply_patch {HERE}ls\n",
        f"apply_patch {HERE}apply_patch {HERE}",
        f"apply_patch <<EOF && ls\n{PATCH}EOF\n",
        f"apply_patch <<EOF || ls\n{PATCH}EOF\n",
        f"apply_patch <<EOF ; ls\n{PATCH}EOF\n",
        f"apply_patch <<EOF ;\n{PATCH}EOF\n",
        f"apply_patch <<EOF | cat\n{PATCH}EOF\n",
        f"apply_patch <<EOF &\n{PATCH}EOF\n",
        f"; apply_patch {HERE}",
        f"apply_patch <<EOF\n{PATCH}EOF\nrm -r x\nEOF\n",
        f"apply_patch <<-EOF\n{PATCH}\tEOF\nrm -r x\nEOF\n",
        # Comments
        f"# why\napply_patch {HERE}",
        f"apply_patch <<EOF # why\n{PATCH}EOF\n",
        f"apply_patch {HERE}# why\n",
        # Redirections
        f"apply_patch >out {HERE}",
        f"apply_patch <<EOF >out\n{PATCH}EOF\n",
        f"apply_patch 2>&1 {HERE}",
        f"apply_patch 3<<EOF\n{PATCH}EOF\n",
        f"apply_patch <<EOF <<EOF\n{PATCH}EOF\n{PATCH}EOF\n",
        f"cd sub >out && apply_patch {HERE}",
        f"apply_patch <<< '{PATCH}'",
        f"apply_patch <patch {HERE}",
        # Other places for the patch
        f"apply_patch '{PATCH}'",
        f'apply_patch "{PATCH}"',
        f"echo '{PATCH}' | apply_patch",
        # Arguments
        f"apply_patch x {HERE}",
        f"apply_patch -- {HERE}",
        f"cd sub && apply_patch x {HERE}",
        f"apply_patch <<EOF x\n{PATCH}EOF\n",
        # Groups and words around it
        f"{{ apply_patch {HERE}}}\n",
        f"(apply_patch {HERE})\n",
        f"(cd sub && apply_patch) {HERE}",
        f"! apply_patch {HERE}",
        f"time apply_patch {HERE}",
        f"if true; then apply_patch {HERE}fi\n",
        f"for x in 1; do apply_patch {HERE}done\n",
        f"f() {{ apply_patch {HERE}}}\n",
        f"$(apply_patch {HERE})\n",
        # Other commands
        f"./apply_patch {HERE}",
        f"/usr/bin/apply_patch {HERE}",
        f"$apply_patch {HERE}",
        f"'apply_patch' {HERE}",
        f"xapply_patch {HERE}",
        f"echo apply_patch {HERE}",
        f"env apply_patch {HERE}",
        # Directories that the shell would make something else of
        f"cd $X && apply_patch {HERE}",
        f'cd "$X" && apply_patch {HERE}',
        f'cd "a${{X}}b" && apply_patch {HERE}',
        f"cd $(pwd) && apply_patch {HERE}",
        f"cd `pwd` && apply_patch {HERE}",
        f'cd "$(pwd)" && apply_patch {HERE}',
        f"cd a\\ b && apply_patch {HERE}",
        f'cd "a\\$b" && apply_patch {HERE}',
        f"cd a* && apply_patch {HERE}",
        f"cd a? && apply_patch {HERE}",
        f"cd [ab] && apply_patch {HERE}",
        f"cd {{a,b}} && apply_patch {HERE}",
        f"cd 'a'b && apply_patch {HERE}",
        f"cd $'a' && apply_patch {HERE}",
        f'cd "" && apply_patch {HERE}',
        f"cd <(ls) && apply_patch {HERE}",
        # Other forms of cd
        f"cd && apply_patch {HERE}",
        f"cd a b && apply_patch {HERE}",
        f"cd -- a && apply_patch {HERE}",
        f"FOO=1 cd a && apply_patch {HERE}",
        f"pushd a && apply_patch {HERE}",
        # No whole script
        f"apply_patch <<EOF\n{PATCH}",
        f"apply_patch <<EOF\n{PATCH}EOF x\n",
        f"apply_patch <<EOF\n{PATCH}eof\n",
        "apply_patch <<EOF",
        "apply_patch <<",
        f"cd 'a && apply_patch {HERE}",
        f"apply_patch ) {HERE}",
        # What no shell can be given
        f"apply_patch {HERE}\0",
        f"cd a\0b && apply_patch {HERE}",
        "apply_patch <<'EOF'\n\0\nEOF\n",
        f"cd a\ud800 && apply_patch {HERE}",
        "apply_patch <<'EOF'\n\udcff\nEOF\n",
    ],
)
def test_any_other_script_is_none(script: str) -> None:
    assert heredoc_patch(script) is None


def test_large_patch_is_read() -> None:
    body = "*** Begin Patch\n*** Add File: a\n" + "+$(a|b) `line` <<EOF\n" * 200_000 + "*** End Patch\n"
    assert heredoc_patch(f"apply_patch <<'END'\n{body}END\n") == HeredocPatch(body)


PIECES = [
    *(
        "(",
        "{ ",
        "$(",
        '"$(',
        "`",
        "<<E ",
        "<(",
        "a|",
        "a&&",
        "if ",
        "case x in ",
        "x=(",
        "! ",
        "f() {",
        "\\\n",
        "a)",
        "|&",
    ),
    *("${x", "<<-E\n", "<<a<<b ", "'a'#'", "# '\n", "a#'", "'a' ", '"b\n" ', "a;", "a "),
]
# In a process that cannot take much: a long pipeline alone would take all memory that there is.
LIMITED = """
import resource, sys
from pycodex.supervisor.policy import bash
bash.plain_commands("true")
with open("/proc/self/statm") as file:
    most = int(file.read().split()[0]) * resource.getpagesize() + (MEBIBYTES << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
script = sys.stdin.read()
print(*(getattr(bash, name)(script) for name in sys.argv[1:]))
"""


def asked_within_limits(script: str, *names: str, mebibytes: int) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED.replace("MEBIBYTES", str(mebibytes)), *names],
        input=script,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("place", ["above", "beside", "below", "only"])
def test_script_that_would_exhaust_the_parser_is_none(piece: str, place: str) -> None:
    script = {
        "above": f"{piece * DEEP}apply_patch {HERE}",
        "beside": f"apply_patch <<EOF {piece * DEEP}\n{PATCH}EOF\n",
        "below": f"apply_patch {HERE}{piece * DEEP}x",
        "only": f"apply_patch {piece * DEEP}",
    }[place]
    assert asked_within_limits(script, "heredoc_patch", mebibytes=1000) == ("None\n", "")


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("frame", ["{}", "{}'", "cat <<EOF\n{}\nEOF\n", "cat <<EOF {}\nx\nEOF\n", "cat '{}' | {}"])
def test_no_script_exhausts_the_parser(piece: str, frame: str) -> None:
    script = frame.format(piece * DEEP, piece * DEEP)
    names = ("plain_commands", "heredoc_command", "every_command")
    told, trouble = asked_within_limits(script, *names, mebibytes=100)
    # Of lines that are only comments there is nothing to be exhausted by.
    is_unread = told.endswith(" None\n") or piece.startswith("#")
    assert (told.startswith("None "), is_unread, trouble) == (True, True, "")


@pytest.mark.parametrize("piece", PIECES)
def test_script_that_is_just_short_enough_does_not_either(piece: str) -> None:
    script = (piece * 4096)[:4096]
    _, trouble = asked_within_limits(script, "plain_commands", "heredoc_command", "every_command", mebibytes=100)
    assert trouble == ""


WORDS = st.sampled_from(
    [
        *("apply_patch", "applypatch", "cd", "a", "'b c'", '"d"', "$E", "&&", "||", ";", "|", "&", "(", ")", "{", "}"),
        *(
            "<<EOF",
            "<<'EOF'",
            "<<-EOF",
            "<<<",
            "\nEOF\n",
            "\nEOF",
            "\n",
            " ",
            "X=1",
            "#",
            "!",
            "\\",
            "'",
            '"',
            "`",
            "$(",
        ),
        *("*** Begin Patch\n", "*** End Patch\n", "\t", "\r\n", "\0", "é", "\ud800"),
    ]
)


@given(st.text() | st.lists(WORDS, max_size=30).map(" ".join) | st.lists(WORDS, max_size=30).map("".join))
def test_any_text_is_a_patch_or_none(script: str) -> None:
    found = heredoc_patch(script)
    assert found is None or isinstance(found, HeredocPatch)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_any_body_is_found_again(body: str) -> None:
    lines = [line for line in body.split("\n") if line.rstrip() != "EOF"]
    whole = "".join(f"{line}\n" for line in lines)
    assert heredoc_patch(f"apply_patch <<'EOF'\n{whole}EOF\n") == HeredocPatch(whole)


# Plain commands

PLAIN = [
    ("ls", [["ls"]]),
    ("ls -la  src", [["ls", "-la", "src"]]),
    ("a && b", [["a"], ["b"]]),
    ("a || b", [["a"], ["b"]]),
    ("a; b", [["a"], ["b"]]),
    ("a | b", [["a"], ["b"]]),
    ("a|b&&c||d;e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
    ("a\nb\n\nc", [["a"], ["b"], ["c"]]),
    ("\n\na\n", [["a"]]),
    ("a;", [["a"]]),
    ("a &&\n b", [["a"], ["b"]]),
    ("a |\n b", [["a"], ["b"]]),
    ("ls \\\n -l", [["ls", "-l"]]),
    ("ls *.py", [["ls", "*.py"]]),
    ("ls {a,b}", [["ls", "{a,b}"]]),
    ("ls [ab]?", [["ls", "[ab]?"]]),
    ("ls ~/x", [["ls", "~/x"]]),
    ("echo a\\ b", [["echo", "a\\ b"]]),
    ('echo "a\\"b"', [["echo", 'a\\"b']]),
    ('echo "a b" \'c "d"\' ""', [["echo", "a b", 'c "d"', ""]]),
    ('echo "  " " a "', [["echo", "  ", " a "]]),
    ("echo \"a\nb\" 'c\nd'", [["echo", "a\nb", "c\nd"]]),
    ("echo '$(x) `y` $Z > # ;'", [["echo", "$(x) `y` $Z > # ;"]]),
    ('rg -g"*.py" a\'b\'"c"d', [["rg", "-g*.py", "abcd"]]),
    ("echo !x", [["echo", "!x"]]),
    ("find . ! -name x", [["find", ".", "!", "-name", "x"]]),
    ("find . -exec a {} \\;", [["find", ".", "-exec", "a", "{}", "\\;"]]),
    ("head -n 5 -3 10#5", [["head", "-n", "5", "-3", "10#5"]]),
    ("cat -", [["cat", "-"]]),
    ("echo x#y", [["echo", "x#y"]]),
    ("echo é", [["echo", "é"]]),
    ("echo a=b", [["echo", "a=b"]]),
    ("time ls", [["time", "ls"]]),
    ("exec ls", [["exec", "ls"]]),
    ("test -f x", [["test", "-f", "x"]]),
    (":", [[":"]]),
    ("alias x=y", [["alias", "x=y"]]),
    ("/bin/ls", [["/bin/ls"]]),
]

OPAQUE = [
    *(
        "",
        " ",
        "\n",
        ";",
        "a &",
        "a & b",
        "a |& b",
        "a;; b",
        "a &&",
        "| a",
        "a 2>&1",
        "a >/dev/null",
        "a < b",
        "a <<< b",
    ),
    *("a <(b)", "a > f", "echo $X", 'echo "$X"', 'echo "a${X}b"', "echo $(b)", 'echo "$(b)"', "echo `b`", "echo $'a'"),
    *(
        'echo $"a"',
        "echo a{1..3}",
        "(a)",
        "{ a; }",
        "if a; then b; fi",
        "for x in y; do z; done",
        "while a; do b; done",
    ),
    *("case x in y) z;; esac", "f() { a; }", "[ a ]", "[[ a ]]", "((1))", "! a", "a # b", "# a", "FOO=1 a", "FOO=1"),
    *("export A=b", "unset a", "declare a=b", "local a=b", "readonly a", '"ls"', "l's'", "'ls'", "5", "5 a", "$X"),
    *(
        "echo \"\"''",
        "echo $",
        'echo "$"',
        "echo == x",
        "ls '",
        'ls "',
        "ls \\",
        "a (",
        "a )",
        "a <<E\nE\n",
        "a\0b",
        "a\ud800",
    ),
]


@pytest.mark.parametrize(("script", "commands"), PLAIN)
def test_plain_commands(script: str, commands: list[list[str]]) -> None:
    assert plain_commands(script) == tuple(map(tuple, commands))


@pytest.mark.parametrize("script", OPAQUE)
def test_script_that_is_not_plain(script: str) -> None:
    assert plain_commands(script) is None


@pytest.mark.parametrize("quote", ["'", '"'])
def test_long_texts_in_quotes_are_read(quote: str) -> None:
    code = "print(1) # & | ; < > \n" * 5000
    script = f"cd x && python3 -c {quote}{code}{quote} -o{quote}{code}{quote} | head"
    assert plain_commands(script) == (("cd", "x"), ("python3", "-c", code, f"-o{code}"), ("head",))


@pytest.mark.parametrize("end", [" $X", " > f", " # c", " '", "\ue000", " `x`", " &", " (", " <<E"])
def test_long_script_with_anything_else_is_not(end: str) -> None:
    assert plain_commands(f"python3 -c '{'x' * 5000}'{end}") is None


def test_long_list_of_words_is_not() -> None:
    assert plain_commands("ls " + "a " * 2000) is not None
    assert plain_commands("ls " + "a " * 3000) is None


# Commands that are fed a document

FED = [
    ("python3 <<'PY'\nx\nPY\n", ["python3"], False),
    ("python3 - <<'PY'\nx\nPY\n", ["python3", "-"], False),
    ("python3 -<<'PY'\nx\nPY\n", ["python3", "-"], False),
    ("python3 -u - \\\n<<-PY\nx\nPY", ["python3", "-u", "-"], False),
    ("python3 a 5 <<PY\nx\nPY\n", ["python3", "a", "5"], False),
    ("python3 a <<PY 2>&1\nx\nPY\n", ["python3", "a"], False),
    ("python3 a <<PY # why\nx\nPY\n# more\n", ["python3", "a"], False),
    ("python3 a <<'PY'\n$(rm x)\nPY\n", ["python3", "a"], False),
    ("cat <<< x <<E\ny\nE\n", ["cat"], False),
    # What else they do
    ("cat <<E > f\nx\nE\n", ["cat"], True),
    ("cat > f <<E\nx\nE\n", ["cat"], True),
    ("> f cat <<E\nx\nE\n", ["cat"], True),
    ("cat 2> f <<E\nx\nE\n", ["cat"], True),
    ("cat < f <<E\nx\nE\n", ["cat"], True),
    ("cat <<E >&-\nx\nE\n", ["cat"], True),
    ("cat <<E\nx\nE\n> f", ["cat"], True),
    ("FOO=1 cat <<E\nx\nE\n", ["cat"], True),
    ("PATH=.\ncat <<E\nx\nE\n", ["cat"], True),
    ("export PATH=.\ncat <<E\nx\nE\n", ["cat"], True),
    ("cat <<E a\nx\nE\n", ["cat"], True),
    ("cat <<E 'a'\nx\nE\n", ["cat"], True),
    ("cat <<E\n$X\nE\n", ["cat"], True),
    ("cat <<E\n`ls`\nE\n", ["cat"], True),
    ("cat <<'E'\n`ls`\nE\n", ["cat"], False),
    ("for x in y; do cat <<E\nx\nE\ndone", ["cat"], True),
]


@pytest.mark.parametrize(("script", "words", "does_more"), FED)
def test_command_that_is_fed_a_document(script: str, words: list[str], does_more: bool) -> None:
    assert plain_commands(script) is None
    assert heredoc_command(script) == HeredocCommand(tuple(words), does_more=does_more)


@pytest.mark.parametrize(
    "script",
    [
        *("", "cat", "cat <<< x", "cat > f", "echo '<<E'", "cat <<E", "cat <<E\nx\n", "cat <<E | sh\nx\nE\n"),
        *(
            "cat <<E\nx\nE\nls\n",
            "ls\ncat <<E\nx\nE\n",
            "cat <<E && ls\nx\nE\n",
            "cat <<E\n$(ls)\nE\n",
        ),
        *("cat 'a' <<E\nx\nE\n", 'cat "a" <<E\nx\nE\n', "cat $X <<E\nx\nE\n", "$X <<E\nx\nE\n", "'cat' <<E\nx\nE\n"),
        *("cat a'b' <<E\nx\nE\n", "X=$(ls) cat <<E\nx\nE\n", "<<E\nx\nE\n", "cat <<E\n\0\nE\n", "cat <<E\n\ud800\nE\n"),
    ],
)
def test_script_that_is_no_such_command(script: str) -> None:
    assert heredoc_command(script) is None


@pytest.mark.parametrize(
    ("above", "body", "last", "found"),
    [
        ("python3 - <<'PY'", "x $(y) `z`", "PY", HeredocCommand(("python3", "-"))),
        ("python3 - <<PY", "x", "PY", HeredocCommand(("python3", "-"))),
        ("python3 - > f <<PY", "x", "PY", HeredocCommand(("python3", "-"), does_more=True)),
        ("python3 - <<PY", "x $(y)", "PY", None),
        ("python3 - <<PY", "x `y`", "PY", None),
        ("python3 - <<'PY'", "PY\nls", "PY", None),
        ("python3 - <<-'PY'", "\tPY\nls", "PY", None),
        ("python3 - <<'PY'", "x", "PY\nls", None),
        ("python3 - <<'PY' | sh", "x", "PY", None),
        ("python3 - <<'PY' \\\n; ls", "x", "PY", None),
    ],
)
def test_long_document(above: str, body: str, last: str, found: HeredocCommand | None) -> None:
    lines = "line\n" * 5000
    assert heredoc_command(f"{above}\n{lines}{body}\n{lines}{last}\n") == found


# All commands


@pytest.mark.parametrize(
    ("script", "commands"),
    [
        ("a 1 | b", [["a", "1"], ["b"]]),
        ("if a; then b 'c d' \"e\"; fi", [["a"], ["b", "c d", "e"]]),
        ("X=1 a > f b", [["a"]]),
        ('a $X "$Y" b"$Z" c', [["a", "", "", "", "c"]]),
        ("a $(b c) <<E\n$(d)\nE\n", [["a", ""], ["b", "c"], ["d"]]),
        ("'a' x\"y\"'z'", [["a", "xyz"]]),
        ("a b\nif", [["a", "b"]]),
        ("", []),
        ("a\0", []),
    ],
)
def test_every_command(script: str, commands: list[list[str]]) -> None:
    assert every_command(script) == tuple(map(tuple, commands))


@given(st.text() | st.lists(WORDS, max_size=30).map(" ".join) | st.lists(WORDS, max_size=30).map("".join))
def test_any_text_is_read_or_not(script: str) -> None:
    commands = plain_commands(script)
    assert commands is None or all(all(isinstance(word, str) for word in command) and command for command in commands)
    assert commands is None or heredoc_command(script) is None
    assert commands is None or len(every_command(script) or ()) == len(commands)


QUOTED = st.sampled_from(["'@'", '"@"', "a'@'", "'@'b", "#'@'", "x#'@'", "\\'@'", "\"'@'\"", "'\"@\"'", '\\"@"'])
ASIDE = "@ " * 3000


@given(st.lists(WORDS | QUOTED, max_size=8).map(" ".join) | st.lists(WORDS | QUOTED, max_size=8).map("".join))
def test_length_of_quoted_texts_changes_nothing(script: str) -> None:
    """Or makes the script one of which nothing is known."""
    short, long = plain_commands(script), plain_commands(script.replace("@", ASIDE))
    if long is not None and "@" in script:
        assert short is not None
        assert long == tuple(tuple(word.replace("@", ASIDE) for word in command) for command in short)
