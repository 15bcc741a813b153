"""Fetching a model is told so that a person can follow, and a log stays readable."""

from pycodex.supervisor.frontends.exec.pull_progress import PullProgress
from pycodex.supervisor.model.oss import Pulled

GIB = 1 << 30
STEPS = (
    Pulled("pulling manifest", 0, 0),
    Pulled("pulling a", GIB // 2, 2 * GIB),
    Pulled("pulling a", GIB // 2 + 1, 2 * GIB),
    Pulled("pulling a", GIB, 2 * GIB),
    Pulled("suc\x1bcess", 0, 0),
)


def told(*, overwrites: bool) -> str:
    texts: list[str] = []
    progress = PullProgress(texts.append, overwrites=overwrites)
    for step in STEPS:
        progress(step)
    progress.end()
    return "".join(texts)


def test_elsewhere_there_is_a_line_for_what_is_new() -> None:
    assert told(overwrites=False) == (
        "pulling manifest\npulling a 0.50/2.00 GB (25.0%)\npulling a 1.00/2.00 GB (50.0%)\nsuc\\x1bcess\n"
    )


def test_on_a_terminal_one_line_is_written_over() -> None:
    text = told(overwrites=True)
    assert text.count("\n") == 1
    assert text.endswith("\r\x1b[Ksuc\\x1bcess\n")
    assert text.count("\r\x1b[K") == len(STEPS)


def test_nothing_told_leaves_no_trace() -> None:
    texts: list[str] = []
    PullProgress(texts.append, overwrites=True).end()
    assert texts == []
