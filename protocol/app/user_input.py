"""What a person says: text, pictures, skills and mentions."""

from typing import Annotated, Literal

from pydantic import Field

from pycodex.protocol.app.wire import Named, Newer, PathText, Usize, Variant, Wire

ImageDetail = Annotated[Literal["auto", "low", "high", "original"], Named("ImageDetail")]


class ByteRange(Wire):
    start: Usize
    end: Usize


class TextElement(Wire):
    byte_range: ByteRange
    placeholder: str | None = None


class TextUserInput(Variant):
    type: Literal["text"] = "text"
    text: str
    text_elements: list[TextElement] = Field(default_factory=list, alias="text_elements")


class ImageUserInput(Variant):
    type: Literal["image"] = "image"
    url: str
    detail: Newer[ImageDetail | None] = None


class LocalImageUserInput(Variant):
    type: Literal["localImage"] = "localImage"
    path: PathText
    detail: Newer[ImageDetail | None] = None


class SkillUserInput(Variant):
    type: Literal["skill"] = "skill"
    name: str
    path: PathText


class MentionUserInput(Variant):
    type: Literal["mention"] = "mention"
    name: str
    path: str


UserInput = Annotated[
    TextUserInput | ImageUserInput | LocalImageUserInput | SkillUserInput | MentionUserInput,
    Named("UserInput"),
    Field(discriminator="type"),
]
