"""Logging in with a browser: the person signs in with the issuer, who sends the browser back to us with a code.

Owns the sequence for ChatGPT logins. How a browser comes back is `browser_return`'s business.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.browser_return import MOST_SHOWN, BrowserReturn
from pycodex.supervisor.auth.callback_server import PORT, bind
from pycodex.supervisor.auth.chatgpt_login import LoginTerms, check_workspace, document_of_tokens
from pycodex.supervisor.auth.grants import LoginFailed, Pkce, new_pkce
from pycodex.supervisor.auth.oauth import Authorization, api_key_for, tokens_for_code

_CALLBACK = "/auth/callback"


async def browser_login(terms: LoginTerms, ready: Callable[[str, int], None], *, port: int = PORT) -> None:
    """Until it has come about; whoever must not wait for ever cancels it. `ready` is told where to send the person, and
    the port. Raises LoginFailed or other UserFacing errors."""
    listener = await bind(port)
    async with listener:
        port = listener.socket.getsockname()[1]
        asked = _Asked(terms, new_pkce(), f"http://localhost:{port}{_CALLBACK}")
        back = BrowserReturn(path=_CALLBACK, take=asked.log_in, leads_on_to=f"http://localhost:{port}")
        ready(asked.url(back.state), port)
        await back.wait(listener)


@dataclass(frozen=True, slots=True)
class _Asked:
    terms: LoginTerms
    pkce: Pkce
    redirect_uri: str

    def url(self, state: str) -> str:
        return Authorization(
            issuer=self.terms.issuer,
            redirect_uri=self.redirect_uri,
            challenge=self.pkce.challenge,
            state=state,
            originator=self.terms.originator,
            workspace=self.terms.workspace,
        ).url

    async def log_in(self, fields: dict[str, str]) -> None:
        if "error" in fields:
            raise LoginFailed(_told_error(fields["error"], fields.get("error_description", "")))
        if not fields.get("code"):
            raise LoginFailed("Missing authorization code. Sign-in could not be completed.")
        terms = self.terms
        try:
            tokens = await tokens_for_code(
                terms.send,
                terms.issuer,
                code=fields["code"],
                redirect_uri=self.redirect_uri,
                verifier=self.pkce.verifier,
            )
        except UserFacing as error:
            raise LoginFailed(f"Token exchange failed: {error}") from error
        check_workspace(terms, tokens)
        key = await api_key_for(terms.send, terms.issuer, tokens.id_token or "")
        await terms.keep(document_of_tokens(tokens, key))


def _told_error(code: str, description: str) -> str:
    if code == "access_denied" and "missing_codex_entitlement" in description.lower():
        return (
            "Codex is not enabled for your workspace. Contact your workspace administrator to request access to Codex."
        )
    return f"Sign-in failed: {' '.join((description.strip() or code).split())[:MOST_SHOWN]}"
