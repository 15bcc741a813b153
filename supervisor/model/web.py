"""Short requests that are no model's: for logins and for what is left of an account.

Owns how much of an answer is read, and how long it may take. Takes and gives the values of `auth/web`.
"""

import trio

from pycodex.supervisor.auth.web import Send, Unreachable, WebAnswer, WebRequest
from pycodex.supervisor.model.headers import Identity
from pycodex.supervisor.net.http import Http, NetworkFailure

ANSWER_S = 20.0
_MOST_ANSWER_BYTES = 1 << 20


def sender(http: Http, identity: Identity) -> Send:
    """Asks as this program."""

    async def send(request: WebRequest) -> WebAnswer:
        headers = {"user-agent": identity.user_agent, "originator": identity.originator, **request.headers}
        place = f"error sending request for url ({request.url.partition('?')[0]})"
        with trio.move_on_after(ANSWER_S):
            try:
                if request.method == "GET":
                    answer = await http.get(request.url, list(headers.items()))
                else:
                    answer = await http.post(request.url, list(headers.items()), request.body)
                return WebAnswer(answer.status, await answer.text(most_bytes=_MOST_ANSWER_BYTES, seconds=ANSWER_S))
            except NetworkFailure as error:
                raise Unreachable(f"{place}: {error.reason}") from error
        raise Unreachable(f"{place}: no answer within {ANSWER_S:g} seconds")

    return send
