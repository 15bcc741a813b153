"""The model ends the work on a goal by its own word."""

from typing import Any

import pytest

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.items import FUNCTION_CALL
from pycodex.supervisor.tools.handlers.update_goal import UpdateGoal
from pycodex.supervisor.tools.tool import ToolCall
from support.tool_calls import Bench, make_turn

# The tool needs nothing of what lives as long as the session but the goals, which it has.
NO_SERVICES: Any = None


class Desk:
    is_active = True

    def __init__(self) -> None:
        self.marked: list[tuple[str, str]] = []

    def mark(self, status: str, *, turn_id: str) -> None:
        self.marked.append((status, turn_id))


def called(arguments: str) -> ToolCall:
    return ToolCall(FUNCTION_CALL, "c", "update_goal", arguments)


@pytest.mark.parametrize(("status", "words"), [("complete", "what was achieved"), ("blocked", "what you need")])
async def test_word_of_the_model_counts(status: str, words: str) -> None:
    desk = Desk()
    bench = Bench(make_turn(), NO_SERVICES)
    answer = await UpdateGoal(desk).run(called(f'{{"status":"{status}"}}'), bench.scope)
    assert words in str(answer.output)
    assert desk.marked == [(status, "turn-1")]


@pytest.mark.parametrize("arguments", ['{"status":"paused"}', "{}", "odd"])
async def test_other_words_do_not(arguments: str) -> None:
    desk = Desk()
    bench = Bench(make_turn(), NO_SERVICES)
    with pytest.raises(ModelFacing):
        await UpdateGoal(desk).run(called(arguments), bench.scope)
    assert desk.marked == []


def test_schema() -> None:
    parameters = UpdateGoal(Desk()).spec(make_turn())["parameters"]
    assert parameters["required"] == ["status"]
    assert parameters["properties"]["status"]["enum"] == ["complete", "blocked"]
