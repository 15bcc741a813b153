"""Threads on disk: listing, reading, archiving, naming."""

from typing import Annotated, Literal

from pycodex.protocol.app.threads import Thread
from pycodex.protocol.app.wire import U32, Named, Newer, Params, Sparse, Wire

SortDirection = Annotated[Literal["asc", "desc"], Named("SortDirection")]

# Newer clients say `recency_at` for the time at which a thread was last worked on.
ThreadSortKey = Annotated[Literal["created_at", "updated_at", "recency_at"], Named("ThreadSortKey")]
# One directory in 0.116.
ThreadListCwdFilter = Annotated[str | list[str], Named("ThreadListCwdFilter")]


ThreadSourceKind = Annotated[
    Literal[
        "cli",
        "vscode",
        "exec",
        "appServer",
        "custom",
        "subAgent",
        "subAgentReview",
        "subAgentCompact",
        "subAgentThreadSpawn",
        "subAgentOther",
        "unknown",
    ],
    Named("ThreadSourceKind"),
]


class ThreadListParams(Params):
    cursor: str | None = None
    limit: U32 | None = None
    sort_key: ThreadSortKey | None = None
    model_providers: list[str] | None = None
    source_kinds: list[ThreadSourceKind] | None = None
    archived: bool | None = None
    cwd: ThreadListCwdFilter | None = None
    search_term: str | None = None
    sort_direction: Newer[SortDirection | None] = None


class ThreadListResponse(Wire):
    data: list[Thread]
    next_cursor: str | None = None
    backwards_cursor: Newer[str | None] = None


class ThreadLoadedListParams(Params):
    cursor: str | None = None
    limit: U32 | None = None


class ThreadLoadedListResponse(Wire):
    data: list[str]
    next_cursor: str | None = None


class ThreadReadParams(Params):
    thread_id: str
    include_turns: bool = False


class ThreadReadResponse(Wire):
    thread: Thread


class ThreadArchiveParams(Params):
    thread_id: str


class ThreadArchiveResponse(Wire):
    pass


class ThreadUnarchiveParams(Params):
    thread_id: str


class ThreadUnarchiveResponse(Wire):
    thread: Thread


class ThreadSetNameParams(Params):
    thread_id: str
    name: str


class ThreadSetNameResponse(Wire):
    pass


class ThreadMetadataGitInfoUpdateParams(Params):
    sha: Sparse[str | None] = None
    branch: Sparse[str | None] = None
    origin_url: Sparse[str | None] = None


class ThreadMetadataUpdateParams(Params):
    thread_id: str
    git_info: ThreadMetadataGitInfoUpdateParams | None = None


class ThreadMetadataUpdateResponse(Wire):
    thread: Thread


class ThreadArchivedNotification(Wire):
    thread_id: str


class ThreadUnarchivedNotification(Wire):
    thread_id: str


class ThreadNameUpdatedNotification(Wire):
    thread_id: str
    thread_name: Sparse[str | None] = None
