"""The two layouts say the same, and failures say what the reference says."""

import errno
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.frames import BadFrame
from pycodex.protocol.model_info import BYTES, TOKENS, TruncationPolicy
from pycodex.supervisor.model.request import shell_output_as_text
from pycodex.supervisor.tools.shell_answer import freeform, killed_by, not_run, structured, with_timeout
from pycodex.supervisor.workers.lease import JobFailed, JobRefused, WorkerLost

POLICY = TruncationPolicy(TOKENS, 10_000)
TIGHT = TruncationPolicy(BYTES, 10)


def test_freeform_tells_code_time_and_output() -> None:
    assert freeform("a\nb\n", 3, 0.62, POLICY) == "Exit code: 3\nWall time: 0.6 seconds\nOutput:\na\nb\n"


def test_structured_is_one_line_of_json() -> None:
    told = structured('a\n"é"\x1b', 3, 0.3, POLICY)
    assert told == '{"output":"a\\n\\"é\\"\\u001b","metadata":{"exit_code":3,"duration_seconds":0.3}}'


@pytest.mark.parametrize(
    ("seconds", "in_words", "in_json"),
    [
        (0.0, "0", "0.0"),
        (0.049, "0", "0.0"),
        (0.25, "0.3", "0.3"),
        (0.96, "1", "1.0"),
        (4.5, "4.5", "4.5"),
        (61.04, "61", "61.0"),
    ],
)
def test_time_is_rounded_to_tenths(seconds: float, in_words: str, in_json: str) -> None:
    assert f"Wall time: {in_words} seconds\n" in freeform("", 0, seconds, POLICY)
    assert f'"duration_seconds":{in_json}}}' in structured("", 0, seconds, POLICY)


def test_number_of_lines_is_told_in_words_where_the_cut_changed_it() -> None:
    many = freeform("1\n2\n3\n4\n5\n6\n7\n8\n", 0, 0.0, TIGHT)
    assert many == (
        "Exit code: 0\nWall time: 0 seconds\nTotal output lines: 8\nOutput:\n1\n2\n3…6 chars truncated…\n7\n8\n"
    )
    one = freeform("x" * 20, 0, 0.0, TIGHT)
    assert one == "Exit code: 0\nWall time: 0 seconds\nOutput:\nxxxxx…10 chars truncated…xxxxx"


def test_number_of_lines_is_told_in_json_wherever_something_was_cut() -> None:
    told = json.loads(structured("x" * 20, 0, 0.0, TIGHT))
    assert told["output"] == "Total output lines: 1\n\nxxxxx…10 chars truncated…xxxxx"


def test_remarks_stand_before_the_output() -> None:
    remarks = ("Ended early: limit", "Left running in the background: 7")
    assert freeform("said\n", 137, 1.0, POLICY, remarks=remarks) == (
        "Exit code: 137\nWall time: 1 seconds\nEnded early: limit\nLeft running in the background: 7\nOutput:\nsaid\n"
    )
    assert json.loads(structured("said\n", 137, 1.0, POLICY, remarks=remarks))["metadata"]["remarks"] == list(remarks)


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.integers(-1, 255),
    st.floats(0, 1e6),
    st.lists(st.text("abc ", min_size=1), max_size=2),
)
def test_structured_layout_can_be_told_again_as_the_free_one(
    output: str, code: int, seconds: float, remarks: list[str]
) -> None:
    policy = TruncationPolicy(TOKENS, 10_000)
    retold = shell_output_as_text(structured(output, code, seconds, policy, remarks=remarks))
    assert retold == freeform(output, code, seconds, policy, remarks=remarks)


def test_cut_output_can_be_told_again_as_the_free_one() -> None:
    output = "".join(f"{number}\n" for number in range(100))
    retold = shell_output_as_text(structured(output, 0, 0.1, TIGHT))
    assert retold == freeform(output, 0, 0.1, TIGHT)
    assert "Total output lines: 100\nOutput:\n" in retold


def test_timeout_is_told_with_the_time_that_it_took() -> None:
    assert with_timeout("begun\n", 0.3054) == "command timed out after 305 milliseconds\nbegun\n"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            JobFailed("x", errno=errno.ENOENT),
            'Io(Os { code: 2, kind: NotFound, message: "No such file or directory" })',
        ),
        (
            JobFailed("x", errno=errno.EACCES),
            'Io(Os { code: 13, kind: PermissionDenied, message: "Permission denied" })',
        ),
        (JobFailed("x", errno=errno.ENOTDIR), 'Io(Os { code: 20, kind: NotADirectory, message: "Not a directory" })'),
        (
            JobFailed("x", errno=errno.E2BIG),
            'Io(Os { code: 7, kind: ArgumentListTooLong, message: "Argument list too long" })',
        ),
        (JobFailed("x", errno=errno.ENOEXEC), 'Io(Os { code: 8, kind: Uncategorized, message: "Exec format error" })'),
        (JobFailed("the worker failed"), "the worker failed"),
        (JobRefused("no Landlock"), "the sandbox cannot enforce what is asked, so nothing was run: no Landlock"),
        (WorkerLost("killed"), "lost without a result: killed; what the command did until then is unknown"),
        (BadFrame("argv of 70000 items exceeds 65536"), "argv of 70000 items exceeds 65536"),
    ],
)
def test_failure_is_named(error: ModelFacing | BadFrame, text: str) -> None:
    assert not_run(error) == f"execution error: {text}"


def test_signal_is_named() -> None:
    assert killed_by(9) == "execution error: Sandbox(Signal(9))"
