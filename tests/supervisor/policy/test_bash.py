"""A script is taken for a patch only if it does nothing else, and no script is too much for the reader."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.policy.bash import HeredocPatch, heredoc_patch

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


@pytest.mark.parametrize(
    "piece",
    ["(", "{ ", "$(", '"$(', "`", "<<E ", "<(", "a|", "a&&", "if ", "case x in ", "x=(", "! ", "f() {", "\\\n"],
)
@pytest.mark.parametrize("place", ["above", "beside", "below", "only"])
def test_script_that_would_exhaust_the_parser_is_none(piece: str, place: str) -> None:
    """In a process that cannot take much: a long pipeline alone would take all memory that there is."""
    script = {
        "above": f"{piece * DEEP}apply_patch {HERE}",
        "beside": f"apply_patch <<EOF {piece * DEEP}\n{PATCH}EOF\n",
        "below": f"apply_patch {HERE}{piece * DEEP}x",
        "only": f"apply_patch {piece * DEEP}",
    }[place]
    program = (
        "import resource, sys\n"
        "from pycodex.supervisor.policy.bash import heredoc_patch\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (20, 20))\n"
        "print(heredoc_patch(sys.stdin.read()))"
    )
    done = subprocess.run([sys.executable, "-c", program], input=script, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("None\n", "")


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
