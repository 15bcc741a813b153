"""`fs/*` as a client sees them."""

import os

import pytest

from pycodex.protocol.app import file_system
from support.app_server import Client, Refused
from support.engine import Place


async def test_a_file_is_written_read_copied_and_removed(client: Client, place: Place) -> None:
    path = str(place.workspace / "f")
    assert await client.call("fs/writeFile", path=path, dataBase64="aGVsbG8K") == {}
    assert await client.call("fs/readFile", path=path) == {"dataBase64": "aGVsbG8K"}
    await client.call("fs/createDirectory", path=f"{place.workspace}/d/e")
    await client.call("fs/copy", sourcePath=path, destinationPath=f"{place.workspace}/d/copy")
    listed = await client.call("fs/readDirectory", path=f"{place.workspace}/d")
    assert listed == {
        "entries": [
            {"fileName": "copy", "isDirectory": False, "isFile": True},
            {"fileName": "e", "isDirectory": True, "isFile": False},
        ]
    }
    metadata = await client.call("fs/getMetadata", path=path)
    assert file_system.FsGetMetadataResponse.model_validate(metadata).is_file
    assert await client.call("fs/remove", path=f"{place.workspace}/d") == {}
    assert not (place.workspace / "d").exists()


@pytest.mark.parametrize(
    ("method", "params", "code", "message"),
    [
        ("fs/readFile", {"path": "{ws}/none"}, -32603, "No such file or directory (os error 2)"),
        ("fs/readFile", {"path": "{ws}"}, -32603, "Is a directory (os error 21)"),
        ("fs/readFile", {"path": "{ws}/pipe"}, -32600, "fs/readFile only supports regular files"),
        ("fs/readFile", {"path": "{ws}/\0"}, -32600, "file name contained an unexpected NUL byte"),
        (
            "fs/readFile",
            {"path": "relative"},
            -32600,
            "Invalid request: AbsolutePathBuf deserialized without a base path",
        ),
        (
            "fs/writeFile",
            {"path": "{ws}/x", "dataBase64": "a"},
            -32600,
            "fs/writeFile requires valid base64 dataBase64: Invalid input length: 1",
        ),
        (
            "fs/copy",
            {"sourcePath": "{ws}", "destinationPath": "{ws}/x"},
            -32600,
            "fs/copy requires recursive: true when sourcePath is a directory",
        ),
        ("fs/remove", {"path": "{ws}/none", "force": False}, -32603, "No such file or directory (os error 2)"),
    ],
)
async def test_errors_are_those_of_the_system_or_of_the_request(
    client: Client, place: Place, method: str, params: dict[str, object], code: int, message: str
) -> None:
    os.mkfifo(place.workspace / "pipe")
    there = {
        key: value.replace("{ws}", str(place.workspace)) if isinstance(value, str) else value
        for key, value in params.items()
    }
    with pytest.raises(Refused) as raised:
        await client.call(method, **there)
    assert (raised.value.code, raised.value.message) == (code, message)
