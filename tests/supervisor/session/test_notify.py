"""The user's program is told of a complete turn, on its own, and can do no harm to ours."""

import json
import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.items import input_image, input_text, message
from pycodex.supervisor.model.scripted import Reply, refuse, say
from pycodex.supervisor.session.notify import Notifier
from support.engine import Place, open_engine
from support.tool_calls import make_turn
from support.waiting import eventually

PROGRAM = """\
import json, os, sys
told = {
    "message": sys.argv[-1],
    "arguments": sys.argv[2:-1],
    "stdio": [os.readlink(f"/proc/self/fd/{fd}") for fd in (0, 1, 2)],
    "leads_session": os.getsid(0) == os.getpid(),
    "mark": os.environ.get("MARK"),
}
with open(sys.argv[1] + ".part", "w") as file:
    json.dump(told, file)
os.rename(sys.argv[1] + ".part", sys.argv[1])
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


@pytest.fixture
def told(tmp_path: Path) -> Path:
    return tmp_path / "told.json"


def environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "MARK": "mine"}


def awaited(path: Path) -> dict[str, Any]:
    eventually(path.exists, what="the program's report")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_program_gets_the_message_last_and_runs_on_its_own(program: str, told: Path) -> None:
    notifier = Notifier([sys.executable, program, str(told), "-x"], environment(), client="codex-exec")
    items = [
        message("developer", [input_text("rules")]),
        message("user", [input_text("<environment_context>\n</environment_context>")]),
        message("user", [input_text("héllo\n")]),
        message("assistant", [{"type": "output_text", "text": "Hi."}]),
        message("user", [input_text("<image>"), input_image("data:x"), input_text("</image>"), input_text("what?")]),
    ]
    notifier.turn_completed(make_turn("/ws"), items, last_message='It is "x".')
    found = awaited(told)
    assert found["message"] == (
        '{"type":"agent-turn-complete","thread-id":"thread-1","turn-id":"turn-1","cwd":"/ws","client":"codex-exec",'
        '"input-messages":["héllo\\n","what?"],"last-assistant-message":"It is \\"x\\"."}'
    )
    assert found["arguments"] == ["-x"]
    assert found["stdio"] == ["/dev/null"] * 3
    assert (found["leads_session"], found["mark"]) == (True, "mine")


def test_front_end_without_a_name_is_left_out(program: str, told: Path) -> None:
    Notifier([sys.executable, program, str(told)], environment(), client=None).turn_completed(
        make_turn(), [], last_message=None
    )
    message = json.loads(awaited(told)["message"])
    assert "client" not in message
    assert (message["input-messages"], message["last-assistant-message"]) == ([], None)


def test_text_that_is_no_unicode_is_told_as_far_as_it_can_be(program: str, told: Path) -> None:
    notifier = Notifier([sys.executable, program, str(told)], environment(), client=None)
    notifier.turn_completed(make_turn(), [], last_message="a\ud800b\0")
    assert json.loads(awaited(told)["message"])["last-assistant-message"] == "a?b\0"


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (("/nowhere/program",), ""),
        (("no-such-program-at-all",), ""),
        (("/",), ""),
        (("true", "nul\0"), ""),
        (("true",), "x" * (1 << 21)),
    ],
)
def test_program_that_cannot_be_run_is_logged(
    argv: tuple[str, ...], text: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="pycodex.notify"):
        Notifier(argv, environment(), client=None).turn_completed(make_turn(), [], last_message=text)
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        f"the program of `notify`, {argv[0]}, cannot be run"
    ]


def test_without_a_program_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "posix_spawn")
    Notifier((), environment(), client=None).turn_completed(make_turn(), [], last_message="x")


def test_ended_programs_do_not_pile_up(tmp_path: Path) -> None:
    """Each turn buries those of the turns before."""
    notifier = Notifier(
        ["sh", "-c", f"echo $$ > {tmp_path}/$$.pid; kill -{signal.SIGSTOP.value} $$"], environment(), client=None
    )
    notifier.turn_completed(make_turn(), [], last_message=None)
    first = int(eventually(lambda: [path.stem for path in tmp_path.glob("*.pid")], what="the first program")[0])
    os.kill(first, signal.SIGKILL)
    eventually(lambda: Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()[0] == "Z", what="its end")
    notifier.turn_completed(make_turn(), [], last_message=None)
    assert not Path(f"/proc/{first}").exists()
    second = eventually(lambda: {int(path.stem) for path in tmp_path.glob("*.pid")} - {first}, what="the second one")
    for pid in second:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


async def test_only_a_completed_turn_is_told_of(place: Place, program: str, told: Path) -> None:
    notify = f"notify={json.dumps([sys.executable, program, str(told)])}"
    async with open_engine(place, [refuse(400, "no"), Reply(parts=say("Hi."))]) as engine:
        talk = await engine.start(notify)
        await talk.turn("first")
        await talk.turn("second")
    message = json.loads(awaited(told)["message"])
    assert message["input-messages"] == ["first", "second"], "the turn that failed was told of"
    assert message["last-assistant-message"] == "Hi."
    assert message["client"] == "codex-exec"
