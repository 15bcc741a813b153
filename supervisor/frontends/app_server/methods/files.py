"""`fs/*`: files of the host.

Owns the form of the answers and which error is whose. What is done to a file is in `workspace/files`, and is done in a
thread.
"""

import base64
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import trio

from pycodex.protocol.app.file_system import (
    FsCopyParams,
    FsCreateDirectoryParams,
    FsGetMetadataParams,
    FsReadDirectoryParams,
    FsReadFileParams,
    FsRemoveParams,
    FsWriteFileParams,
)
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, Caller, Json, Method, RpcError
from pycodex.supervisor.text.base64_text import BadBase64, decoded
from pycodex.supervisor.workspace import files
from pycodex.supervisor.workspace.files import Unsupported

T = TypeVar("T")


async def read_file(caller: Caller, params: FsReadFileParams) -> Json:
    del caller
    return {"dataBase64": base64.b64encode(await _done(partial(files.read_file, params.path))).decode("ascii")}


async def write_file(caller: Caller, params: FsWriteFileParams) -> Json:
    del caller
    try:
        data = decoded(params.data_base64)
    except BadBase64 as error:
        raise RpcError(f"fs/writeFile requires valid base64 dataBase64: {error}") from None
    await _done(partial(files.write_file, params.path, data))
    return {}


async def create_directory(caller: Caller, params: FsCreateDirectoryParams) -> Json:
    del caller
    await _done(partial(files.create_directory, params.path, recursive=_or_true(params.recursive)))
    return {}


async def get_metadata(caller: Caller, params: FsGetMetadataParams) -> Json:
    del caller
    facts = await _done(partial(files.facts_of, params.path))
    return {
        "isDirectory": facts.is_directory,
        "isFile": facts.is_file,
        # Python does not tell when a file was made; 0 stands for that in the reference too.
        "createdAtMs": 0,
        "modifiedAtMs": facts.modified_at_ms,
    }


async def read_directory(caller: Caller, params: FsReadDirectoryParams) -> Json:
    del caller
    entries = await _done(partial(files.read_directory, params.path))
    return {
        "entries": [
            {"fileName": _text(entry.name), "isDirectory": entry.is_directory, "isFile": entry.is_file}
            for entry in entries
        ]
    }


async def remove(caller: Caller, params: FsRemoveParams) -> Json:
    del caller
    recursive, force = _or_true(params.recursive), _or_true(params.force)
    await _done(partial(files.remove, params.path, recursive=recursive, force=force))
    return {}


async def copy(caller: Caller, params: FsCopyParams) -> Json:
    del caller
    await _done(partial(files.copy, params.source_path, params.destination_path, recursive=params.recursive))
    return {}


async def _done(act: Callable[[], T]) -> T:
    try:
        # A file system that hangs must not hold up the end of the connection.
        return await trio.to_thread.run_sync(act, abandon_on_cancel=True)
    except Unsupported as error:
        raise RpcError(str(error)) from None
    except OSError as error:
        raise RpcError(f"{error.strerror} (os error {error.errno})", code=INTERNAL_ERROR) from None
    except ValueError:
        # A path with a NUL in it.
        raise RpcError("file name contained an unexpected NUL byte") from None


def _or_true(value: bool | None) -> bool:
    return True if value is None else value


def _text(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


METHODS = (
    Method(name="fs/readFile", params=FsReadFileParams, run=read_file),
    Method(name="fs/writeFile", params=FsWriteFileParams, run=write_file),
    Method(name="fs/createDirectory", params=FsCreateDirectoryParams, run=create_directory),
    Method(name="fs/getMetadata", params=FsGetMetadataParams, run=get_metadata),
    Method(name="fs/readDirectory", params=FsReadDirectoryParams, run=read_directory),
    Method(name="fs/remove", params=FsRemoveParams, run=remove),
    Method(name="fs/copy", params=FsCopyParams, run=copy),
)
