"""Tokens that a client keeps and lends: asking it for newer ones.

Owns who is asked, how long it may take, and what an answer must hold. The tokens stay in memory.
"""

from typing import TYPE_CHECKING

import trio

from pycodex.protocol.jsonrpc import Failure, Response
from pycodex.supervisor.auth.auth_file import StoredLogin
from pycodex.supervisor.auth.chatgpt_login import external_login
from pycodex.supervisor.auth.grants import LoginFailed, RefreshFailed
from pycodex.supervisor.frontends.app_server.telling import Question

if TYPE_CHECKING:
    from pycodex.supervisor.frontends.app_server.connection import Connection
    from pycodex.supervisor.frontends.app_server.questions import Asked
    from pycodex.supervisor.frontends.app_server.server import AppServer

REFRESH = "account/chatgptAuthTokens/refresh"
PATIENCE_S = 10.0
_MOST_TOLD = 500


class ClientTokens:
    """Lent by one connection. Others are asked only if that one is gone."""

    def __init__(self, server: "AppServer", lender: "Connection", workspace: str | None) -> None:
        self._server = server
        self._lender = lender
        self._workspace = workspace

    async def ask(self, account_id: str | None) -> StoredLogin:
        """Newer tokens than those of this account. Raises RefreshFailed."""
        connections = self._server.connections
        asked = (
            [self._lender] if self._lender in connections else [each for each in connections if each.is_experimental]
        )
        waiting = _Waiting(dict.fromkeys(asked))
        params = {"reason": "unauthorized", "previousAccountId": account_id}
        question = Question(method=REFRESH, params=params, call_id="", waits_on=None)
        message = self._server.questions.ask(question, waiting).message()
        try:
            for connection in asked:
                connection.send(message)
            with trio.move_on_after(PATIENCE_S):
                await waiting.come.wait()
        finally:
            self._server.questions.withdraw(waiting)
        return self._login_in(waiting.answer)

    def _login_in(self, answer: Response | Failure | None) -> StoredLogin:
        if answer is None:
            raise RefreshFailed(f"auth refresh request timed out after {PATIENCE_S:g}s")
        if isinstance(answer, Failure):
            code, reason = answer.error.get("code"), str(answer.error.get("message"))[:_MOST_TOLD]
            raise RefreshFailed(f"auth refresh request failed: code={code} message={reason}")
        match answer.result:
            case {"accessToken": str(token), "chatgptAccountId": str(account_id), **rest}:
                plan = rest.get("chatgptPlanType")
            case _:
                raise RefreshFailed("auth refresh request failed: the answer holds no accessToken and chatgptAccountId")
        if self._workspace is not None and account_id != self._workspace:
            found, wanted = _quoted(account_id), _quoted(self._workspace)
            raise RefreshFailed(f"external auth refresh returned workspace {found}, expected {wanted}")
        try:
            return external_login(token, account_id, plan if isinstance(plan, str) else None)
        except LoginFailed as error:
            raise RefreshFailed(f"auth refresh request failed: {error}") from error


class _Waiting:
    """For the first answer of those who were asked."""

    def __init__(self, followers: "dict[Connection, None]") -> None:
        self.followers = followers
        self.come = trio.Event()
        self.answer: Response | Failure | None = None

    async def answered(self, asked: "Asked", message: Response | Failure) -> None:
        del asked
        self.answer = message
        self.come.set()


def _quoted(text: str) -> str:
    import json

    return json.dumps(text)
