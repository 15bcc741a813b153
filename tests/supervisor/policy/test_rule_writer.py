"""What a person allows for good is written as one whole line, and nothing else in the file changes."""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pycodex.supervisor.policy import rule_writer
from pycodex.supervisor.policy.rule_files import MOST_FILE_BYTES
from pycodex.supervisor.policy.rule_language import Evaluation, Source
from pycodex.supervisor.policy.rule_process import evaluated
from pycodex.supervisor.policy.rule_writer import NotWritten, add_allowed_prefix, line_of
from pycodex.supervisor.policy.rules import Rules

LINE = 'prefix_rule(pattern=["touch", "a1"], decision="allow")\n'
WORDS = ("touch", "a1")

any_word = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
odd_word = st.sampled_from(
    ["", "é€😀", '"', "\\", "\\n", "a\nb", "\0\x1f\x7f", "\u2028\x85\ufeff", "{x}", "%s", "'", "#"]
)
any_words = st.lists(any_word | odd_word, min_size=1, max_size=5)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rules" / "default.rules"


def add(file: Path, *words: str) -> None:
    add_allowed_prefix(words, codex_home=str(file.parent.parent))


def with_text(file: Path, text: str) -> Path:
    file.parent.mkdir()
    file.write_text(text)
    return file


def rules_in(text: str) -> Rules:
    evaluation = Evaluation()
    evaluation.add(Source(path="default.rules", text=text))
    return evaluation.rules


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["touch", "a1"], LINE),
        (["é", "a b", 'c"d', "\\"], 'prefix_rule(pattern=["é", "a b", "c\\"d", "\\\\"], decision="allow")\n'),
        (["a\nb"], 'prefix_rule(pattern=["a\\nb"], decision="allow")\n'),
    ],
)
def test_form_of_a_line(words: list[str], line: str) -> None:
    assert line_of(words) == line


@given(any_words)
def test_line_is_one_line_and_says_exactly_these_words(words: list[str]) -> None:
    line = line_of(words)
    assert line.index("\n") == len(line) - 1
    rules = rules_in(line)
    assert rules == Rules().amended(words)
    assert [match.matched_prefix for match in rules.matches([*words, "more"])] == [tuple(words)]
    assert rules.matches([*words[:-1], f"{words[-1]}x"]) == []
    assert rules.matches(words[:-1]) == []


def test_any_lines_are_read_back_as_they_were_meant(tmp_path: Path, scale: Callable[[int, int], int]) -> None:
    @settings(max_examples=scale(50, 1000), deadline=None)
    @given(st.lists(any_words, min_size=1, max_size=4))
    def check(all_words: list[list[str]]) -> None:
        path = tmp_path / "rules" / "default.rules"
        path.unlink(missing_ok=True)
        expected = Rules()
        for words in all_words:
            add_allowed_prefix(words, codex_home=str(tmp_path))
            if Rules().amended(words).prefix_rules[0] not in expected.prefix_rules:
                expected = expected.amended(words)
        assert rules_in(path.read_bytes().decode()) == expected

    check()


def test_process_that_reads_rules_reads_what_was_written(file: Path) -> None:
    add(file, "touch", "\0é\u2028")
    assert evaluated([Source(path="x", text=file.read_text())]) == Rules().amended(("touch", "\0é\u2028"))


def test_folder_and_file_are_made(tmp_path: Path) -> None:
    add_allowed_prefix(WORDS, codex_home=str(tmp_path / "missing" / "home"))
    file = tmp_path / "missing" / "home" / "rules" / "default.rules"
    assert file.read_text() == LINE
    umask = os.umask(0)
    os.umask(umask)
    assert file.stat().st_mode & 0o777 == 0o666 & ~umask


def test_lines_are_added_behind_what_is_there(file: Path) -> None:
    with_text(file, "# mine\n")
    add(file, *WORDS)
    add(file, "cp")
    assert file.read_text() == f'# mine\n{LINE}prefix_rule(pattern=["cp"], decision="allow")\n'


def test_missing_end_of_line_is_added_first(file: Path) -> None:
    with_text(file, "# mine")
    add(file, *WORDS)
    assert file.read_text() == f"# mine\n{LINE}"


@pytest.mark.parametrize("text", [LINE, f"# a\n{LINE}# b\n", f"{LINE}# no end", LINE.rstrip("\n")])
def test_line_that_is_there_is_not_repeated(file: Path, text: str) -> None:
    with_text(file, text)
    add(file, *WORDS)
    assert file.read_text() == text


@pytest.mark.parametrize("text", [f"# {LINE}", f" {LINE}", LINE.replace("a1", "a11"), LINE.replace("allow", "prompt")])
def test_line_that_only_looks_like_it_does_not_count(file: Path, text: str) -> None:
    with_text(file, text)
    add(file, *WORDS)
    assert file.read_text() == f"{text}{LINE}"


def test_what_is_there_may_be_anything(file: Path) -> None:
    with_text(file, "")
    file.write_bytes(b"\xff\0(((\r\n")
    add(file, *WORDS)
    assert file.read_bytes() == b"\xff\0(((\r\n" + LINE.encode()


# What is refused


def problem_with(file: Path, *words: str) -> str:
    with pytest.raises(NotWritten) as caught:
        add(file, *words)
    return str(caught.value)


def test_words_that_make_no_rule_are_refused_before_anything_is_made(file: Path) -> None:
    assert problem_with(file) == "prefix rule requires at least one token"
    assert problem_with(file, "touch", "\udcff") == "prefix rule is not valid Unicode"
    assert not file.parent.exists()


@pytest.mark.parametrize("is_dangling", [True, False])
def test_link_is_not_followed(file: Path, tmp_path: Path, *, is_dangling: bool) -> None:
    target = tmp_path / "target"
    if not is_dangling:
        target.write_text("# theirs\n")
    file.parent.mkdir()
    file.symlink_to(target)
    assert problem_with(file, *WORDS).startswith(f"{file}: ")
    assert file.is_symlink()
    assert target.exists() != is_dangling
    assert is_dangling or target.read_text() == "# theirs\n"


def test_pipe_is_refused_and_nobody_waits_for_it(file: Path) -> None:
    file.parent.mkdir()
    os.mkfifo(file)
    assert problem_with(file, *WORDS).startswith(f"{file}: ")
    assert file.is_fifo()


def test_directory_in_its_place_is_refused(file: Path) -> None:
    file.mkdir(parents=True)
    assert problem_with(file, *WORDS).startswith(f"{file}: ")
    assert list(file.iterdir()) == []


def test_file_in_place_of_the_folder_is_refused(file: Path) -> None:
    file.parent.write_text("# theirs")
    assert problem_with(file, *WORDS).startswith(f"{file}: ")
    assert file.parent.read_text() == "# theirs"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unwritable for root")
def test_unwritable_file_is_refused(file: Path) -> None:
    with_text(file, "# mine\n").chmod(0o444)
    assert problem_with(file, *WORDS) == f"{file}: Permission denied"
    assert file.read_text() == "# mine\n"


def test_home_in_which_nothing_can_be_made_is_refused() -> None:
    with pytest.raises(NotWritten, match=r"^/proc/self/rules/default\.rules: "):
        add_allowed_prefix(WORDS, codex_home="/proc/self")


@pytest.mark.parametrize("room", [len(LINE), len(LINE) - 1])
def test_file_never_grows_larger_than_one_that_is_read(file: Path, room: int) -> None:
    text = "#" * (MOST_FILE_BYTES - room - 1) + "\n"
    with_text(file, text)
    if room == len(LINE):
        add(file, *WORDS)
        assert file.read_text() == text + LINE
    else:
        assert problem_with(file, *WORDS) == f"default.rules would become larger than {MOST_FILE_BYTES} bytes"
        assert file.read_text() == text


def test_lock_that_is_never_let_go_of_is_not_waited_for(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_writer, "_PAUSE_S", 0.0)
    with with_text(file, "# mine\n").open() as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        assert problem_with(file, *WORDS) == "default.rules is locked by another program"
    assert file.read_text() == "# mine\n"
    add(file, *WORDS)
    assert file.read_text() == f"# mine\n{LINE}"


def test_missing_end_of_line_counts_for_the_size(file: Path) -> None:
    with_text(file, "#" * (MOST_FILE_BYTES - len(LINE)))
    problem_with(file, *WORDS)


# Others at the same time

ADD_MANY = """
import json, sys
from pycodex.supervisor.policy.rule_writer import add_allowed_prefix
order = json.loads(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for words in order["all_words"]:
    add_allowed_prefix(words, codex_home=order["codex_home"])
"""


def adding(all_words: list[list[str]], codex_home: Path) -> subprocess.Popen[str]:
    order = json.dumps({"all_words": all_words, "codex_home": str(codex_home)})
    argv = [sys.executable, "-c", ADD_MANY, order]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_processes_at_once_lose_and_tear_no_line(tmp_path: Path, scale: Callable[[int, int], int]) -> None:
    count = scale(20, 100)
    shared = [["shared", str(number)] for number in range(count)]
    orders = [
        [pair for number in range(count) for pair in (["own", str(process), str(number), "x" * 200], shared[number])]
        for process in range(4)
    ]
    with ExitStack() as stack:
        running = [stack.enter_context(adding(all_words, tmp_path)) for all_words in orders]
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in running:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
    assert [process.returncode for process in running] == [0] * len(running)
    lines = (tmp_path / "rules" / "default.rules").read_text().splitlines(keepends=True)
    expected = {line_of(words) for all_words in orders for words in all_words}
    assert sorted(lines) == sorted(expected)


ADD_WITHIN = """
import resource, sys
from pycodex.supervisor.policy.rule_writer import NotWritten, add_allowed_prefix
home, most = sys.argv[1], int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
try:
    add_allowed_prefix(("touch", "a1"), codex_home=home)
except NotWritten as error:
    print(error)
"""


@pytest.mark.parametrize(("text", "room"), [("# mine\n", 20), ("# mine\n", 0), ("# mine", 1), ("# mine", len(LINE))])
def test_half_a_line_is_taken_back(file: Path, text: str, room: int) -> None:
    with_text(file, text)
    argv = [sys.executable, "-c", ADD_WITHIN, str(file.parent.parent), str(len(text) + room)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert "default.rules: " in done.stdout
    assert file.read_text() == text
