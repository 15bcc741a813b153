"""An MCP server that wants a login, and whoever gives it out: both on loopback, and in one place unless told otherwise.

Owns the servers' side of OAuth, the tokens that are good at the moment, and what was asked. Knows nothing of what is
tested with it. The browser is that of `issuer`.
"""

import base64
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from pycodex.supervisor.model.scripted import SIZED, Reply, Request, ScriptedServer, serve_script
from support.issuer import Seen, asked_of, callback, visit

Json = dict[str, Any]

CODE = "mcp-code-secret"
CLIENT_ID = "client-1"
WELL_KNOWN = "/.well-known/oauth-authorization-server"


def answered(content: Any, status: int = 200) -> Reply:
    headers = {"content-type": "application/json"}
    return Reply(status=status, headers=headers, body=json.dumps(content).encode(), framing=SIZED)


@dataclass
class McpLogin:
    """Answers by what it holds; a test changes that, or the answers themselves in `instead`, by path."""

    server: ScriptedServer = field(init=False)
    access: str = "mcp-at-0-secret"
    """The only token that opens anything."""
    refresh: str = "mcp-rt-0-secret"
    """Good for one use."""
    expires_in: int | None = 3600
    challenge: str = ""
    renewals: int = 0
    metadata: Json = field(default_factory=dict)
    """What is told otherwise than usual; None leaves it out."""
    instead: dict[str, Callable[[Request], Reply]] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return self.server.base_url.removesuffix("/v1")

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    def table(self, name: str = "web", more: str = "") -> str:
        """As text of a config.toml."""
        return f'[mcp_servers.{name}]\nurl = "{self.url}"\n{more}\n'

    def asked(self, path: str) -> list[Request]:
        return [request for request in self.server.requests if request.path.partition("?")[0] == path]

    def granted(self) -> list[dict[str, str]]:
        """What came with each request for tokens."""
        return [fields_of(request) for request in self.asked("/token")]

    def bearers(self) -> list[str | None]:
        """What came with each message to the MCP server."""
        return [request.headers.get("authorization") for request in self.asked("/mcp")]

    def reply(self, request: Request) -> Reply:
        path = request.path.partition("?")[0]
        if path in self.instead:
            return self.instead[path](request)
        match path:
            case "/.well-known/oauth-authorization-server/mcp":
                return answered({name: value for name, value in self._told().items() if value is not None})
            case "/register":
                return answered({"client_id": CLIENT_ID, "redirect_uris": request.body["redirect_uris"]}, 201)
            case "/token":
                return self._tokens(fields_of(request))
            case "/mcp":
                return self._message(request)
        return answered({}, 404)

    def _told(self) -> Json:
        return {
            "issuer": self.origin,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "registration_endpoint": f"{self.origin}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            **self.metadata,
        }

    def _tokens(self, fields: dict[str, str]) -> Reply:
        if fields["grant_type"] == "refresh_token":
            if fields["refresh_token"] != self.refresh:
                return answered({"error": "invalid_grant", "error_description": fields["refresh_token"]}, 400)
            self.renewals += 1
            self.access, self.refresh = f"mcp-at-{self.renewals}-secret", f"mcp-rt-{self.renewals}-secret"
        else:
            digest = hashlib.sha256(fields["code_verifier"].encode()).digest()
            proof = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            if fields["code"] != CODE or proof != self.challenge:
                return answered({"error": "invalid_grant", "error_description": f"bad code {fields['code']}"}, 400)
        given: Json = {"access_token": self.access, "token_type": "Bearer", "refresh_token": self.refresh}
        return answered(given if self.expires_in is None else {**given, "expires_in": self.expires_in})

    def _message(self, request: Request) -> Reply:
        if request.headers.get("authorization") != f"Bearer {self.access}":
            return answered({}, 401)
        if request.method != "POST":
            return answered({}, 405)
        message = request.body
        if "id" not in message:
            return Reply(status=202, body=b"", framing=SIZED)
        return answered({"jsonrpc": "2.0", "id": message["id"], "result": _result(message)})


def _result(message: Json) -> Json:
    match message["method"]:
        case "initialize":
            version = message["params"]["protocolVersion"]
            return {
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "w", "version": "1"},
            }
        case "tools/list":
            return {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
        case "tools/call":
            return {"content": [{"type": "text", "text": "called"}]}
    return {"resources": [], "resourceTemplates": []}


def fields_of(request: Request) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(request.raw.decode()).items()}


@asynccontextmanager
async def open_mcp_login(**settings: Any) -> AsyncIterator[McpLogin]:
    login = McpLogin(**settings)
    async with serve_script(login.reply) as login.server:
        yield login


async def authorize(login: McpLogin, authorization_url: str, **fields: str) -> Seen:
    """What a person does who is sent there; gives the page that the browser ends on."""
    login.challenge = asked_of(authorization_url)["code_challenge"]
    return await visit(callback(authorization_url, **(fields or {"code": CODE})), connection="close")


def stored(path: Any) -> Json:
    told: Json = json.loads(path.read_text(encoding="utf-8"))
    return told
