"""What a call has taken is told in figures, and its answer shortly."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.protocol.confinement import Enforced
from pycodex.protocol.frames import Exited
from pycodex.protocol.items import FUNCTION_CALL
from pycodex.supervisor.session.call_figures import PREVIEW_CUT, figures_of, preview, told_in_log
from pycodex.supervisor.tools.tool import ToolCall

CALL = ToolCall(FUNCTION_CALL, "call-1", "exec_command", "{}")
EXITED = Exited(
    job_id="j",
    code=0,
    wall_ms=12.34567,
    cpu_ms=1.0004,
    peak_rss_bytes=4096,
    processes=3,
    output_bytes=7,
    dropped_bytes=2,
    enforced=Enforced(level="full"),
)


def test_figures_have_names_and_units() -> None:
    assert figures_of(EXITED) == {
        "wall_ms": 12.346,
        "cpu_ms": 1.0,
        "peak_rss_bytes": 4096,
        "output_bytes": 7,
        "dropped_bytes": 2,
        "sandbox": "full",
        "processes": 3,
    }


def test_processes_that_nobody_counted_are_not_told() -> None:
    figures = figures_of(EXITED.replace(processes=0))
    assert figures is not None
    assert "processes" not in figures


def test_call_without_a_process_that_has_ended_has_none() -> None:
    assert figures_of(None) is None


def test_log_tells_call_figures_and_answer_in_one_line() -> None:
    told = told_in_log(CALL, "one\ntwo é", figures_of(EXITED))
    assert "\n" not in told
    assert json.loads(told) == {
        "tool": "exec_command",
        "call_id": "call-1",
        "figures": figures_of(EXITED),
        "preview": "one\ntwo é",
    }


@pytest.mark.parametrize("output", [None, [{"type": "input_image", "image_url": "data:,"}]])
def test_answer_that_is_no_text_is_not_in_the_log(output: list[dict[str, str]] | None) -> None:
    assert json.loads(told_in_log(CALL, output, None)) == {"tool": "exec_command", "call_id": "call-1", "figures": None}


@pytest.mark.parametrize("output", ["", "short", "x" * 2048, "é" * 1024, "x\n" * 64, "\n" * 64, "x\n" * 63 + "x"])
def test_short_answer_is_shown_whole(output: str) -> None:
    assert preview(output) == output


@pytest.mark.parametrize(
    ("output", "kept"),
    [
        ("x" * 2049, "x" * 2048 + "\n"),
        ("é" * 1025, "é" * 1024 + "\n"),
        ("x" + "é" * 1024, "x" + "é" * 1023 + "\n"),
        ("x\n" * 65, "x\n" * 64),
        ("x\n" * 64 + "y", "x\n" * 64),
        ("\n" * 3000, "\n" * 64),
        ("a" * 2047 + "\n" + "b", "a" * 2047 + "\n"),
    ],
)
def test_long_answer_is_cut_between_characters_and_lines(output: str, kept: str) -> None:
    assert preview(output) == kept + PREVIEW_CUT


@given(st.text() | st.text("\nx", min_size=100, max_size=3000))
def test_any_answer_can_be_shown(output: str) -> None:
    shown = preview(output)
    assert shown == output or shown.endswith("\n" + PREVIEW_CUT)
    assert len(shown.encode("utf-8", "replace")) <= 2048 + 1 + len(PREVIEW_CUT)
