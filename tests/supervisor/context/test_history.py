"""What the model is shown of a thread."""

from typing import Any

import pytest

from pycodex.protocol.model_info import BYTES, TOKENS, ModelInfo, TruncationPolicy
from pycodex.supervisor.context.history import History
from pycodex.supervisor.text.tokens import estimate_item_tokens, estimate_tokens
from support.rollouts import Item, call, message, output, texts

POLICY = TruncationPolicy(TOKENS, 10_000)
MODEL = ModelInfo(slug="m", display_name="m", context_window=1000, truncation=POLICY)
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
REASONING: Item = {"type": "reasoning", "summary": [], "content": None, "encrypted_content": "x" * 2000}


def history(*items: Item, policy: TruncationPolicy = POLICY) -> History:
    made = History()
    made.record(items, policy)
    return made


def test_items_are_kept_in_order_and_as_they_are() -> None:
    items = [message("developer", "d"), message("user", "u"), {**call("c"), "id": "fc_1"}, output("c", "x")]
    made = history(*items)
    assert all(kept is given for kept, given in zip(made.items, items, strict=True))


@pytest.mark.parametrize("item", [message("system", "x"), {"type": "from_the_future", "x": 1}])
def test_what_is_never_sent_is_not_recorded(item: Item) -> None:
    assert list(history(item, message("user", "u")).items) == [message("user", "u")]


@pytest.mark.parametrize("kind", ["function_call_output", "custom_tool_call_output"])
def test_outputs_are_cut_with_a_fifth_more_room(kind: str) -> None:
    given = output("c", "x" * 130, kind)
    (kept,) = history(given, policy=TruncationPolicy(BYTES, 100)).items
    assert kept == output("c", "x" * 60 + "…10 chars truncated…" + "x" * 60, kind)
    # Whoever writes the session file still holds the whole of it.
    assert given == output("c", "x" * 130, kind)


def test_outputs_in_parts_are_cut_too() -> None:
    parts: list[dict[str, Any]] = [
        {"type": "input_text", "text": "x" * 120},
        IMAGE,
        {"type": "input_text", "text": "y"},
    ]
    (kept,) = history(output("c", parts), policy=TruncationPolicy(BYTES, 100)).items
    assert kept["output"] == [*parts[:2], {"type": "input_text", "text": "[omitted 1 text items ...]"}]


@pytest.mark.parametrize("said", ["x" * 120, "", [], [IMAGE]])
def test_outputs_that_fit_stay_the_same_object(said: Any) -> None:
    given = output("c", said)
    assert history(given, policy=TruncationPolicy(BYTES, 100)).items[0] is given


def test_messages_and_calls_are_never_cut() -> None:
    items = [message("user", "x" * 999), {**call("c"), "arguments": "y" * 999}]
    assert list(history(*items, policy=TruncationPolicy(BYTES, 1)).items) == items


def test_prompt_answers_open_calls_and_grows_at_its_end() -> None:
    made = history(message("user", "u"), call("c"))
    first = made.for_prompt(MODEL)
    assert first == [message("user", "u"), call("c"), output("c", "aborted")]
    made.record([message("user", "more")], POLICY)
    again = made.for_prompt(MODEL)
    assert all(one is other for one, other in zip(first, again, strict=False))
    assert again[-1] == message("user", "more")


def test_answer_that_comes_late_takes_the_place_of_its_stand_in() -> None:
    made = history(call("c"))
    made.for_prompt(MODEL)
    made.record([output("c", "x")], POLICY)
    assert made.for_prompt(MODEL) == [call("c"), output("c", "x")]


def test_replaced_history_starts_afresh() -> None:
    made = history(message("user", "old"), call("c"))
    made.for_prompt(MODEL)
    made.replace([message("user", "new")])
    assert made.for_prompt(MODEL) == [message("user", "new")]


def test_turns_are_taken_back_from_the_end() -> None:
    said = [message("developer", "d"), message("user", "one"), message("assistant", "1"), message("user", "two")]
    made = history(*said)
    made.drop_last_user_turns(1)
    assert texts(made.items) == ["developer: d", "user: one", "assistant: 1"]
    made.drop_last_user_turns(9)
    assert texts(made.items) == ["developer: d"]


def test_own_words_are_told_from_the_programs() -> None:
    assert History.is_user_turn(message("user", "x"))
    assert not History.is_user_turn(message("user", "<skill></skill>"))


def test_pictures_of_the_last_output_can_be_replaced() -> None:
    made = history(message("user", "u"), call("c"), output("c", [IMAGE]), message("assistant", "a"))
    assert made.replace_last_output_images("Invalid image")
    assert made.items[2] == output("c", [{"type": "input_text", "text": "Invalid image"}])
    assert not made.replace_last_output_images("Invalid image")


@pytest.mark.parametrize(
    "last",
    [
        [],
        [output("c", [IMAGE]), output("d", "text")],
        [output("c", [IMAGE]), {**message("user", ""), "content": [IMAGE]}],
    ],
)
def test_pictures_elsewhere_are_not_replaced(last: list[Item]) -> None:
    made = history(*last)
    assert not made.replace_last_output_images("Invalid image")
    assert list(made.items) == last


def test_estimate_covers_the_instructions_and_all_items() -> None:
    items = [message("user", "hello"), call("c"), output("c", "x" * 100)]
    made = history(*items)
    assert made.estimated_tokens("instructions") == estimate_tokens("instructions") + sum(
        map(estimate_item_tokens, items)
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([message("assistant", "a")], [message("user", "b")]),
        ([call("c")], [output("c", "x" * 50), message("user", "b")]),
        ([REASONING], []),
        ([message("user", "u"), {"type": "compaction", "encrypted_content": "x"}], [message("user", "b")]),
    ],
)
def test_only_what_the_model_has_not_counted_is_estimated(before: list[Item], after: list[Item]) -> None:
    assert history(*before, *after).tokens_since_last_model_item() == sum(map(estimate_item_tokens, after))


def test_nothing_is_estimated_before_the_model_has_said_anything() -> None:
    assert history(message("user", "x" * 100)).tokens_since_last_model_item() == 0


def test_reasoning_of_earlier_turns_is_counted() -> None:
    made = history(message("user", "one"), REASONING, message("user", "two"), REASONING)
    assert made.reasoning_tokens_before_last_user_turn() == estimate_item_tokens(REASONING)
    assert history(REASONING).reasoning_tokens_before_last_user_turn() == 0


def test_oldest_items_go_with_the_other_halves_of_their_calls() -> None:
    made = history(call("c"), message("user", "one"), output("c", "x"), message("user", "two"))
    assert made.drop_oldest(None) == 2
    assert list(made.items) == [message("user", "one"), message("user", "two")]
    assert made.drop_oldest(None) == 1
    assert made.drop_oldest(None) == 0
    assert list(made.items) == [message("user", "two")]


def test_so_many_of_the_oldest_go_that_the_rest_may_fit() -> None:
    items = [message("user", f"{number}" * 100) for number in range(9)]
    made = history(*items)
    assert made.drop_oldest(3 * estimate_item_tokens(items[0])) == 6
    assert list(made.items) == items[6:]


def test_of_many_items_many_go_at_once() -> None:
    made = history(*(message("user", f"{number}") for number in range(1000)))
    attempts = 0
    while made.drop_oldest(None):
        attempts += 1
    assert len(made.items) == 1
    assert attempts < 50


def test_outputs_and_notes_at_the_end_go_until_the_rest_fits() -> None:
    items = [message("user", "u"), call("c"), output("c", "x" * 100), message("developer", "n" * 100)]
    made = history(*items)
    whole = made.estimated_tokens("i")
    made.drop_last_outputs(whole, "i")
    assert list(made.items) == items
    made.drop_last_outputs(whole - 1, "i")
    assert list(made.items) == items[:3]
    made.drop_last_outputs(0, "i")
    assert list(made.items) == items[:2]
