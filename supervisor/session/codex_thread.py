"""A thread as front-ends hold it.

Owns what they may do with one; everything else of a session is its own affair.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pycodex.protocol.events.union import AnyEvent
from pycodex.protocol.ops import Op, UserTurn
from pycodex.protocol.user_input import UserInput
from pycodex.supervisor.session.outbox import Outbox
from pycodex.supervisor.session.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pycodex.supervisor.config.mcp_servers import McpServer
    from pycodex.supervisor.mcp.connections import McpConnections
    from pycodex.supervisor.mcp.logins import McpLogins


class CodexThread:
    """A front-end's handle: wishes in, events out. The first event is SessionConfigured."""

    def __init__(
        self, session: Session, outbox: Outbox, *, rollout_path: str | None, works_for_another: bool = False
    ) -> None:
        self.thread_id = session.state.thread_id
        self.rollout_path = rollout_path
        self.works_for_another = works_for_another
        self._session = session
        self._outbox = outbox

    async def submit(self, op: Op) -> str:
        """Gives the id of the turn that the wish starts, if it starts one."""
        return await self._session.submit(op)

    async def begin(self, wish: UserTurn) -> str:
        """Gives the id of the turn that it starts, or of the running one that it joins."""
        return await self._session.begin(wish)

    async def next_event(self) -> AnyEvent:
        """Raises OutboxClosed after the last one."""
        return await self._outbox.get()

    async def shut_down(self) -> None:
        """End it in good order, and see it end."""
        self.close()
        await self.ended()

    def close(self) -> None:
        """Let it end in good order, behind all that was wished so far."""
        self._session.close()

    async def ended(self) -> None:
        """Until nothing of it is left."""
        await self._session.over.wait()

    def use_mcp_servers(self, servers: "Mapping[str, McpServer]", logins: "McpLogins") -> None:
        """Other MCP servers from the next turn on."""
        self._session.use_servers(servers, logins)

    @property
    def mcp(self) -> "McpConnections | None":
        """Its MCP servers, for calls that no model has asked for."""
        return self._session.state.tools.mcp

    def steer_input(
        self, inputs: Sequence[UserInput], *, expected_turn_id: str | None = None, client_id: str | None = None
    ) -> str:
        """Add to the running turn; gives its id. Raises UserFacing if there is none, or another one."""
        return self._session.steer(inputs, expected_turn_id=expected_turn_id, client_id=client_id)
