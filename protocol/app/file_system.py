"""`fs/*`: files of the host, read and written for the client."""

from pycodex.protocol.app.wire import I64, AbsolutePathBuf, Params, Sparse, Wire


class FsCopyParams(Params):
    source_path: AbsolutePathBuf
    destination_path: AbsolutePathBuf
    recursive: Sparse[bool] = False


class FsCopyResponse(Wire):
    pass


class FsCreateDirectoryParams(Params):
    path: AbsolutePathBuf
    recursive: bool | None = None


class FsCreateDirectoryResponse(Wire):
    pass


class FsGetMetadataParams(Params):
    path: AbsolutePathBuf


class FsGetMetadataResponse(Wire):
    is_directory: bool
    is_file: bool
    created_at_ms: I64
    modified_at_ms: I64


class FsReadDirectoryEntry(Wire):
    file_name: str
    is_directory: bool
    is_file: bool


class FsReadDirectoryParams(Params):
    path: AbsolutePathBuf


class FsReadDirectoryResponse(Wire):
    entries: list[FsReadDirectoryEntry]


class FsReadFileParams(Params):
    path: AbsolutePathBuf


class FsReadFileResponse(Wire):
    data_base64: str


class FsRemoveParams(Params):
    path: AbsolutePathBuf
    recursive: bool | None = None
    force: bool | None = None


class FsRemoveResponse(Wire):
    pass


class FsWriteFileParams(Params):
    path: AbsolutePathBuf
    data_base64: str


class FsWriteFileResponse(Wire):
    pass


# What follows is not in 0.116.


class FsWatchParams(Params):
    watch_id: str
    path: AbsolutePathBuf


class FsWatchResponse(Wire):
    path: AbsolutePathBuf


class FsUnwatchParams(Params):
    watch_id: str


class FsUnwatchResponse(Wire):
    pass


class FsChangedNotification(Wire):
    watch_id: str
    changed_paths: list[AbsolutePathBuf]
