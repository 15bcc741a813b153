"""What a client is told of a thread."""

from typing import Annotated, Literal

from pydantic import Field

from pycodex.protocol.app.settings import ReasoningEffort
from pycodex.protocol.app.turns import Turn
from pycodex.protocol.app.wire import I32, I64, SNAKE, Inline, Keyed, Named, Newer, Variant, Wire

ThreadId = Annotated[str, Named("ThreadId")]


class GitInfo(Wire):
    sha: str | None = None
    branch: str | None = None
    origin_url: str | None = None


class ThreadSpawnSubAgentSourceBody(Inline):
    model_config = SNAKE

    parent_thread_id: ThreadId
    depth: I32
    agent_nickname: str | None = None
    agent_role: str | None = None


class ThreadSpawnSubAgentSource(Keyed):
    thread_spawn: ThreadSpawnSubAgentSourceBody = Field(alias="thread_spawn")


class OtherSubAgentSource(Keyed):
    other: str


SubAgentSource = Annotated[
    Literal["review", "compact"] | ThreadSpawnSubAgentSource | Literal["memory_consolidation"] | OtherSubAgentSource,
    Named("SubAgentSource"),
]


class CustomSessionSource(Keyed):
    custom: str


class SubAgentSessionSource(Keyed):
    sub_agent: SubAgentSource


SessionSource = Annotated[
    Literal["cli", "vscode", "exec", "appServer"] | CustomSessionSource | SubAgentSessionSource | Literal["unknown"],
    Named("SessionSource"),
]


ThreadActiveFlag = Annotated[Literal["waitingOnApproval", "waitingOnUserInput"], Named("ThreadActiveFlag")]


class NotLoadedThreadStatus(Variant):
    type: Literal["notLoaded"] = "notLoaded"


class IdleThreadStatus(Variant):
    type: Literal["idle"] = "idle"


class SystemErrorThreadStatus(Variant):
    type: Literal["systemError"] = "systemError"


class ActiveThreadStatus(Variant):
    type: Literal["active"] = "active"
    active_flags: list[ThreadActiveFlag]


ThreadStatus = Annotated[
    NotLoadedThreadStatus | IdleThreadStatus | SystemErrorThreadStatus | ActiveThreadStatus,
    Named("ThreadStatus"),
    Field(discriminator="type"),
]


class Thread(Wire):
    id: str
    preview: str
    ephemeral: bool
    model_provider: str
    created_at: I64
    updated_at: I64
    status: ThreadStatus
    path: str | None = None
    cwd: str
    cli_version: str
    source: SessionSource
    agent_nickname: str | None = None
    agent_role: str | None = None
    git_info: GitInfo | None = None
    name: str | None = None
    turns: list[Turn]
    session_id: Newer[str | None] = None
    forked_from_id: Newer[str | None] = None
    parent_thread_id: Newer[str | None] = None
    model: Newer[str | None] = None
    reasoning_effort: Newer[ReasoningEffort | None] = None
    recency_at: Newer[I64 | None] = None
    history_mode: Newer[str | None] = None
    originator: Newer[str | None] = None
    thread_source: Newer[str | None] = None
