"""Logging in with a browser: the person signs in with the issuer, who sends the browser back to us with a code.

Owns the sequence and what the browser is shown. No secret is put into an address or a page.
"""

import hmac
import html
from collections.abc import Callable
from urllib.parse import parse_qsl

import trio

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.http_head import Head
from pycodex.supervisor.auth.callback_server import PORT, Page, bind, serve_visits
from pycodex.supervisor.auth.chatgpt_login import LoginTerms, check_workspace, document_of_tokens
from pycodex.supervisor.auth.oauth import Authorization, LoginFailed, api_key_for, new_pkce, tokens_for_code, url_safe

_CALLBACK = "/auth/callback"
_SUCCESS = "/success"
_PAGE_S = 5.0
"""How long the browser may take to fetch the last page; the login counts either way."""
_STATE_BYTES = 32
_MOST_SHOWN = 500
_MOST_FIELDS = 100

_HTML = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>pycodex</title></head>
<body><h1>{title}</h1><p>{text}</p></body></html>
"""


async def browser_login(terms: LoginTerms, ready: Callable[[str, int], None], *, port: int = PORT) -> None:
    """Until it has come about; whoever must not wait for ever cancels it. `ready` is told where to send the person, and
    the port. Raises LoginFailed or other UserFacing errors."""
    listener = await bind(port)
    async with listener:
        attempt = _Attempt(terms, listener.socket.getsockname()[1])
        ready(attempt.url, attempt.port)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve_visits, listener, attempt.visit)
            await attempt.decided.wait()
            with trio.move_on_after(_PAGE_S):
                await attempt.shown.wait()
            nursery.cancel_scope.cancel()
    if attempt.failure is not None:
        raise attempt.failure


class _Attempt:
    def __init__(self, terms: LoginTerms, port: int) -> None:
        import os

        self.port = port
        self.decided = trio.Event()
        self.shown = trio.Event()
        """The browser has got the page that tells how it ended."""
        self.failure: UserFacing | None = None
        self._terms = terms
        self._pkce = new_pkce()
        self._state = url_safe(os.urandom(_STATE_BYTES))
        self._redirect_uri = f"http://localhost:{port}{_CALLBACK}"
        self._exchanging = trio.Lock()

    @property
    def url(self) -> str:
        return Authorization(
            issuer=self._terms.issuer,
            redirect_uri=self._redirect_uri,
            challenge=self._pkce.challenge,
            state=self._state,
            originator=self._terms.originator,
            workspace=self._terms.workspace,
        ).url

    async def visit(self, head: Head) -> Page:
        match head.path:
            case "/auth/callback":
                try:
                    fields = dict(parse_qsl(head.query, max_num_fields=_MOST_FIELDS))
                except ValueError:
                    return Page(status=400, text="Bad Request")
                return await self._callback(fields)
            case "/success" if self.decided.is_set() and self.failure is None:
                text = "You are logged in. You can close this page."
                return Page(text=_page("Logged in", text), is_html=True, then=self.shown.set)
            case "/cancel":
                return self._cancel(head)
        return Page(status=404, text="Not Found")

    def _cancel(self, head: Head) -> Page:
        """Another login wants the port. No web page may ask for that: browsers say who asks."""
        if "origin" in head.headers or "sec-fetch-site" in head.headers:
            return Page(status=403, text="Forbidden")
        self._fail(LoginFailed("Login cancelled"))
        return Page(text="Login cancelled", then=self.shown.set)

    async def _callback(self, fields: dict[str, str]) -> Page:
        if not hmac.compare_digest(fields.get("state", "").encode(), self._state.encode()):
            return Page(status=400, text="State mismatch")
        async with self._exchanging:
            if not self.decided.is_set():
                try:
                    await self._log_in(fields)
                except UserFacing as error:
                    self._fail(error)
                else:
                    self.decided.set()
        if self.failure is None:
            return Page(status=302, location=f"http://localhost:{self.port}{_SUCCESS}")
        text = f"{str(self.failure)[:_MOST_SHOWN]} Go back to where you started, and try again."
        return Page(text=_page("The login did not come about", text), is_html=True, then=self.shown.set)

    async def _log_in(self, fields: dict[str, str]) -> None:
        if "error" in fields:
            raise LoginFailed(_told_error(fields["error"], fields.get("error_description", "")))
        if not fields.get("code"):
            raise LoginFailed("Missing authorization code. Sign-in could not be completed.")
        terms = self._terms
        try:
            tokens = await tokens_for_code(
                terms.send,
                terms.issuer,
                code=fields["code"],
                redirect_uri=self._redirect_uri,
                verifier=self._pkce.verifier,
            )
        except UserFacing as error:
            raise LoginFailed(f"Token exchange failed: {error}") from error
        check_workspace(terms, tokens)
        key = await api_key_for(terms.send, terms.issuer, tokens.id_token or "")
        await terms.keep(document_of_tokens(tokens, key))

    def _fail(self, error: UserFacing) -> None:
        if not self.decided.is_set():
            self.failure = error
            self.decided.set()


def _told_error(code: str, description: str) -> str:
    if code == "access_denied" and "missing_codex_entitlement" in description.lower():
        return (
            "Codex is not enabled for your workspace. Contact your workspace administrator to request access to Codex."
        )
    return f"Sign-in failed: {' '.join((description.strip() or code).split())[:_MOST_SHOWN]}"


def _page(title: str, text: str) -> str:
    return _HTML.format(title=html.escape(title), text=html.escape(text))
