"""Finding files by a few letters of their names, once or as a session."""

from pydantic import Field

from pycodex.protocol.app.wire import U32, Params, Shown, Wire


class FuzzyFileSearchParams(Params):
    query: str
    roots: list[str]
    cancellation_token: Shown[str | None] = None


class FuzzyFileSearchResult(Wire):
    root: str
    path: str
    file_name: str = Field(alias="file_name")
    score: U32
    indices: list[U32] | None = None


class FuzzyFileSearchResponse(Wire):
    files: list[FuzzyFileSearchResult]


class FuzzyFileSearchSessionCompletedNotification(Wire):
    session_id: str


class FuzzyFileSearchSessionStartParams(Params):
    session_id: str
    roots: list[str]


class FuzzyFileSearchSessionStartResponse(Wire):
    pass


class FuzzyFileSearchSessionStopParams(Params):
    session_id: str


class FuzzyFileSearchSessionStopResponse(Wire):
    pass


class FuzzyFileSearchSessionUpdateParams(Params):
    session_id: str
    query: str


class FuzzyFileSearchSessionUpdateResponse(Wire):
    pass


class FuzzyFileSearchSessionUpdatedNotification(Wire):
    session_id: str
    query: str
    files: list[FuzzyFileSearchResult]
