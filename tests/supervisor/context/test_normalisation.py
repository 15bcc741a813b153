"""What a request may hold."""

import pytest

from pycodex.supervisor.context.normalisation import (
    IMAGE_OMITTED,
    StandIns,
    has_images,
    normalised,
    with_texts_for_images,
)
from support.rollouts import Item, call, message, output

IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
CUSTOM_CALL = call("c", "custom_tool_call")
LOCAL_CALL = {"type": "local_shell_call", "call_id": "c", "status": "completed", "action": {"type": "exec"}}
SEARCH_CALL = {"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {}}
SEARCH_OUTPUT = {
    "type": "tool_search_output",
    "call_id": "c",
    "status": "completed",
    "execution": "client",
    "tools": [],
}
SERVER_OUTPUT = {"type": "tool_search_output", "status": "completed", "execution": "server", "tools": []}
CUSTOM_OUTPUT = output("c", "x", "custom_tool_call_output")
TEXT = message("user", "hello")


def sent(items: list[Item], *, takes_images: bool = True) -> list[Item]:
    return normalised(items, StandIns(), takes_images=takes_images)


@pytest.mark.parametrize(
    ("items", "wanted"),
    [
        ([], []),
        ([TEXT, call("c"), output("c", "x")], [TEXT, call("c"), output("c", "x")]),
        ([call("c"), TEXT], [call("c"), output("c", "aborted"), TEXT]),
        ([call("a"), call("b"), output("a", "x")], [call("a"), call("b"), output("b", "aborted"), output("a", "x")]),
        ([CUSTOM_CALL], [CUSTOM_CALL, output("c", "aborted", "custom_tool_call_output")]),
        ([LOCAL_CALL], [LOCAL_CALL, output("c", "aborted")]),
        ([LOCAL_CALL, output("c", "x")], [LOCAL_CALL, output("c", "x")]),
        ([SEARCH_CALL], [SEARCH_CALL, SEARCH_OUTPUT]),
        ([output("c", "x"), TEXT], [TEXT]),
        ([CUSTOM_OUTPUT], []),
        # An output of one kind does not answer a call of another.
        ([call("c"), CUSTOM_OUTPUT], [call("c"), output("c", "aborted")]),
        ([SEARCH_OUTPUT], []),
        ([SERVER_OUTPUT], [SERVER_OUTPUT]),
        ([{"type": "ghost_snapshot", "ghost_commit": {}}, TEXT], [TEXT]),
    ],
)
def test_calls_and_outputs_belong_together(items: list[Item], wanted: list[Item]) -> None:
    assert sent(items) == wanted


def test_pictures_become_texts_for_a_model_that_sees_none() -> None:
    seen = {**TEXT, "content": [*TEXT["content"], IMAGE]}
    made = {"type": "image_generation_call", "id": "i", "status": "completed", "result": "AAAA"}
    text = {"type": "input_text", "text": IMAGE_OMITTED}
    assert sent([seen, call("c"), output("c", [IMAGE]), made], takes_images=False) == [
        {**TEXT, "content": [*TEXT["content"], text]},
        call("c"),
        output("c", [text]),
        {**made, "result": ""},
    ]
    assert sent([seen, made]) == [seen, made]


def test_whatever_was_sent_before_is_the_same_object_again() -> None:
    items = [TEXT, call("open"), {**TEXT, "content": [IMAGE]}, call("c"), output("c", "x")]
    stand_ins = StandIns()
    first = normalised(items, stand_ins, takes_images=False)
    items += [call("d"), output("d", "y")]
    again = normalised(items, stand_ins, takes_images=False)
    assert len(first) == 6
    assert all(one is other for one, other in zip(first, again, strict=False))


def test_history_itself_is_not_changed() -> None:
    items = [call("c"), output("x", "y"), {**TEXT, "content": [IMAGE]}]
    sent(items, takes_images=False)
    assert items == [call("c"), output("x", "y"), {**TEXT, "content": [IMAGE]}]


def test_pictures_are_found_and_replaced() -> None:
    shown = output("c", [IMAGE, {"type": "input_text", "text": "t"}])
    assert has_images(shown)
    assert not has_images(output("c", "text"))
    replaced = with_texts_for_images(shown, "gone")
    assert replaced["output"] == [{"type": "input_text", "text": "gone"}, {"type": "input_text", "text": "t"}]
    assert has_images(shown)
