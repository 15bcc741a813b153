"""A command of a shell tool runs to its end, is told about, and takes everything along when it is ended."""

import base64
import re
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from pycodex.protocol.confinement import Limits
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.events.event import Event
from pycodex.protocol.frames import STDERR, STDOUT, Exited
from pycodex.protocol.items import FUNCTION_CALL
from pycodex.protocol.model_info import BYTES, TruncationPolicy
from pycodex.protocol.permissions import Permissions
from pycodex.supervisor.tools.shell_answer import structured
from pycodex.supervisor.tools.shell_runs import KEPT_BYTES, MAX_DELTAS, Deltas, Wish, carry_out, shares
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall
from support.approvals import BEGIN, FAILED, REQUEST, thinking, told_kinds
from support.marked import Mark
from support.orders import signal_all
from support.pools import Pools, alive, workers_of
from support.shell_calls import read_structured, remarks_in, said_in_deltas
from support.tool_calls import FULL_ACCESS, READ_ONLY, WORKSPACE_WRITE, Bench, make_turn, open_bench
from support.waiting import eventually_async

EITHER = pytest.mark.parametrize("permissions", [WORKSPACE_WRITE, FULL_ACCESS], ids=["confined", "unconfined"])
NOT_FOUND = 'execution error: Io(Os { code: 2, kind: NotFound, message: "No such file or directory" })'


class Runs:
    """Commands on one bench."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.scope = bench.scope

    async def argv(self, *argv: str, **wish: Any) -> ToolAnswer:
        call = ToolCall(FUNCTION_CALL, "call-1", "shell", "")
        return await carry_out(Wish(argv=argv, layout=structured, **wish), call, self.scope)

    async def text(self, *argv: str, **wish: Any) -> str:
        output = (await self.argv(*argv, **wish)).output
        assert isinstance(output, str)
        return output

    async def script(self, script: str, **wish: Any) -> tuple[int, str]:
        return read_structured((await self.argv("/bin/bash", "-c", script, **wish)).output)

    def end(self) -> dict[str, Any]:
        (end,) = self.bench.told("exec_command_end")
        return end


Opened = Callable[..., AbstractAsyncContextManager[Runs]]


@pytest.fixture
def opened(real_pools: Pools, workspace: Path, home: Path) -> Opened:
    @asynccontextmanager
    async def opened(
        permissions: Permissions = WORKSPACE_WRITE, turn: dict[str, Any] | None = None, **services: Any
    ) -> AsyncIterator[Runs]:
        made = make_turn(**{"cwd": str(workspace), "permissions": permissions, **(turn or {})})
        async with real_pools.open() as pool, open_bench(pool, home, made, **services) as bench:
            yield Runs(bench)

    return opened


# What is told


@EITHER
async def test_events_tell_the_whole_command(opened: Opened, permissions: Permissions, workspace: Path) -> None:
    async with opened(permissions) as runs:
        answer = await runs.argv("/bin/bash", "-c", "echo out; echo err >&2; exit 3")
        kinds = [event.to_wire()["type"] for event in runs.bench.events]
        (begin,), end = runs.bench.told("exec_command_begin"), runs.end()
    described = {
        "call_id": "call-1",
        "turn_id": "turn-1",
        "command": ["/bin/bash", "-c", "echo out; echo err >&2; exit 3"],
        "cwd": str(workspace),
        "parsed_cmd": [{"type": "unknown", "cmd": "echo out; echo err >&2; exit 3"}],
        "source": "agent",
    }
    assert (kinds[0], kinds[-1]) == ("exec_command_begin", "exec_command_end")
    assert begin == {"type": "exec_command_begin", **described}
    duration = end.pop("duration")
    assert duration.keys() == {"secs", "nanos"}
    assert end == {
        "type": "exec_command_end",
        **described,
        "stdout": "out\n",
        "stderr": "err\n",
        "aggregated_output": "out\nerr\n",
        "exit_code": 3,
        "formatted_output": "out\nerr\n",
        "status": "failed",
    }
    assert read_structured(answer.output) == (3, "out\nerr\n")


async def test_success_is_told_as_such(opened: Opened) -> None:
    async with opened() as runs:
        await runs.argv("echo", "two words")
        end = runs.end()
    assert (end["exit_code"], end["status"], end["parsed_cmd"][0]["cmd"]) == (0, "completed", "echo 'two words'")


async def test_events_tell_what_the_command_is_for(opened: Opened, workspace: Path) -> None:
    (workspace / "a.txt").touch()
    async with opened() as runs:
        await runs.argv("/bin/bash", "-c", "cd . && cat a.txt | head -n 5")
        (begin,), end = runs.bench.told("exec_command_begin"), runs.end()
    told = [{"type": "read", "cmd": "cat a.txt", "name": "a.txt", "path": "./a.txt"}]
    assert (begin["parsed_cmd"], end["parsed_cmd"]) == (told, told)


async def test_stdout_comes_before_stderr(opened: Opened) -> None:
    async with opened() as runs:
        assert await runs.script("echo e1 >&2; echo o1; echo e2 >&2; echo o2") == (0, "o1\no2\ne1\ne2\n")


async def test_record_of_the_call_tells_use_and_enforcement(opened: Opened) -> None:
    async with opened() as runs:
        usage = (await runs.argv("echo", "hello")).usage
    assert isinstance(usage, Exited)
    assert (usage.code, usage.output_bytes) == (0, 6)
    assert usage.enforced.level in ("full", "landlock")


async def test_answer_and_event_are_cut_by_the_turns_policy(opened: Opened) -> None:
    async with opened(turn={"truncation": TruncationPolicy(BYTES, 10)}) as runs:
        told = await runs.script("seq 1 300")
        end = runs.end()
    assert told == (0, "Total output lines: 300\n\n1\n2\n3…1082 chars truncated…\n300\n")
    assert end["formatted_output"] == told[1]
    assert end["stdout"] == "".join(f"{number}\n" for number in range(1, 301))


# Output


async def test_pieces_join_to_what_each_stream_said(opened: Opened) -> None:
    async with opened() as runs:
        await runs.script("seq 1 20000; seq 1 3000 >&2")
        sizes = [len(base64.b64decode(d["chunk"])) for d in runs.bench.told("exec_command_output_delta")]
        end = runs.end()
        assert said_in_deltas(runs.bench, STDOUT) == end["stdout"].encode()
        assert said_in_deltas(runs.bench, STDERR) == end["stderr"].encode()
    assert len(end["stdout"]) == 108_894
    assert max(sizes) <= 8192


def test_pieces_are_bounded_in_size_and_number() -> None:
    told: list[Event] = []
    deltas = Deltas("call-1", told.append)
    deltas.tell(STDERR, b"x" * 8193)
    for _ in range(MAX_DELTAS + 1):
        deltas.tell(STDOUT, b"o")
    deltas.tell(STDERR, b"more")
    wires = [event.to_wire() for event in told]
    assert [base64.b64decode(wire["chunk"]) for wire in wires if wire["stream"] == STDERR] == [
        b"x" * 8192,
        b"x",
        b"more",
    ]
    assert sum(wire["stream"] == STDOUT for wire in wires) == MAX_DELTAS


@given(st.integers(0, 2 * KEPT_BYTES), st.integers(0, 2 * KEPT_BYTES))
def test_streams_share_what_is_shown_of_them(stdout: int, stderr: int) -> None:
    of_stdout, of_stderr = shares(stdout, stderr)
    assert (of_stdout <= stdout, of_stderr <= stderr) == (True, True)
    assert of_stdout + of_stderr == min(stdout + stderr, KEPT_BYTES)
    assert of_stdout >= min(stdout, KEPT_BYTES // 3)
    assert of_stderr >= min(stderr, KEPT_BYTES - KEPT_BYTES // 3)


@pytest.mark.parametrize(
    ("said", "kept", "shown"),
    [
        ((1_500_000, 0), (1_048_576, 0), (1_048_576, 0)),
        ((0, 1_500_000), (0, 1_048_576), (0, 1_048_576)),
        ((1_500_000, 300_000), (1_048_576, 300_000), (748_576, 300_000)),
        ((600_000, 1_500_000), (600_000, 1_048_576), (349_525, 699_051)),
        ((3_000_000, 3_000_000), (1_048_576, 1_048_576), (349_525, 699_051)),
        ((100_000, 1_500_000), (100_000, 1_048_576), (100_000, 948_576)),
    ],
)
async def test_beginning_of_each_stream_is_kept(
    opened: Opened, said: tuple[int, int], kept: tuple[int, int], shown: tuple[int, int]
) -> None:
    script = f"head -c {said[0]} /dev/zero | tr '\\0' o & head -c {said[1]} /dev/zero | tr '\\0' e >&2; wait"
    async with opened() as runs:
        code, _ = await runs.script(script)
        end = runs.end()
        assert said_in_deltas(runs.bench, STDOUT) == b"o" * kept[0]
        assert said_in_deltas(runs.bench, STDERR) == b"e" * kept[1]
    assert code == 0
    assert (end["stdout"], end["stderr"]) == ("o" * kept[0], "e" * kept[1])
    assert end["aggregated_output"] == "o" * shown[0] + "e" * shown[1]


async def test_what_is_kept_is_the_beginning(opened: Opened) -> None:
    async with opened() as runs:
        await runs.script("seq 1 300000")
        end = runs.end()
    whole = "".join(f"{number}\n" for number in range(1, 300_001))
    assert end["stdout"] == whole[:KEPT_BYTES]


async def test_flood_does_not_keep_the_other_stream_from_being_heard(opened: Opened) -> None:
    async with opened() as runs:
        await runs.script("head -c 200000000 /dev/zero; seq 1 200000 >&2")
        end = runs.end()
    assert end["stderr"] == "".join(f"{number}\n" for number in range(1, 200_001))[:KEPT_BYTES]


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        (r"caf\xe9\n", "café\n"),
        (r"a\xff\xfeb", "aÿþb"),
        (r"\xe2\x82\xac ok\n", "€ ok\n"),
        (r"\x00\x01\xff", "\x00\x01ÿ"),
    ],
)
async def test_output_of_any_bytes_becomes_text(opened: Opened, printed: str, text: str) -> None:
    async with opened() as runs:
        assert read_structured((await runs.argv("printf", printed)).output) == (0, text)


async def test_encoding_of_one_stream_does_not_spoil_the_other(opened: Opened) -> None:
    async with opened() as runs:
        assert await runs.script(r"printf 'é\n'; printf 'caf\xe9\n' >&2") == (0, "é\ncafé\n")


async def test_character_at_the_cut_does_not_spoil_the_rest(opened: Opened) -> None:
    """Two bytes a character, so the cut of an odd number of bytes goes through one."""
    async with opened() as runs:
        await runs.script("printf x; yes é | tr -d '\\n' | head -c 1500000")
        end = runs.end()
    assert end["stdout"] == "x" + "é" * ((KEPT_BYTES - 1) // 2)


async def test_output_that_a_descendant_holds_is_kept(opened: Opened) -> None:
    async with opened(FULL_ACCESS) as runs:
        answer = await runs.argv("/bin/bash", "-c", "echo said; echo too >&2; sleep 1000 & exit 0")
        (left,) = re.findall(r"Left running in the background: (\d+)", "\n".join(remarks_in(answer.output)))
        signal_all([int(left)], signal.SIGKILL)
        await eventually_async(lambda: not alive([int(left)]))
    assert read_structured(answer.output) == (0, "said\ntoo\n")


async def test_stdin_is_empty(opened: Opened) -> None:
    async with opened() as runs:
        assert read_structured((await runs.argv("cat")).output) == (0, "")


# Time and interrupts


@EITHER
async def test_command_out_of_time_ends_with_all_that_it_started(opened: Opened, permissions: Permissions) -> None:
    mark = Mark()
    async with opened(permissions) as runs:
        code, output = await runs.script(mark.family(), timeout_ms=1500)
        end = runs.end()
        await eventually_async(lambda: not mark.alive())
    found = re.fullmatch(r"command timed out after (\d+) milliseconds\ncomplete\n", output)
    assert found is not None, output
    assert (code, int(found[1]) >= 1500) == (124, True)
    assert (end["exit_code"], end["status"], end["aggregated_output"]) == (124, "failed", "complete\n")
    assert end["formatted_output"] == output


@EITHER
async def test_no_time_at_all_is_over_at_once(opened: Opened, permissions: Permissions) -> None:
    async with opened(permissions) as runs:
        code, output = await runs.script("sleep 1000", timeout_ms=0)
    assert (code, output.startswith("command timed out after ")) == (124, True)


async def test_longest_time_that_can_be_written_is_taken(opened: Opened) -> None:
    async with opened() as runs:
        assert await runs.script("echo ok", timeout_ms=(1 << 64) - 1) == (0, "ok\n")


@EITHER
async def test_interrupt_ends_all_that_was_started_and_tells_no_end(opened: Opened, permissions: Permissions) -> None:
    mark = Mark()
    async with opened(permissions) as runs:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:

                @nursery.start_soon
                async def interrupt() -> None:
                    await runs.bench.until_told("exec_command_output_delta")
                    scope.cancel()

                await runs.script(mark.family(), timeout_ms=60_000)
        assert scope.cancelled_caught
        await eventually_async(lambda: not mark.alive())
        assert runs.bench.told("exec_command_end") == []


# Failures


def told_as_failure(runs: Runs, text: str, status: str = "failed") -> bool:
    end = runs.end()
    return (
        [end["stdout"], end["stderr"], end["aggregated_output"], end["formatted_output"]] == ["", text, text, text]
        and end["exit_code"] == -1
        and end["duration"] == {"secs": 0, "nanos": 0}
        and end["status"] == status
    )


@pytest.mark.parametrize(
    ("argv", "workdir", "text"),
    [
        (("no-such-program-here",), None, NOT_FOUND),
        (("/no/such",), None, NOT_FOUND),
        (("",), None, NOT_FOUND),
        (("true",), "nowhere", NOT_FOUND),
        (
            ("true",),
            "/etc/passwd",
            'execution error: Io(Os { code: 20, kind: NotADirectory, message: "Not a directory" })',
        ),
        (
            ("/etc",),
            None,
            'execution error: Io(Os { code: 13, kind: PermissionDenied, message: "Permission denied" })',
        ),
        (
            ("echo", "x" * 200_000),
            None,
            'execution error: Io(Os { code: 7, kind: ArgumentListTooLong, message: "Argument list too long" })',
        ),
        (
            ("echo", "a\0b"),
            None,
            'execution error: Io(Error { kind: InvalidInput, message: "nul byte found in provided data" })',
        ),
        (
            ("true",),
            "a\0b",
            'execution error: Io(Error { kind: InvalidInput, message: "nul byte found in provided data" })',
        ),
    ],
    ids=lambda value: str(value)[:20],
)
@EITHER
async def test_command_that_cannot_be_run(
    opened: Opened, permissions: Permissions, argv: tuple[str, ...], workdir: str | None, text: str
) -> None:
    async with opened(permissions) as runs:
        answer = await runs.argv(*argv, workdir=workdir)
        assert runs.bench.told("exec_command_begin")[0]["command"] == list(argv)
        assert told_as_failure(runs, text)
    assert answer.output == text


async def test_command_without_words_is_declined(opened: Opened) -> None:
    async with opened() as runs:
        answer = await runs.argv()
        assert runs.bench.told("exec_command_begin")[0]["command"] == []
        assert told_as_failure(runs, "command args are empty", status="declined")
    assert answer.output == "command args are empty"


async def test_command_that_no_order_can_hold_is_refused(opened: Opened) -> None:
    async with opened() as runs:
        long = await runs.text("echo", "x" * (9 << 20))
        many = await runs.text("echo", *["x"] * 70_000)
    assert long.startswith("execution error: RunCommand of ")
    assert many == "execution error: argv of 70001 items exceeds 65536"


async def test_working_directory_that_has_gone_is_told(opened: Opened, tmp_path: Path) -> None:
    async with opened(turn={"cwd": str(tmp_path / "gone")}) as runs:
        output = await runs.text("true")
        assert told_as_failure(runs, output)
    assert output.startswith("execution error: the sandbox cannot be set up, so nothing was run: ")


async def test_signal_is_a_code_inside_the_sandbox(opened: Opened) -> None:
    async with opened() as runs:
        assert await runs.script("echo out; kill -9 $$") == (137, "out\n")


async def test_signal_is_a_failure_outside_of_it(opened: Opened) -> None:
    async with opened(FULL_ACCESS) as runs:
        answer = await runs.argv("/bin/bash", "-c", "echo out; kill -15 $$")
        assert told_as_failure(runs, "execution error: Sandbox(Signal(15))")
    assert answer.output == "execution error: Sandbox(Signal(15))"
    assert answer.usage is not None
    assert answer.usage.signal == 15


async def test_limit_that_ended_the_command_is_named(opened: Opened) -> None:
    script = "echo said; head -c 1G /dev/zero | tail -n 1 | wc -c; sleep 1000"
    async with opened(limits=Limits(memory_bytes=64 << 20)) as runs:
        answer = await runs.argv("/bin/bash", "-c", script, timeout_ms=60_000)
    assert read_structured(answer.output) == (137, "said\n")
    (remark,) = remarks_in(answer.output)
    assert re.fullmatch("Ended early: .*memory.*", remark)


async def test_lost_worker_is_told(opened: Opened) -> None:
    async with opened() as runs, trio.open_nursery() as nursery:

        @nursery.start_soon
        async def kill_worker() -> None:
            await runs.bench.until_told("exec_command_output_delta")
            signal_all(workers_of(await runs.bench.services.pool.ready()), signal.SIGKILL)

        output = await runs.text("/bin/bash", "-c", "echo up; sleep 1000")
        assert told_as_failure(runs, output)
    assert re.fullmatch(
        "execution error: lost without a result: .*; what the command did until then is unknown", output
    )


# Permissions


async def test_sandbox_holds_and_its_denial_is_ordinary_output(opened: Opened, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    async with opened() as runs:
        code, output = await runs.script(f"echo inside > file; echo x > {outside}")
    assert code == 1
    assert re.search("Read-only file system|Permission denied", output)
    assert (outside.exists(), (tmp_path / "ws" / "file").read_text()) == (False, "inside\n")


async def test_read_only_writes_nothing(opened: Opened, workspace: Path) -> None:
    async with opened(READ_ONLY) as runs:
        code, _ = await runs.script("echo x > file")
    assert code == 1
    assert not (workspace / "file").exists()


async def test_full_access_writes_anywhere(opened: Opened, tmp_path: Path) -> None:
    async with opened(FULL_ACCESS) as runs:
        assert await runs.script(f"echo x > {tmp_path}/outside") == (0, "")
    assert (tmp_path / "outside").read_text() == "x\n"


async def test_environment_is_the_given_one(opened: Opened) -> None:
    env = {"PATH": "/usr/bin:/bin", "KEPT": "1", "TERM": "xterm", "LANG": "de_DE"}
    async with opened(env=env) as runs:
        _, output = read_structured((await runs.argv("env")).output)
    assert dict(line.split("=", 1) for line in output.splitlines()) == {
        **env,
        "CODEX_THREAD_ID": "thread-1",
        "CODEX_SANDBOX_NETWORK_DISABLED": "1",
    }


async def test_directory_is_the_turns_or_relative_to_it(opened: Opened, workspace: Path) -> None:
    (workspace / "sub").mkdir()
    async with opened() as runs:
        outputs = [
            read_structured((await runs.argv("pwd", workdir=workdir)).output)[1]
            for workdir in (None, "", "sub", str(workspace / "sub"), "/")
        ]
        cwds = [begin["cwd"] for begin in runs.bench.told("exec_command_begin")]
    assert cwds == [str(workspace), str(workspace), f"{workspace}/sub", f"{workspace}/sub", "/"]
    assert outputs == [f"{cwd}\n" for cwd in cwds]


async def test_escalation_is_declined_where_nobody_can_be_asked(opened: Opened, workspace: Path) -> None:
    async with opened(READ_ONLY, {"approval_policy": "on-request"}) as runs:
        answer = await runs.argv("touch", "file", asked="require_escalated")
        assert told_as_failure(runs, "exec command rejected by user", "declined")
    assert answer.output == "exec command rejected by user"
    assert not (workspace / "file").exists()


async def test_escalation_needs_nobody_where_there_is_no_sandbox(opened: Opened, workspace: Path) -> None:
    async with opened(FULL_ACCESS, {"approval_policy": "on-request"}) as runs:
        assert await runs.script("touch file", asked="require_escalated") == (0, "")
    assert (workspace / "file").exists()


async def test_second_run_that_cannot_begin_is_told_to_have_ended(opened: Opened, workspace: Path) -> None:
    folder = workspace / "sub"
    folder.mkdir()
    async with opened(turn={"approval_policy": "on-failure"}) as runs:
        runs.bench.decisions += ["approved"]
        runs.scope = thinking(runs.bench, folder.rmdir)
        answer = await runs.argv("touch", "../../made", workdir="sub")
        assert told_kinds(runs.bench.events) == [BEGIN, REQUEST, FAILED]
        assert told_as_failure(runs, NOT_FOUND)
    assert answer.output == NOT_FOUND


async def test_pieces_of_both_runs_are_told_and_the_end_tells_the_last(opened: Opened, workspace: Path) -> None:
    async with opened(turn={"approval_policy": "on-failure"}) as runs:
        runs.bench.decisions += ["approved"]
        assert await runs.script("echo said; touch ../made") == (0, "said\n")
        assert said_in_deltas(runs.bench, STDOUT) == b"said\n" * 2
        assert (runs.end()["stdout"], runs.end()["stderr"]) == ("said\n", "")
    assert (workspace.parent / "made").exists()


NOT_ENABLED = (
    "additional permissions are disabled; enable `features.exec_permission_approvals` before using "
    "`with_additional_permissions`"
)


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        (
            {"asked": "require_escalated"},
            (
                "approval policy is Never; reject command — you should not ask for escalated permissions "
                "if the approval policy is Never"
            ),
        ),
        ({"asked": "with_additional_permissions"}, NOT_ENABLED),
        ({"additional": {}}, NOT_ENABLED),
        ({"asked": "require_escalated", "additional": {}}, NOT_ENABLED),
    ],
)
async def test_permissions_that_cannot_be_asked_for_are_told_before_anything_begins(
    opened: Opened, wish: dict[str, Any], text: str
) -> None:
    async with opened() as runs:
        with pytest.raises(ModelFacing) as caught:
            await runs.argv("true", **wish)
        assert runs.bench.events == []
    assert str(caught.value) == text


async def test_patch_in_a_command_is_not_run_as_a_command(opened: Opened) -> None:
    async with opened() as runs:
        with pytest.raises(ModelFacing) as caught:
            await runs.argv("apply_patch", "nonsense")
        assert runs.bench.told("exec_command_begin") == []
    assert str(caught.value) == (
        "apply_patch verification failed: invalid patch: The first line of the patch must be '*** Begin Patch'"
    )
