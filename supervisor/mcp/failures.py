"""What can go wrong with an MCP server, in words for people and models.

Owns the kinds of failure and their texts. What follows from one is decided by whoever asked.
"""

MOST_TOLD_CHARS = 4096
"""Of what a server says about its own failures."""


class McpFailure(Exception):
    """The text is complete: nothing of it needs to be looked up."""


class ConnectionLost(McpFailure):
    """Nobody is at the other end, or no more."""

    def __init__(self, text: str = "Transport closed") -> None:
        super().__init__(text)


class TimedOut(McpFailure):
    def __init__(self, waiting: str, seconds: float) -> None:
        super().__init__(f"timed out {waiting} after {seconds:g}s")


class NotLoggedIn(McpFailure):
    """The server wants to know who we are."""


class RpcFailure(McpFailure):
    """The other side has answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        self.message = message[:MOST_TOLD_CHARS]
        super().__init__(f"Mcp error: {code}: {self.message}")

    @classmethod
    def of(cls, error: object) -> "RpcFailure":
        told = error if isinstance(error, dict) else {}
        code, message = told.get("code"), told.get("message")
        return cls(code if type(code) is int else -32603, message if isinstance(message, str) else "")
