"""What the first lines of a file tell."""

from pathlib import Path

import pytest

from pycodex.supervisor.rollout.head import HEAD_LINES, MESSAGE_LINES, read_head
from support.rollouts import THREAD_ID, Line, event, item, message, meta, said_by_user, write

FILLER = [item(message("developer", "x"))]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rollout.jsonl"


@pytest.mark.parametrize(
    ("lines", "preview"),
    [
        ([meta(), *said_by_user(" hello ")], "hello"),
        ([meta(), *said_by_user("## Context\nfile.py\n\n## My request for Codex:\nfix it\n")], "fix it"),
        ([meta(), *said_by_user("one"), *said_by_user("two")], "one"),
        (["{bad", meta(), *FILLER * MESSAGE_LINES, *said_by_user("late")], "late"),
        ([*FILLER * (HEAD_LINES - 3), meta(), *said_by_user("later")], "later"),
        (
            [meta(), event("item_completed", item={"type": "UserMessage", "content": [{"type": "text", "text": "x"}]})],
            "x",
        ),
    ],
)
def test_first_message_is_the_preview(path: Path, lines: list[Line | str], preview: str) -> None:
    head = read_head(write(path, lines))
    assert head is not None
    assert head.meta.id == THREAD_ID
    assert head.preview == preview


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [meta()],
        [meta(), item(message("user", "no event"))],
        said_by_user("no head"),
        [*FILLER * HEAD_LINES, meta(), *said_by_user("head too late")],
        [meta(), *FILLER * (HEAD_LINES + MESSAGE_LINES), *said_by_user("message too late")],
        [meta(), event("user_message", message=1)],
    ],
)
def test_file_that_does_not_say_it_early_is_not_listed(path: Path, lines: list[Line | str]) -> None:
    assert read_head(write(path, lines)) is None


def test_missing_file_is_not_listed(path: Path) -> None:
    assert read_head(str(path)) is None
