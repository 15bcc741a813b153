"""What each request tells the provider about the turn, besides the conversation.

Owns the header value: the turn's id, the state of the repository, the kind of sandbox. Reads the repository's files
once a turn, before the first request; runs no program.
"""

from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.workspace.git import git_facts, sandbox_tag, turn_metadata


class TurnMetadata:
    def __init__(self, turn: TurnContext) -> None:
        self._turn = turn
        self._header: str | None = None

    def header(self) -> str:
        if self._header is None:
            sandbox = sandbox_tag(self._turn.permissions)
            self._header = turn_metadata(self._turn.turn_id, git_facts(self._turn.cwd), sandbox)
        return self._header
