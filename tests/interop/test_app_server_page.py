"""The page for writers of clients is true: its conversation is had with a real server."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pycodex.supervisor.frontends.app_server.client_commands import MAX_COMMANDS
from pycodex.supervisor.frontends.app_server.connection import MAX_UNDER_WAY, MAX_WAITING_REQUESTS
from pycodex.supervisor.frontends.app_server.methods.turns import MAX_INPUT_CHARS
from pycodex.supervisor.frontends.app_server.outgoing import MAX_WAITING, MAX_WAITING_BYTES
from pycodex.supervisor.frontends.app_server.transport import MAX_MESSAGE_BYTES
from pycodex.supervisor.model.scripted import Reply, say, serve_script
from support.app_server_runs import running_app_server
from support.engine import Place, run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "app-server.md"
MIB = 1 << 20
ESCALATED = {"sandbox_permissions": "require_escalated", "justification": "May I make a file?"}


def transcript() -> Iterator[tuple[str, Any]]:
    """Who speaks, `>` or `<`, and the message."""
    for block in re.findall(r"```transcript\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        for speaker, text in re.findall(r"^([<>]) (.*(?:\n    .*)*)", block, re.MULTILINE):
            yield speaker, json.loads(text)


class Names:
    """What stands for the names that differ from run to run."""

    def __init__(self, **known: str) -> None:
        self._known = {f"<{name}>": value for name, value in known.items()}

    def filled_in(self, shown: Any) -> Any:
        text = json.dumps(shown)
        for name, value in self._known.items():
            text = text.replace(name, value)
        return json.loads(text)

    def check(self, shown: Any, heard: Any) -> None:
        """Everything that is shown was heard; the rest is left out of the page."""
        match shown:
            case dict():
                assert shown.keys() <= heard.keys(), (shown, heard)
                for name, value in shown.items():
                    self.check(value, heard[name])
            case list():
                assert len(shown) == len(heard), (shown, heard)
                for one, other in zip(shown, heard, strict=True):
                    self.check(one, other)
            case str() if re.fullmatch(r"<\w+>", shown):
                assert self._known.setdefault(shown, heard) == heard
            case _:
                assert shown == heard


async def test_conversation_goes_as_the_page_says(place: Place) -> None:
    script = [
        Reply(parts=run("touch made", "call_1", **ESCALATED)),
        Reply(parts=say("It is made.", pieces=2)),
    ]
    names = Names(workspace=str(place.workspace))
    async with serve_script(script) as model:
        place.point_at(model.base_url)
        async with running_app_server(place) as server:
            for speaker, shown in transcript():
                if speaker == ">":
                    await server.client.send(names.filled_in(shown))
                else:
                    names.check(shown, await server.client.hear())
    assert (place.workspace / "made").exists()


def test_limits_are_those_of_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for text in (
        f"| one message to the server | {MAX_MESSAGE_BYTES // MIB} MiB |",
        f"| requests that wait, of one client | {MAX_WAITING_REQUESTS} |",
        f"| requests that take long, under way, of one client | {MAX_UNDER_WAY} |",
        f"| text of one turn | {MAX_INPUT_CHARS:,} characters |",
        f"| messages that wait for a client | {MAX_WAITING:,}, or {MAX_WAITING_BYTES // MIB} MiB |",
        f"| `command/exec` at a time, of one client | {MAX_COMMANDS} |",
    ):
        assert text in page
