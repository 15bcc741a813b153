"""`pycodex exec`: from argv to a request, and the reference's words for what cannot be understood.

The expected error texts are what the reference prints, with its name replaced by ours.
"""

import shlex
from collections.abc import Callable

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.cli.exec import read_request
from pycodex.supervisor.cli.options import BadUsage
from pycodex.supervisor.cli.root_flags import RootFlags
from pycodex.supervisor.frontends.exec.request import ExecRequest, ResumeTarget, ReviewScope
from pycodex.supervisor.version import VERSION
from support.cli import Ended

Call = Callable[..., Ended]


def read(line: str, *, overrides: tuple[str, ...] = (), root: RootFlags | None = None) -> ExecRequest:
    request = read_request(shlex.split(line), list(overrides), root or RootFlags())
    assert isinstance(request, ExecRequest)
    return request


PLAIN = ExecRequest()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", PLAIN),
        ("go", PLAIN.replace(prompt="go")),
        ("-", PLAIN.replace(prompt="-")),
        ("''", PLAIN.replace(prompt="")),
        ("-- -go", PLAIN.replace(prompt="-go")),
        ("-- resume", PLAIN.replace(prompt="resume")),
        ("go -m o3", PLAIN.replace(prompt="go", model="o3")),
        ("-mo3 go", PLAIN.replace(prompt="go", model="o3")),
        ("--model=o3 go", PLAIN.replace(prompt="go", model="o3")),
        ("--model= go", PLAIN.replace(prompt="go", model="")),
        ("--oss --local-provider ollama", PLAIN.replace(oss=True, local_provider="ollama")),
        ("-s workspace-write", PLAIN.replace(sandbox_mode="workspace-write")),
        ("-p fast --full-auto", PLAIN.replace(profile="fast", full_auto=True)),
        ("--yolo", PLAIN.replace(bypass=True)),
        ("--dangerously-bypass-approvals-and-sandbox", PLAIN.replace(bypass=True)),
        ("-C /x --skip-git-repo-check", PLAIN.replace(cd="/x", skip_git_repo_check=True)),
        ("--add-dir a,b --add-dir c", PLAIN.replace(add_dirs=("a,b", "c"))),
        ("--ephemeral --output-schema s.json", PLAIN.replace(ephemeral=True, output_schema="s.json")),
        ("--color never --progress-cursor", PLAIN.replace(color="never")),
        ("--json -o last.txt", PLAIN.replace(json=True, last_message_file="last.txt")),
        ("--experimental-json", PLAIN.replace(json=True)),
        ("-i a.png,b.png c.png -- go", PLAIN.replace(prompt="go", images=("a.png", "b.png", "c.png"))),
        ("-i a.png go", PLAIN.replace(images=("a.png", "go"))),
        ("-i a.png resume", PLAIN.replace(images=("a.png", "resume"))),
        ("-i a.png -m o3 go", PLAIN.replace(prompt="go", images=("a.png",), model="o3")),
        ("-ia.png go", PLAIN.replace(prompt="go", images=("a.png",))),
        ("--image=a.png go", PLAIN.replace(prompt="go", images=("a.png",))),
        ("-c a=1 go -c b=2", PLAIN.replace(prompt="go", overrides=("a=1", "b=2"))),
        (
            "--enable undo --disable memories",
            PLAIN.replace(overrides=("features.undo=true", "features.memories=false")),
        ),
    ],
)
def test_flags_become_a_request(line: str, expected: ExecRequest) -> None:
    assert read(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("resume", ExecRequest(resume=ResumeTarget())),
        ("resume abc", ExecRequest(resume=ResumeTarget(session_id="abc"))),
        ("resume abc go", ExecRequest(prompt="go", resume=ResumeTarget(session_id="abc"))),
        ("resume --last go", ExecRequest(prompt="go", resume=ResumeTarget(last=True))),
        ("resume --last ignored go", ExecRequest(prompt="go", resume=ResumeTarget(last=True))),
        ("resume --last --all", ExecRequest(resume=ResumeTarget(last=True, all=True))),
        ("resume -- --last", ExecRequest(resume=ResumeTarget(session_id="--last"))),
        ("before resume --last", ExecRequest(prompt="before", resume=ResumeTarget(last=True))),
        ("before resume --last after", ExecRequest(prompt="after", resume=ResumeTarget(last=True))),
        ("before resume abc", ExecRequest(prompt="before", resume=ResumeTarget(session_id="abc"))),
        ("resume abc -i a.png,b.png go", ExecRequest(
            prompt="go", images=("a.png", "b.png"), resume=ResumeTarget(session_id="abc")
        )),
        ("-m a --json resume -m b abc -o f", ExecRequest(
            model="b", json=True, last_message_file="f", resume=ResumeTarget(session_id="abc")
        )),
        ("--full-auto resume --yolo", ExecRequest(full_auto=True, bypass=True, resume=ResumeTarget())),
        ("-c a=1 resume -c b=2", ExecRequest(overrides=("a=1", "b=2"), resume=ResumeTarget())),
        ("resume --output-schema s.json", ExecRequest(output_schema="s.json", resume=ResumeTarget())),
        ("-i a.png -m o3 resume -i b.png", ExecRequest(
            images=("a.png", "b.png"), model="o3", resume=ResumeTarget()
        )),
    ],
)  # fmt: skip
def test_resume_takes_its_own_words_and_the_flags_before_it(line: str, expected: ExecRequest) -> None:
    assert read(line) == expected


def test_sdk_calls_are_understood() -> None:
    line = (
        "--experimental-json --config 'a.b={c = 1}' --config 'openai_base_url=\"http://x\"' --model m "
        "--sandbox workspace-write --cd /w --add-dir d --skip-git-repo-check --output-schema /t/s.json "
        "--config 'approval_policy=\"on-request\"' resume 0199 --image a.png --image b.png"
    )
    assert read(line) == ExecRequest(
        json=True,
        model="m",
        sandbox_mode="workspace-write",
        cd="/w",
        add_dirs=("d",),
        skip_git_repo_check=True,
        output_schema="/t/s.json",
        overrides=("a.b={c = 1}", 'openai_base_url="http://x"', 'approval_policy="on-request"'),
        resume=ResumeTarget(session_id="0199"),
        images=("a.png", "b.png"),
    )


@pytest.mark.parametrize(
    "line",
    [
        *("--strict-config", "--ignore-user-config", "--ignore-rules", "resume --ignore-rules x"),
        *("--thread-source me", "--cyber-access-program standard"),
    ],
)
def test_flags_of_other_releases_do_no_harm(line: str) -> None:
    assert read(line).replace(resume=None) == PLAIN


@pytest.mark.parametrize("flag", ["-a", "--ask-for-approval", "--approval-policy"])
def test_approval_flag_is_an_override(flag: str) -> None:
    assert read(f"{flag} never -c a=1").overrides == ("a=1", 'approval_policy="never"')


@pytest.mark.parametrize(
    ("root", "line", "expected"),
    [
        (RootFlags(model="outer"), "go", ExecRequest(prompt="go", model="outer")),
        (RootFlags(model="outer"), "go -m inner", ExecRequest(prompt="go", model="inner")),
        (RootFlags(full_auto=True), "--yolo go", ExecRequest(prompt="go", full_auto=True, bypass=True)),
        (RootFlags(bypass=True), "go", ExecRequest(prompt="go", bypass=True)),
    ],
)
def test_root_flags_reach_exec(root: RootFlags, line: str, expected: ExecRequest) -> None:
    assert read(line, root=root) == expected


def test_root_overrides_come_first() -> None:
    assert read("-c b=2", overrides=("a=1",)).overrides == ("a=1", "b=2")


# Usage lines.
EXEC = "[OPTIONS] [PROMPT] [COMMAND]"
RESUME = "resume [OPTIONS] [SESSION_ID] [PROMPT]"
REVIEW = "review [OPTIONS] [PROMPT]"
MODES = "\n  [possible values: read-only, workspace-write, danger-full-access]"
COLOURS = "\n  [possible values: always, never, auto]"
BYPASS = "--dangerously-bypass-approvals-and-sandbox"


def unknown(name: str) -> str:
    return f"unexpected argument '{name}' found\n\n  tip: to pass '{name}' as a value, use '-- {name}'"


def meant(name: str, other: str) -> str:
    return f"unexpected argument '{name}' found\n\n  tip: a similar argument exists: '{other}'"


def twice(shown: str) -> str:
    return f"the argument '{shown}' cannot be used multiple times"


def missing(shown: str) -> str:
    return f"a value is required for '{shown}' but none was supplied"


@pytest.mark.parametrize(
    ("line", "text", "usage"),
    [
        # What nobody knows.
        ("--nope go", unknown("--nope"), EXEC),
        ("--nope=3", unknown("--nope"), EXEC),
        ("-x", unknown("-x"), EXEC),
        ("-jx", unknown("-j"), EXEC),
        ("p -x", unknown("-x"), EXEC),
        ("p --nope", unknown("--nope"), "<PROMPT>"),
        ("-m a p --nope go", unknown("--nope"), "--model <MODEL> <PROMPT>"),
        ("-i a --nope go", unknown("--nope"), "--image <FILE>... [PROMPT]"),
        ("-m --nope go", unknown("--nope"), EXEC),
        ("-m -1 go", unknown("-1"), EXEC),
        ("-s foo --nope", unknown("--nope"), "--sandbox <SANDBOX_MODE> [PROMPT]"),
        ("--nope -h", unknown("--nope"), EXEC),
        ("--search x", unknown("--search"), EXEC),
        ("--yolo --full-auto --nope", unknown("--nope"), f"{BYPASS} --full-auto [PROMPT]"),
        ("resume --nope", unknown("--nope"), RESUME),
        ("resume a -s read-only", unknown("-s"), RESUME),
        ("resume -C /", unknown("-C"), RESUME),
        ("resume --version", unknown("--version"), RESUME),
        ("resume a -m x --nope", unknown("--nope"), "resume --model <MODEL> <SESSION_ID> [PROMPT]"),
        ("--full-auto resume a --nope", unknown("--nope"), "resume <SESSION_ID> [PROMPT]"),
        ("review --nope", unknown("--nope"), REVIEW),
        # What was probably meant.
        ("--sandboxx go", meant("--sandboxx", "--sandbox"), "--sandbox <SANDBOX_MODE> [PROMPT]"),
        ("--jsonn=3 go", meant("--jsonn", "--json"), "--json [PROMPT]"),
        ("-m x --jsonn go", meant("--jsonn", "--json"), "--model <MODEL> --json [PROMPT]"),
        ("p --jsonn", meant("--jsonn", "--json"), "--json <PROMPT>"),
        ("--experimental", meant("--experimental", "--experimental-json"), "--json [PROMPT]"),
        ("--images x", meant("--images", "--image"), "--image <FILE>... [PROMPT]"),
        ("--out x", meant("--out", "--output-schema"), "--output-schema <FILE> [PROMPT]"),
        ("--versio", meant("--versio", "--version"), "--version [PROMPT]"),
        ("--ad", meant("--ad", "--add-dir"), "--add-dir <DIR> [PROMPT]"),
        ("resume --color never", meant("--color", "--yolo"), f"resume {BYPASS} [SESSION_ID] [PROMPT]"),
        ("resume x --lst", meant("--lst", "--last"), "resume --last <SESSION_ID> [PROMPT]"),
        ("--last resume", "unexpected argument '--last' found\n\n  tip: 'resume --last' exists", EXEC),
        ("--last", unknown("--last"), EXEC),
        # Words too many.
        ("go there", "unexpected argument 'there' found", EXEC),
        ("- -", "unexpected argument '-' found", EXEC),
        ("x -- y", "unexpected argument 'y' found", EXEC),
        ("a resume b c d", "unexpected argument 'd' found", RESUME),
        ("resume -i a b c d", "unexpected argument 'd' found", RESUME),
        ("review a b", "unexpected argument 'b' found", REVIEW),
        ("help nope", "unrecognized subcommand 'nope'", EXEC),
        ("help resume x", "unrecognized subcommand 'x'", RESUME),
        # Values.
        ("-s", missing("--sandbox <SANDBOX_MODE>") + MODES, ""),
        ("-s ''", missing("--sandbox <SANDBOX_MODE>") + MODES, ""),
        ("-s foo go", f"invalid value 'foo' for '--sandbox <SANDBOX_MODE>'{MODES}", ""),
        ("-s foo -h", f"invalid value 'foo' for '--sandbox <SANDBOX_MODE>'{MODES}", ""),
        (
            "-s readonly",
            (
                f"invalid value 'readonly' for '--sandbox <SANDBOX_MODE>'{MODES}\n\n"
                "  tip: a similar value exists: 'read-only'"
            ),
            "",
        ),
        ("--color ALWAYS", f"invalid value 'ALWAYS' for '--color <COLOR>'{COLOURS}", ""),
        ("-m", missing("--model <MODEL>"), ""),
        ("-m --json go", missing("--model <MODEL>"), ""),
        ("-m -- x", missing("--model <MODEL>"), ""),
        ("-C ''", missing("--cd <DIR>"), ""),
        ("-o", missing("--output-last-message <FILE>"), ""),
        ("-i --json", missing("--image <FILE>..."), ""),
        ("-i a,,b", missing("--image <FILE>..."), ""),
        ("resume -i", missing("--image <FILE>"), ""),
        ("--json=1 go", "unexpected value '1' for '--json' found; no more were expected", "--json [PROMPT]"),
        ("-m x --help=1", "unexpected value '1' for '--help' found; no more were expected", "--help [PROMPT]"),
        # Once is enough.
        ("-m a -m b go", twice("--model <MODEL>"), EXEC),
        ("--json go --experimental-json", twice("--json"), EXEC),
        ("resume --last --last", twice("--last"), RESUME),
        # Not together.
        ("--full-auto --yolo go", f"the argument '--full-auto' cannot be used with '{BYPASS}'", "--full-auto <PROMPT>"),
        (
            "--yolo p --full-auto -m a -c a=b -c c=d --add-dir q",
            f"the argument '{BYPASS}' cannot be used with '--full-auto'",
            f"{BYPASS} --model <MODEL> --config <key=value> --add-dir <DIR> <PROMPT>",
        ),
        (
            "resume --yolo --full-auto s",
            f"the argument '{BYPASS}' cannot be used with '--full-auto'",
            f"resume {BYPASS} <SESSION_ID> [PROMPT]",
        ),
        (
            "review --uncommitted --base main",
            "the argument '--uncommitted' cannot be used with '--base <BRANCH>'",
            "review --uncommitted [PROMPT]",
        ),
        (
            "review --uncommitted --commit x foo",
            "the argument '--uncommitted' cannot be used with:\n  --commit <SHA>\n  [PROMPT]",
            "review --uncommitted [PROMPT]",
        ),
        ("review p --base a", "the argument '[PROMPT]' cannot be used with '--base <BRANCH>'", "review <PROMPT>"),
        (
            "review --title a -m b",
            "the following required arguments were not provided:\n  --commit <SHA>",
            "review --commit <SHA> --title <TITLE> --model <MODEL> [PROMPT]",
        ),
    ],
)
def test_mistake_is_told_as_the_reference_does(line: str, text: str, usage: str) -> None:
    with pytest.raises(BadUsage) as caught:
        read(line)
    shown = f"\n\nUsage: pycodex exec {usage}" if usage else ""
    assert str(caught.value) == f"error: {text}{shown}\n\nFor more information, try '--help'."


@pytest.mark.parametrize("argv", [["go\udcff"], ["-m", "\udcff"], ["-c", "a=\udcff"]])
def test_bytes_that_are_no_text_are_refused(argv: list[str]) -> None:
    with pytest.raises(BadUsage, match="error: invalid UTF-8 was detected in one or more arguments"):
        read_request(argv, [], RootFlags())


def test_paths_may_hold_any_bytes() -> None:
    request = read_request(["-C", "/\udcff", "go"], [], RootFlags())
    assert isinstance(request, ExecRequest)
    assert request.cd == "/\udcff"


@pytest.mark.parametrize(
    ("line", "prompt", "scope"),
    [
        ("review --uncommitted", None, ReviewScope(uncommitted=True)),
        ("review --base main", None, ReviewScope(base="main")),
        ("review --commit abc --title 'A b'", None, ReviewScope(commit="abc", title="A b")),
        ("review 'look here'", "look here", ReviewScope()),
        ("review -", "-", ReviewScope()),
    ],
)
def test_review_says_what_to_look_at(line: str, prompt: str | None, scope: ReviewScope) -> None:
    request = read(f"{line} --json", root=RootFlags(model="m"))
    assert (request.prompt, request.review, request.json, request.model) == (prompt, scope, True, "m")
    assert read("go").review is None


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("review", "Specify --uncommitted, --base, --commit, or provide custom review instructions"),
        ("review ' '", "Review prompt cannot be empty"),
        ("--enable nope go", "Unknown feature flag: nope"),
    ],
)
def test_what_cannot_be_done_is_told(line: str, text: str) -> None:
    with pytest.raises(UserFacing) as caught:
        read(line)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("line", "beginning"),
    [
        ("--help", "Give the agent one task"),
        ("-h --nope", "Give the agent one task"),
        ("--json -h", "Give the agent one task"),
        ("help", "Give the agent one task"),
        ("help help", "Give the agent one task"),
        ("help resume", "Go on with an earlier session"),
        ("resume --help", "Go on with an earlier session"),
        ("review -h", "Review changes"),
        ("--version", f"codex-cli-exec {VERSION}"),
        ("-V --nope", f"codex-cli-exec {VERSION}"),
    ],
)
def test_help_and_version_are_answers(line: str, beginning: str) -> None:
    shown = read_request(shlex.split(line), [], RootFlags())
    assert isinstance(shown, str)
    assert shown.startswith(beginning)


@pytest.mark.parametrize("grammar", ["exec", "exec resume", "exec review"])
def test_help_names_every_flag_that_is_not_hidden(grammar: str, pycodex: Call) -> None:
    from pycodex.supervisor.cli import exec_flags

    known = {"exec": exec_flags.EXEC, "exec resume": exec_flags.RESUME, "exec review": exec_flags.REVIEW}[grammar]
    text = pycodex(*grammar.split(), "--help").out
    assert [flag.key for flag in known.flags if not flag.hidden and flag.key not in text] == []


@pytest.mark.parametrize("word", ["exec", "e"])
def test_program_knows_the_command(word: str, pycodex: Call) -> None:
    assert pycodex(word, "--version") == Ended(0, f"codex-cli-exec {VERSION}\n", "")
    assert pycodex(word, "go", "there").code == 2
