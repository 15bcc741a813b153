"""What a session has to do with its MCP servers besides calling their tools.

Owns how their start is told, and how a question of a server reaches the person and comes back. What may be asked
follows from the thread's settings at that moment.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pycodex.protocol.events.mcp import ElicitationRequest, McpStartupComplete, McpStartupUpdate
from pycodex.protocol.ids import new_turn_id
from pycodex.supervisor.config.mcp_servers import McpServer
from pycodex.supervisor.mcp.client import DECLINED
from pycodex.supervisor.mcp.connections import CANCELLED, FAILED, READY, McpConnections, StartState
from pycodex.supervisor.mcp.failures import McpFailure, RpcFailure
from pycodex.supervisor.mcp.logins import McpLogins
from pycodex.supervisor.mcp.peer import INVALID_PARAMS
from pycodex.supervisor.policy.mcp_tools import may_elicit
from pycodex.supervisor.session.opening import NotBegun
from pycodex.supervisor.session.state import ThreadState
from pycodex.supervisor.tools.tool import Unanswered

_ACTIONS = ("accept", "decline", "cancel")

Json = dict[str, Any]


def connections_of(
    state: ThreadState,
    *,
    start_soon: Callable[..., None],
    turn_id: Callable[[], str | None],
    logins: McpLogins,
) -> McpConnections:
    """None is open yet."""
    desk = _Desk(state, turn_id)
    return McpConnections(
        env=logins.env, start_soon=start_soon, tell=desk.tell, tell_all=desk.tell_all, elicit=desk.elicit, logins=logins
    )


async def open_first(connections: McpConnections, servers: Mapping[str, McpServer]) -> None:
    """All of them on their way; only those that are required are waited for. Raises NotBegun if one fails."""
    connections.open(servers)
    try:
        await connections.check_required()
    except McpFailure as failure:
        raise NotBegun(f"Failed to initialize session: {failure}") from None


class _Desk:
    def __init__(self, state: ThreadState, turn_id: Callable[[], str | None]) -> None:
        self._state = state
        self._turn_id = turn_id

    def tell(self, start: StartState) -> None:
        status: Json = {"state": start.state, **({"error": start.error} if start.error is not None else {})}
        self._state.journal.tell(McpStartupUpdate(server=start.server, status=status))

    def tell_all(self, starts: list[StartState]) -> None:
        self._state.journal.tell(
            McpStartupComplete(
                ready=tuple(start.server for start in starts if start.state == READY),
                failed=tuple(
                    {"server": start.server, "error": start.cause} for start in starts if start.state == FAILED
                ),
                cancelled=tuple(start.server for start in starts if start.state == CANCELLED),
            )
        )

    async def elicit(self, server: str, params: Json) -> Json:
        """Puts a server's question to the person, unless nobody may be asked."""
        request = _request(params)
        if not may_elicit(self._state.settings.approval_policy):
            return DECLINED
        asked = ElicitationRequest(turn_id=self._turn_id(), server_name=server, id=new_turn_id(), request=request)
        try:
            answer = await self._state.pending.answer_to(asked.id, lambda: self._state.journal.tell(asked))
        except Unanswered:
            answer = None
        return _relayed(answer)


def _request(params: Json) -> Json:
    """What is asked, in its two forms. Raises RpcFailure for what is neither."""
    message, schema = params.get("message"), params.get("requestedSchema")
    url, elicitation_id = params.get("url"), params.get("elicitationId")
    told: Json = {"_meta": params.get("_meta"), "message": message}
    if isinstance(message, str) and params.get("mode") == "url" and isinstance(url, str):
        if isinstance(elicitation_id, str):
            return {"mode": "url", **told, "url": url, "elicitationId": elicitation_id}
    elif isinstance(message, str) and isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
        return {"mode": "form", **told, "requestedSchema": schema}
    raise RpcFailure(INVALID_PARAMS, "neither a form nor an address to visit")


def _relayed(answer: object) -> Json:
    """As the person gave it; whatever is no answer ends the question."""
    action = answer.get("action") if isinstance(answer, dict) else None
    if not isinstance(answer, dict) or action not in _ACTIONS:
        return {"action": "cancel"}
    content = answer.get("content")
    return {"action": action, **({"content": content} if action == "accept" and content is not None else {})}
