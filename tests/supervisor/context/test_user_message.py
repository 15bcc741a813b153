"""What the person gave, as the model and as front-ends see it."""

from pathlib import Path

from PIL import Image as Picture

from pycodex.protocol.user_input import Image, LocalImage, Mention, Skill, Text
from pycodex.supervisor.context.user_message import event_of, message_of


def test_parts_keep_the_order_of_the_input_and_pictures_are_counted(tmp_path: Path) -> None:
    dot = tmp_path / "dot.png"
    Picture.new("RGB", (3, 2)).save(dot)
    inputs = (
        Text(text="look "),
        Image(url="data:x"),
        LocalImage(path=str(dot)),
        LocalImage(path="/no/such.png"),
        Text(text="closely"),
        Mention(name="x", path="app://x"),
        Skill(name="s", path="/s/SKILL.md"),
        LocalImage(path=str(dot)),
    )
    item = message_of(inputs)
    assert (item["type"], item["role"]) == ("message", "user")
    assert [part.get("text") or "picture" for part in item["content"]] == [
        *("look ", "<image>", "picture", "</image>"),
        *("<image name=[Image #2]>", "picture", "</image>"),
        "Codex could not read the local image at `/no/such.png`: No such file or directory (os error 2)",
        *("closely", "<image name=[Image #4]>", "picture", "</image>"),
    ]
    event = event_of(inputs)
    assert event.message == "look closely"
    assert event.images == ("data:x",)
    assert event.local_images == (str(dot), "/no/such.png", str(dot))


def test_elements_are_counted_from_the_joined_text() -> None:
    event = event_of(
        (
            Text(text="äb", text_elements=({"byte_range": {"start": 0, "end": 2}, "placeholder": "[x]"},)),
            Text(text="cd", text_elements=({"byte_range": {"start": 0, "end": 1}}, {"odd": 1})),
        )
    )
    assert event.text_elements == (
        {"byte_range": {"start": 0, "end": 2}, "placeholder": "[x]"},
        {"byte_range": {"start": 3, "end": 4}, "placeholder": "c"},
        {"odd": 1},
    )
