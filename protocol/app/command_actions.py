"""What a command does, in a few words, as items and questions tell it."""

from typing import Annotated, Literal

from pydantic import Field

from pycodex.protocol.app.wire import Named, Variant


class ReadCommandAction(Variant):
    type: Literal["read"] = "read"
    command: str
    name: str
    path: str


class ListFilesCommandAction(Variant):
    type: Literal["listFiles"] = "listFiles"
    command: str
    path: str | None = None


class SearchCommandAction(Variant):
    type: Literal["search"] = "search"
    command: str
    query: str | None = None
    path: str | None = None


class UnknownCommandAction(Variant):
    type: Literal["unknown"] = "unknown"
    command: str


CommandAction = Annotated[
    ReadCommandAction | ListFilesCommandAction | SearchCommandAction | UnknownCommandAction,
    Named("CommandAction"),
    Field(discriminator="type"),
]


class ReadParsedCommand(Variant):
    type: Literal["read"] = "read"
    cmd: str
    name: str
    path: str


class ListFilesParsedCommand(Variant):
    type: Literal["list_files"] = "list_files"
    cmd: str
    path: str | None = None


class SearchParsedCommand(Variant):
    type: Literal["search"] = "search"
    cmd: str
    query: str | None = None
    path: str | None = None


class UnknownParsedCommand(Variant):
    type: Literal["unknown"] = "unknown"
    cmd: str


ParsedCommand = Annotated[
    ReadParsedCommand | ListFilesParsedCommand | SearchParsedCommand | UnknownParsedCommand,
    Named("ParsedCommand"),
    Field(discriminator="type"),
]
