"""What people read on stderr. The texts are what the reference prints for the same turn."""

import re
from typing import Any

import pytest

from pycodex.protocol.events.error import BackgroundEvent, DeprecationNotice, ErrorEvent, StreamError, WarningEvent
from pycodex.protocol.events.image import ViewImageToolCall
from pycodex.protocol.events.mcp import McpStartupComplete, McpStartupUpdate, McpToolCallBegin, McpToolCallEnd
from pycodex.protocol.events.message import (
    AgentMessage,
    AgentReasoning,
    AgentReasoningRawContent,
    WebSearchBegin,
    WebSearchEnd,
)
from pycodex.protocol.events.patch import TurnDiff
from pycodex.protocol.events.review import EnteredReviewMode
from pycodex.protocol.events.turn import ModelReroute, TokenCount, TurnAborted
from pycodex.protocol.events.union import AnyEvent
from pycodex.protocol.permissions import Permissions
from pycodex.supervisor.frontends.exec.facts import ThreadFacts
from pycodex.supervisor.frontends.exec.human import HumanRenderer, first_lines, shown_duration
from pycodex.supervisor.frontends.exec.style import Style, harmless
from pycodex.supervisor.version import VERSION
from support.exec_events import STARTED, command_begins, command_ends, completed, patch_begins, patch_ends, plan, tokens

SHELL = ("/bin/bash", "-lc", "seq 1 30")
CLEARS_SCREEN = "no\x1b[2J"
ANSWERED = '{\n  "content": [],\n  "isError": %s\n}\n'
FACTS = ThreadFacts(
    thread_id="th",
    cwd="/ws",
    model="gpt-5.4",
    provider_id="mock",
    approval="never",
    permissions=Permissions(mode="read-only"),
    effort=None,
    summary="auto",
    codex_home="/home/u/.codex",
)


class Seen:
    """Both streams of one run."""

    def __init__(self, *, colour: bool = False) -> None:
        self.out = ""
        self.err = ""
        self.renderer = HumanRenderer(self._err, Style(colour=colour), answer=self._out, clean=harmless)

    def _err(self, text: str) -> None:
        self.err += text

    def _out(self, text: str) -> None:
        self.out += text

    def after(self, *events: AnyEvent) -> "Seen":
        for event in events:
            self.renderer.handle(event)
        return self


def told(*events: AnyEvent, colour: bool = False) -> str:
    return Seen(colour=colour).after(*events).err


def test_header() -> None:
    seen = Seen()
    seen.renderer.start(FACTS, "do it\n")
    assert seen.err == (
        f"pycodex v{VERSION}\n--------\nworkdir: /ws\nmodel: gpt-5.4\nprovider: mock\napproval: never\n"
        "sandbox: read-only\nreasoning effort: none\nreasoning summaries: auto\nsession id: th\n--------\n"
        "user\ndo it\n\n"
    )


def test_header_in_colour() -> None:
    seen = Seen(colour=True)
    seen.renderer.start(FACTS, "do it")
    assert "\n\x1b[1mworkdir:\x1b[0m /ws\n" in seen.err
    assert seen.err.endswith("--------\n\x1b[36muser\x1b[0m\ndo it\n")


ERROR = ErrorEvent(message="bad\nthing")
SEARCHED = "🌐 Searched"


@pytest.mark.parametrize(
    ("event", "plain", "coloured"),
    [
        (STARTED, "mcp startup: no servers\n", "\x1b[36mmcp startup:\x1b[0m no servers\n"),
        (AgentMessage(message="Hello.\n"), "codex\nHello.\n\n", "\x1b[35m\x1b[3mcodex\x1b[0m\x1b[0m\nHello.\n\n"),
        (AgentReasoning(text="**T**"), "thinking\n**T**\n", "\x1b[35m\x1b[3mthinking\x1b[0m\x1b[0m\n**T**\n"),
        (ERROR, "ERROR: bad\nthing\n", "\x1b[31mERROR:\x1b[0m bad\nthing\n"),
        (WarningEvent(message="w"), "warning: w\n", "\x1b[1m\x1b[33mwarning:\x1b[0m\x1b[0m w\n"),
        (DeprecationNotice(summary="s"), "deprecated: s\n", "\x1b[1m\x1b[35mdeprecated:\x1b[0m\x1b[0m s\n"),
        (
            DeprecationNotice(summary="s", details="d"),
            "deprecated: s\n  d\n",
            "\x1b[1m\x1b[35mdeprecated:\x1b[0m\x1b[0m s\n  \x1b[2md\x1b[0m\n",
        ),
        (
            StreamError(message="Reconnecting... 1/2", additional_details="cut"),
            "Reconnecting... 1/2 (cut)\n",
            "\x1b[2mReconnecting... 1/2 (cut)\x1b[0m\n",
        ),
        (BackgroundEvent(message="b"), "b\n", "\x1b[2mb\x1b[0m\n"),
        (
            ModelReroute(from_model="a", to_model="b", reason="r"),
            "",
            "",
        ),
        (TurnAborted(turn_id="t", reason="interrupted"), "task interrupted\n", "task interrupted\n"),
        (
            TurnAborted(turn_id="t", reason="replaced"),
            "task aborted: replaced by a new task\n",
            "task aborted: replaced by a new task\n",
        ),
        (
            TurnAborted(turn_id="t", reason="review_ended"),
            "task aborted: review ended\n",
            "task aborted: review ended\n",
        ),
        (WebSearchBegin(call_id="w"), "🌐 Searching the web...\n", "🌐 Searching the web...\n"),
        (WebSearchEnd(call_id="w", query="plums", action={}), f"{SEARCHED}: plums\n", f"{SEARCHED}: plums\n"),
        (WebSearchEnd(call_id="w", query="", action={}), f"{SEARCHED} the web\n", f"{SEARCHED} the web\n"),
        (
            plan("completed: one", "in_progress: two", "pending: three", explanation="because"),
            "Plan update\nbecause\n  ✓ one\n  → two\n  • three\n",
            (
                "\x1b[35mPlan update\x1b[0m\n\x1b[3mbecause\x1b[0m\n  \x1b[32m✓\x1b[0m one\n"
                "  \x1b[36m→\x1b[0m two\n  \x1b[2m•\x1b[0m \x1b[2mthree\x1b[0m\n"
            ),
        ),
        (plan("pending: one", explanation=" "), "Plan update\n  • one\n", None),
        (tokens(), "", ""),
    ],
)
def test_event(event: AnyEvent, plain: str, coloured: str | None) -> None:
    assert told(event) == plain
    if coloured is not None:
        assert told(event, colour=True) == coloured


def test_servers_are_told_once() -> None:
    assert told(STARTED, STARTED) == "mcp startup: no servers\n"


def test_reviewer_has_servers_of_its_own() -> None:
    entered = EnteredReviewMode(turn_id="t", target={}, user_facing_hint="x")
    assert told(entered, STARTED, STARTED) == "mcp startup: no servers\n" * 2


def test_servers_are_told_as_they_start() -> None:
    events = (
        McpStartupUpdate(server="a", status={"state": "starting"}),
        STARTED,
        McpStartupUpdate(server="b", status={"state": "failed", "error": CLEARS_SCREEN}),
        McpStartupComplete(ready=("a", "c"), failed=({"server": "b", "error": "no"},), cancelled=("d",)),
    )
    assert told(*events) == (
        f"mcp: a starting\nmcp: b failed: {harmless(CLEARS_SCREEN)}\n"
        "mcp startup: ready: a, c; failed: b; cancelled: d\n"
    )


@pytest.mark.parametrize(
    ("arguments", "result", "shown"),
    [
        ({"x": 1}, {"Ok": {"content": [], "isError": False}}, "success in 5ms:\n" + ANSWERED % "false"),
        (None, {"Ok": {"content": [], "isError": True}}, "failed in 5ms:\n" + ANSWERED % "true"),
        ({}, {"Err": "tool call error"}, "failed in 5ms:\ntool call error\n"),
    ],
)
def test_call_of_a_server(arguments: Any, result: dict[str, Any], shown: str) -> None:
    called = {"server": "s", "tool": "t", "arguments": arguments}
    begin = McpToolCallBegin(call_id="c", invocation=called)
    end = McpToolCallEnd(call_id="c", invocation=called, duration={"secs": 0, "nanos": 5_000_000}, result=result)
    invocation = {None: "s.t()", 0: "s.t({})", 1: 's.t({"x":1})'}[None if arguments is None else len(arguments)]
    assert told(begin, end) == f"tool {invocation}\n{invocation} {shown}"


def test_command_line_stays_open_until_the_command_ends() -> None:
    seen = Seen().after(command_begins("c", *SHELL))
    assert seen.err == "exec\n/bin/bash -lc 'seq 1 30' in /ws"
    seen.after(command_ends("c", *SHELL, output="1\n2\n", ms=166))
    assert seen.err == "exec\n/bin/bash -lc 'seq 1 30' in /ws succeeded in 166ms:\n1\n2\n"


def test_command_in_colour() -> None:
    failing = command_ends("c", "false", output="no\n", exit_code=3, ms=1050)
    assert told(command_begins("c", "false"), failing, colour=True) == (
        "\x1b[35m\x1b[3mexec\x1b[0m\x1b[0m\n\x1b[1mfalse\x1b[0m in /ws\x1b[31m exited 3 in 1.05s:\x1b[0m\n"
        "\x1b[2mno\x1b[0m\n"
    )
    assert "\x1b[32m succeeded in 0ms:\x1b[0m\n" in told(
        command_begins("c", "true"), command_ends("c", "true"), colour=True
    )


def test_commands_beside_each_other_get_lines_of_their_own() -> None:
    events = (command_begins("a", "one"), command_begins("b", "two"))
    assert told(*events, command_ends("a", "one", output="x"), command_ends("b", "two")) == (
        "exec\none in /ws\nexec\ntwo in /ws\nexec\none in /ws succeeded in 0ms:\nx\n"
        "exec\ntwo in /ws succeeded in 0ms:\n\n"
    )


def test_what_comes_in_between_begins_a_line() -> None:
    assert told(command_begins("a", "one"), ERROR) == "exec\none in /ws\nERROR: bad\nthing\n"


def test_left_running_command_does_not_swallow_the_end() -> None:
    seen = Seen().after(command_begins("a", "one"), tokens(), completed("ok"))
    seen.renderer.finish()
    assert seen.err == "exec\none in /ws\ntokens used\n110\n"


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("", ""),
        ("x", "x"),
        ("a\n\n\nb\n\n\n", "a\n\n\nb\n\n"),
        ("hey\r\ngot\r\n", "hey\ngot"),
        ("\n", ""),
        ("".join(f"{n}\n" for n in range(30)), "\n".join(map(str, range(20)))),
        ("".join(f"{n}\n" for n in range(20)), "\n".join(map(str, range(20)))),
        ("x" * 10_000_000, "x" * 10_000_000),
    ],
    ids=lambda text: f"{len(text)} characters",
)
def test_first_lines_of_the_output(output: str, shown: str) -> None:
    assert first_lines(output) == shown


@pytest.mark.parametrize(
    ("ms", "shown"),
    [(0, "0ms"), (250, "250ms"), (999, "999ms"), (1500, "1.50s"), (59_999, "60.00s"), (125_000, "2m 05s")],
)
def test_durations(ms: int, shown: str) -> None:
    assert shown_duration({"secs": ms // 1000, "nanos": ms % 1000 * 1_000_000 + 999}) == shown


def test_reasoning_is_shown_as_configured() -> None:
    seen = Seen()
    events = (AgentReasoning(text="summary"), AgentReasoningRawContent(text="raw"))
    assert seen.after(*events).err == "thinking\nsummary\n"
    seen = Seen()
    seen.renderer.shows_reasoning = False
    seen.renderer.shows_raw_reasoning = True
    assert seen.after(*events).err == "thinking\nraw\n"


def finished(*events: AnyEvent) -> Seen:
    seen = Seen().after(*events)
    seen.err = ""
    seen.renderer.finish()
    return seen


@pytest.mark.parametrize(
    ("usage", "shown"),
    [
        ((100, 10, 20), "110"),
        ((1_234_567, 10, 20), "1,234,577"),
        ((5, 10, 20), "20"),
    ],
)
def test_tokens_are_those_that_were_not_cached(usage: tuple[int, int, int], shown: str) -> None:
    assert finished(tokens(*usage), completed()).err == f"tokens used\n{shown}\n"


def test_without_usage_no_tokens_are_told() -> None:
    assert finished(TokenCount(info=None, rate_limits=None), completed()).err == ""


@pytest.mark.parametrize(
    ("message", "out"), [("hello", "hello\n"), ("hello\n", "hello\n"), ("a\n\nb  \n", "a\n\nb  \n"), (None, "")]
)
def test_answer_ends_with_one_newline(message: str | None, out: str) -> None:
    assert finished(completed(message)).out == out


def test_failed_turn_has_no_answer() -> None:
    seen = finished(AgentMessage(message="half"), ERROR, completed("half"))
    assert seen.out == ""
    assert seen.renderer.outcome.exit_code == 1


def test_answer_that_nobody_wants_is_not_given() -> None:
    renderer = HumanRenderer(lambda _: None, Style(colour=False), answer=None)
    renderer.handle(completed("hello"))
    renderer.finish()
    assert renderer.outcome.last_message == "hello"


def test_interrupt_is_told_once() -> None:
    seen = Seen().after(STARTED, tokens(), command_begins("a", "one"))
    seen.renderer.interrupted()
    seen.after(TurnAborted(turn_id="t", reason="interrupted"))
    assert seen.err.endswith("exec\none in /ws\ntask interrupted\ntokens used\n110\n")
    assert (seen.renderer.outcome.interrupted, seen.renderer.outcome.exit_code) == (True, 1)
    seen = Seen().after(STARTED, TurnAborted(turn_id="t", reason="interrupted"))
    seen.renderer.interrupted()
    assert seen.err.count("task interrupted") == 1


def test_control_characters_of_others_do_not_reach_the_terminal() -> None:
    evil = "a\x1b]0;title\x07b\rc\x9bd"
    shown = "a\\x1b]0;title\\x07b\\x0dc\\x9bd"
    events = (
        AgentMessage(message=evil),
        AgentReasoning(text=evil),
        command_begins("c", evil),
        command_ends("c", evil, output=evil),
        ErrorEvent(message=evil),
        plan(f"pending: {evil}", explanation=evil),
        WebSearchEnd(call_id="w", query=evil, action={}),
    )
    for event in events:
        text = told(event)
        assert shown in text or shown.replace("\\", "\\\\") in text
        assert "\x1b" not in text


CHANGES: dict[str, dict[str, Any]] = {
    "/ws/m.txt": {"type": "update", "unified_diff": "@@ -1,2 +1,2 @@\n-a\n+A\n b\n", "move_path": "/ws/n.txt"},
    "/ws/b.txt": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-x\n+y\n", "move_path": None},
    "/ws/gone.txt": {"type": "delete", "content": "x\ny\n"},
    "/ws/a.txt": {"type": "add", "content": "hello\n"},
}


def test_patch_shows_every_file_and_its_end() -> None:
    text = told(patch_begins("c", CHANGES), patch_ends("c", CHANGES, stdout="Success.\nA a.txt\n"))
    *shown, title, first, second = text.splitlines()
    assert shown == [
        "file update",
        *("A /ws/a.txt", "hello"),
        *("M /ws/b.txt", "@@ -1 +1 @@", "-x", "+y"),
        *("D /ws/gone.txt", "x", "y"),
        *("R /ws/m.txt -> /ws/n.txt", "@@ -1,2 +1,2 @@", "-a", "+A", " b"),
    ]
    assert re.fullmatch(r"apply_patch\(auto_approved=true\) exited 0 in [0-9]+ms:", title)
    assert [first, second] == ["Success.", "A a.txt"]


def test_patch_that_failed_says_why() -> None:
    lines = told(patch_begins("c", CHANGES), patch_ends("c", CHANGES, stderr="Failed to write file x\n")).splitlines()
    assert " exited 1 in " in lines[-2]
    assert lines[-1] == "Failed to write file x"


def test_patch_colours_what_comes_and_what_goes() -> None:
    text = told(patch_begins("c", CHANGES), colour=True)
    assert "\x1b[32mhello\x1b[0m" in text
    assert "\x1b[31m-x\x1b[0m" in text
    assert "\n@@ -1 +1 @@\n" in text


def test_patch_cannot_write_to_the_terminal() -> None:
    hostile = {"/ws/\x1b[2J": {"type": "add", "content": "\x1b]0;title\x07\n"}}
    assert "\x1b" not in told(patch_begins("c", hostile))


def test_diff_of_the_turn_and_pictures_are_shown() -> None:
    diff = "diff --git a/x b/x\n@@ -0,0 +1 @@\n+x\n"
    assert told(TurnDiff(unified_diff=diff)) == f"file update:\n{diff}\n"
    assert told(ViewImageToolCall(call_id="c", path="/ws/p.png")) == "viewed image /ws/p.png\n"
