"""Whoever gives out ChatGPT logins, and what they open: an issuer, its model and its usage page, on loopback.

Owns the server, the tokens that are good at the moment, and a browser that does what a person would. Knows nothing of
what is tested with it.
"""

import base64
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import trio

from pycodex.supervisor.model.scripted import SIZED, Reply, Request, ScriptedServer, refuse, say, serve_script

Json = dict[str, Any]

ACCOUNT = "acct-1"
EMAIL = "ada@example.com"
CODE = "code-secret"
API_KEY = "sk-exchanged-secret"
OLD = "2020-01-01T00:00:00Z"
RECENT = "2999-01-01T00:00:00Z"
USAGE: Json = {
    "plan_type": "plus",
    "rate_limit": {"primary_window": {"used_percent": 42, "limit_window_seconds": 301, "reset_at": 123}},
    "credits": {"has_credits": True, "unlimited": False, "balance": "5"},
    "additional_rate_limits": [
        {
            "limit_name": "Other",
            "metered_feature": "codex_other",
            "rate_limit": {"secondary_window": {"used_percent": 7, "limit_window_seconds": 3600, "reset_at": 456}},
        }
    ],
}


def jwt(account_id: str | None = ACCOUNT, *, plan: str = "plus", mark: str = "secret") -> str:
    """An identity token; `mark` makes it another one."""
    auth = {"chatgpt_plan_type": plan, "chatgpt_account_id": account_id}
    claims = {"email": EMAIL, "https://api.openai.com/auth": auth, "mark": mark}
    parts = (json.dumps({"alg": "none"}), json.dumps(claims), mark)
    return ".".join(base64.urlsafe_b64encode(part.encode()).rstrip(b"=").decode() for part in parts)


def stored_login(access: str = "at-0-secret", refresh: str = "rt-0-secret", **changes: Any) -> Json:
    """What a login leaves behind."""
    tokens = {"id_token": jwt(), "access_token": access, "refresh_token": refresh, "account_id": ACCOUNT}
    return {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": tokens, "last_refresh": RECENT, **changes}


def store(home: Path, document: Json) -> Path:
    path = home / "auth.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def answered(content: Any, status: int = 200) -> Reply:
    return Reply(status=status, body=json.dumps(content).encode(), framing=SIZED)


@dataclass
class Issuer:
    """Answers by what it holds; a test changes that, or the answers themselves in `instead`, by path."""

    server: ScriptedServer = field(init=False)
    access: str = "at-0-secret"
    """The only token that opens anything."""
    refresh: str = "rt-0-secret"
    """Good for one use."""
    account: str | None = ACCOUNT
    challenge: str = ""
    renewals: int = 0
    polls_before_grant: int = 0
    instead: dict[str, Callable[[Request], Reply]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return self.server.base_url.removesuffix("/v1")

    @property
    def model_url(self) -> str:
        return self.server.base_url

    @property
    def env(self) -> dict[str, str]:
        """For a program that shall know this issuer and no other."""
        return {
            "CODEX_APP_SERVER_LOGIN_ISSUER": self.url,
            "CODEX_REFRESH_TOKEN_URL_OVERRIDE": f"{self.url}/oauth/token",
        }

    def asked(self, path: str) -> list[Request]:
        return [request for request in self.server.requests if request.path.partition("?")[0] == path]

    def reply(self, request: Request) -> Reply:
        path = request.path.partition("?")[0]
        if path in self.instead:
            return self.instead[path](request)
        match path:
            case "/oauth/token":
                return self._tokens(request)
            case "/api/accounts/deviceauth/usercode":
                return answered({"device_auth_id": "device-secret", "user_code": "ABCD-1234", "interval": "0"})
            case "/api/accounts/deviceauth/token":
                return self._grant()
            case "/v1/responses":
                return Reply(parts=say("done")) if self._knows(request) else refuse(401, "token expired")
            case "/backend-api/wham/usage":
                return answered(USAGE) if self._knows(request) else refuse(401, "token expired")
        return refuse(404, "nothing here")

    def _knows(self, request: Request) -> bool:
        is_good = request.headers.get("authorization") == f"Bearer {self.access}"
        return is_good and request.headers.get("chatgpt-account-id") == self.account

    def _tokens(self, request: Request) -> Reply:
        if request.headers["content-type"] == "application/json":
            return self._renewed(request.body)
        fields = {name: values[0] for name, values in parse_qs(request.raw.decode()).items()}
        if fields["grant_type"] != "authorization_code":
            return (
                answered({"access_token": API_KEY})
                if fields["requested_token"] == "openai-api-key"
                else refuse(400, "")
            )
        proof = (
            base64.urlsafe_b64encode(hashlib.sha256(fields["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        )
        if fields["code"] != CODE or (self.challenge and proof != self.challenge):
            return answered({"error": "invalid_grant", "error_description": f"bad code {fields['code']}"}, 400)
        return answered({"id_token": jwt(self.account), "access_token": self.access, "refresh_token": self.refresh})

    def _renewed(self, body: Json) -> Reply:
        if body["refresh_token"] != self.refresh:
            return answered({"error": {"code": "refresh_token_reused"}}, 401)
        self.renewals += 1
        self.access, self.refresh = f"at-{self.renewals}-secret", f"rt-{self.renewals}-secret"
        return answered({"access_token": self.access, "refresh_token": self.refresh})

    def _grant(self) -> Reply:
        if self.polls_before_grant:
            self.polls_before_grant -= 1
            return refuse(403, "not yet")
        return answered({"authorization_code": CODE, "code_challenge": "c", "code_verifier": "v"})


@asynccontextmanager
async def open_issuer() -> AsyncIterator[Issuer]:
    issuer = Issuer()
    async with serve_script(issuer.reply) as issuer.server:
        yield issuer


# The browser


@dataclass(frozen=True)
class Seen:
    status: int
    headers: dict[str, str]
    text: str


async def visit(url: str, **headers: str) -> Seen:
    """Get a page as a browser would, but go nowhere else."""
    parts = urlsplit(url)
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    lines = [f"GET {target} HTTP/1.1", f"Host: {parts.netloc}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    async with await trio.open_tcp_stream("127.0.0.1", parts.port or 80) as stream:
        await stream.send_all("\r\n".join((*lines, "", "")).encode())
        data = b"".join([bytes(piece) async for piece in stream])
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    found = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    return Seen(int(first.split(" ")[1]), found, body.decode())


def asked_of(auth_url: str) -> dict[str, str]:
    """The parameters that the person is sent to the issuer with."""
    return {name: values[0] for name, values in parse_qs(urlsplit(auth_url).query).items()}


def callback(auth_url: str, **fields: str) -> str:
    """Where the issuer sends the browser back to."""
    asked = asked_of(auth_url)
    query = "&".join(f"{name}={value}" for name, value in {"state": asked["state"], **fields}.items())
    return f"{asked['redirect_uri']}?{query}"


async def sign_in(issuer: Issuer, auth_url: str) -> Seen:
    """What a person does who is sent there; gives the last page."""
    issuer.challenge = asked_of(auth_url)["code_challenge"]
    seen = await visit(callback(auth_url, code=CODE))
    return await visit(seen.headers["location"]) if seen.status == 302 else seen
