"""An MCP server on loopback, well-behaved or not.

Owns the server's side of the streamable HTTP transport, on a thread; what it was sent can be looked at.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SESSION = "session-1"
Json = dict[str, Any]


@dataclass
class McpHttp:
    """`fault` says how it misbehaves, `fault_at` when. All that it got is in `requests`: method, headers, message."""

    fault: str = ""
    fault_at: str = "tools/call"
    as_events: bool = False
    token: str | None = None
    metadata_at: str | None = None
    """The path at which it tells how to log in."""
    requests: list[tuple[str, dict[str, str], Json]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def heard(self) -> list[str]:
        """HTTP methods and those of the messages, in order; without streams that were asked for."""
        return [f"{verb} {message.get('method', '')}".strip() for verb, _, message in self.requests if verb != "GET"]

    def result(self, message: Json) -> Json:
        method, params = message["method"], message.get("params") or {}
        if method == "initialize":
            version = params["protocolVersion"]
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "w"}}
        if method == "tools/list":
            return {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
        if method == "tools/call":
            return {"content": [{"type": "text", "text": f"got {params['arguments'].get('x')}"}]}
        return {"resources": [], "resourceTemplates": []}


@contextmanager
def serve_mcp(**settings: Any) -> Iterator[McpHttp]:
    told = McpHttp(**settings)

    class Handler(_Handler):
        server_told = told

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_port}/mcp"
    try:
        yield told
    finally:
        told.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server_told: McpHttp
    protocol_version = "HTTP/1.1"

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Tests are quiet."""

    def do_POST(self) -> None:
        told = self.server_told
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self._note("POST", message)
        if told.token is not None and self.headers.get("authorization") != f"Bearer {told.token}":
            self._reply(401, b"", "text/plain")
        elif "id" not in message or "method" not in message:
            self._reply(202, b"", None)
        elif told.fault and message["method"] == told.fault_at:
            self._misbehave()
        else:
            self._answer(message)

    def _answer(self, message: Json) -> None:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": self.server_told.result(message)}
        if not self.server_told.as_events:
            self._reply(200, json.dumps(answer).encode(), "application/json")
            return
        asked = {"jsonrpc": "2.0", "id": "q1", "method": "ping"}
        notice = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}
        events = [f"event: message\ndata: {json.dumps(each)}\n\n" for each in (notice, asked, answer)]
        self._reply(200, (": hi\n\ndata: junk\n\n" + "".join(events)).encode(), "text/event-stream")

    def _misbehave(self) -> None:
        fault = self.server_told.fault
        if fault == "status":
            self._reply(500, b"out of order", "text/plain")
        elif fault == "echo":
            self._reply(400, str(self.headers).encode(), "text/plain")
        elif fault == "expired":
            self._reply(404, b"", "text/plain")
        elif fault == "cut":
            self._reply(200, b"data: {}\n\n", "text/event-stream")
        elif fault == "page":
            self._reply(200, b"<html>", "text/html")
        elif fault == "huge":
            self._reply(200, b'"' + b"x" * (33 << 20) + b'"', "application/json")
        elif fault == "hangs":
            self.server_told.released.wait()

    def do_GET(self) -> None:
        self._note("GET", {})
        told = self.server_told
        if told.metadata_at is not None and self.path == told.metadata_at:
            base = told.url.rpartition("/")[0]
            metadata = {"authorization_endpoint": f"{base}/authorize", "token_endpoint": f"{base}/token"}
            self._reply(200, json.dumps(metadata).encode(), "application/json")
        else:
            self._reply(405 if self.path == "/mcp" else 404, b"", None)

    def do_DELETE(self) -> None:
        self._note("DELETE", {})
        self._reply(200, b"", None)

    def _note(self, verb: str, message: Json) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server_told.requests.append((verb, {**headers, ":path": self.path}, message))

    def _reply(self, status: int, body: bytes, kind: str | None) -> None:
        self.send_response(status)
        if kind is not None:
            self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.send_header("mcp-session-id", SESSION)
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            # Whoever asked does not want to hear it any more.
            self.close_connection = True
