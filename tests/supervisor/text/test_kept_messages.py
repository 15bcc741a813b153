"""What stays beside a summary."""

from pycodex.supervisor.text.kept_messages import compacted_history, text_of
from support.rollouts import call, message, output, texts


def test_own_messages_stay_and_the_summary_follows() -> None:
    items = [
        message("developer", "rules"),
        message("user", "<environment_context>x</environment_context>"),
        message("user", "one"),
        message("assistant", "answer"),
        call("c"),
        output("c", "out"),
        message("user", "earlier summary"),
        message("user", "two"),
    ]
    kept = compacted_history(items, "summary", earlier_summaries={"earlier summary"})
    assert texts(kept) == ["user: one", "user: two", "user: summary"]


def test_missing_summary_is_said() -> None:
    assert texts(compacted_history([], "", earlier_summaries=())) == ["user: (no summary available)"]


def test_newest_messages_stay_and_the_one_that_does_not_fit_is_cut() -> None:
    # Seen with the reference: three tokens for the newest leave 79988 bytes.
    items = [message("user", "gone"), message("user", "x" * 100_000), message("user", "y" * 12)]
    first, *others = compacted_history(items, "s", earlier_summaries=())
    assert texts(others) == ["user: " + "y" * 12, "user: s"]
    text = text_of(first)
    assert len(text.encode()) == 80_015
    assert "…5003 tokens truncated…" in text


def test_tags_around_pictures_are_no_words() -> None:
    parts = [
        {"type": "input_text", "text": "<image name=[Image #1]>"},
        {"type": "input_image", "image_url": "data:,"},
        {"type": "input_text", "text": "</image>"},
        {"type": "input_text", "text": "look"},
    ]
    assert text_of({"type": "message", "role": "user", "content": parts}) == "look"
