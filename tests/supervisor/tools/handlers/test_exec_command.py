"""Commands run, are waited for, and go on when nobody waits any more."""

import base64
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from pycodex.protocol.confinement import Limits
from pycodex.protocol.frames import Exited
from pycodex.protocol.model_info import TOKENS, TruncationPolicy
from pycodex.protocol.permissions import Permissions
from pycodex.protocol.turn_context import Shell
from pycodex.supervisor.tools.handlers.exec_command import ExecCommand
from pycodex.supervisor.tools.programs import Programs
from support.orders import signal_all
from support.pools import alive, workers_of
from support.tool_calls import FULL_ACCESS, READ_ONLY, WORKSPACE_WRITE, Benches, make_turn
from support.waiting import eventually_async

LAYOUT = re.compile(
    r"Command: (?P<command>.*)\n"
    r"Chunk ID: [0-9a-f]{6}\n"
    r"(?:Full output: (?P<file>.*)\n)?"
    r"Wall time: [0-9]+\.[0-9]{4} seconds\n"
    r"(?P<state>Process .*(?:\n.*)*?)\n"
    r"Original token count: (?P<tokens>[0-9]+)\n"
    r"Output:\n(?P<output>(?:.|\n)*)"
)
EITHER = pytest.mark.parametrize("permissions", [WORKSPACE_WRITE, FULL_ACCESS], ids=["confined", "unconfined"])


def parts(answer: str) -> dict[str, str]:
    found = LAYOUT.fullmatch(answer)
    assert found is not None, answer
    return {name: text for name, text in found.groupdict().items() if text is not None}


def session_id(answer: str) -> int:
    found = re.search(r"session ID (\d+)", answer)
    assert found is not None, answer
    return int(found[1])


# Answers


@EITHER
async def test_answer_tells_command_state_size_and_output(benches: Benches, permissions: Permissions) -> None:
    async with benches(permissions) as bench:
        answer = await bench.run("echo out; echo err >&2; exit 3")
    assert parts(answer) == {
        "command": "/bin/bash -c 'echo out; echo err >&2; exit 3'",
        "state": "Process exited with code 3",
        "tokens": "2",
        "output": "out\nerr\n",
    }


async def test_login_shell_is_the_default(benches: Benches) -> None:
    async with benches() as bench:
        answer = await bench.call("exec_command", cmd="shopt -q login_shell && echo login")
    assert parts(answer)["command"].startswith("/bin/bash -lc ")
    assert parts(answer)["output"] == "login\n"


async def test_login_shell_can_be_forbidden(benches: Benches) -> None:
    async with benches(allow_login_shell=False) as bench:
        refused = await bench.call("exec_command", cmd="true", login=True)
        plain = await bench.call("exec_command", cmd="shopt -q login_shell || echo plain")
    assert refused == "login shell is disabled by config; omit `login` or set it to false."
    assert parts(plain)["output"] == "plain\n"


async def test_output_is_cut_to_the_tokens_asked_for(benches: Benches) -> None:
    async with benches() as bench:
        answer = await bench.run("seq 1 300", max_output_tokens=5)
        nothing = await bench.run("seq 1 300", max_output_tokens=0)
    assert parts(answer)["output"] == ("Total output lines: 300\n\n1\n2\n3\n4\n5\n…268 tokens truncated…8\n299\n300\n")
    assert parts(nothing)["output"] == "Total output lines: 300\n\n…273 tokens truncated…"
    assert parts(answer)["tokens"] == "273"


# Whole outputs


def numbers(first: int, last: int) -> str:
    return "".join(f"{number}\n" for number in range(first, last + 1))


def text_of(path: str) -> str:
    return Path(path).read_text(encoding="ascii")


def exists(path: Path) -> bool:
    return path.exists()


async def test_long_output_at_full_speed_is_all_in_the_file(benches: Benches, home: Path) -> None:
    count = 450_000
    async with benches() as bench:
        answer = parts(await bench.run(f"seq 1 {count}", yield_time_ms=30_000))
    assert Path(answer["file"]).is_relative_to(home / "tmp" / "outputs" / "thread-1")
    assert text_of(answer["file"]) == numbers(1, count)


async def test_file_is_cut_at_its_limit_and_that_is_told(benches: Benches) -> None:
    count, limit = 3_000_000, 16 << 20
    async with benches() as bench:
        answer = parts(await bench.run(f"seq 1 {count}", yield_time_ms=30_000))
    assert answer["state"] == "Process exited with code 0"
    path, _, remark = answer["file"].partition(" ")
    assert remark == f"(cut after {limit} bytes)"
    assert text_of(path) == numbers(1, count)[:limit]


async def test_file_holds_what_earlier_answers_told_and_later_ones_will(benches: Benches) -> None:
    cmd = "stty -echo -opost; for part in 0 1 2 3; do seq $((part*20000+1)) $((part*20000+20000)); read x; done"
    async with benches() as bench:
        answers = [await bench.run(cmd, tty=True, yield_time_ms=1000)]
        session = session_id(answers[0])
        while "session ID" in answers[-1]:
            answers.append(await bench.call("write_stdin", session_id=session, chars="\n", yield_time_ms=1000))
    assert len(answers) == 5
    (path,) = {parts(answer)["file"] for answer in answers[:4]}
    assert "file" not in parts(answers[4])
    assert text_of(path) == numbers(1, 80_000)


@pytest.mark.parametrize("permissions", [WORKSPACE_WRITE, READ_ONLY, FULL_ACCESS], ids=lambda each: each.mode)
async def test_model_can_read_the_file_by_its_path(benches: Benches, permissions: Permissions) -> None:
    async with benches(permissions) as bench:
        path = parts(await bench.run("seq 1 20000"))["file"]
        answer = parts(await bench.run(f"sed -n 9999,10001p {path}; wc -l <{path}"))
    assert answer["output"] == "9999\n10000\n10001\n20000\n"


async def test_file_cannot_be_changed_by_a_confined_command(benches: Benches, home: Path) -> None:
    async with benches(turn={"cwd": str(home)}) as bench:
        path = parts(await bench.run("seq 1 20000"))["file"]
        answer = parts(await bench.run(f"echo changed >{path}; unlink {path}; ls -d {path}"))
    assert path in answer["output"].splitlines()
    assert text_of(path) == numbers(1, 20_000)


async def test_what_memory_has_dropped_is_in_the_file_whatever_limit_is_asked_for(benches: Benches) -> None:
    count = 300_000
    room = TruncationPolicy(TOKENS, 10_000_000)
    async with benches(turn={"truncation": room}) as bench:
        answer = parts(await bench.run(f"seq 1 {count}", yield_time_ms=30_000, max_output_tokens=10_000_000))
    assert "truncated" not in answer["output"]
    assert len(answer["output"]) == 1 << 20
    assert text_of(answer["file"]) == numbers(1, count)


async def test_short_outputs_leave_no_files(benches: Benches, home: Path) -> None:
    async with benches() as bench:
        answer = parts(await bench.run("seq 1 1000"))
    assert "file" not in answer
    assert not exists(home / "tmp" / "outputs")


# The record


async def test_record_of_the_call_tells_use_and_enforcement(benches: Benches) -> None:
    async with benches() as bench:
        usage = (await bench.answer("exec_command", {"cmd": "echo hello", "login": False})).usage
    assert isinstance(usage, Exited)
    assert (usage.code, usage.output_bytes, usage.dropped_bytes) == (0, 6, 0)
    assert usage.processes >= (1 if usage.enforced.level == "full" else 0)
    assert usage.wall_ms > 0
    assert usage.enforced.level in ("full", "landlock")


@pytest.mark.parametrize(
    ("permissions", "tty", "code"),
    [(WORKSPACE_WRITE, False, 137), (WORKSPACE_WRITE, True, 137), (FULL_ACCESS, False, -1), (FULL_ACCESS, True, 1)],
    ids=["confined", "confined-tty", "unconfined", "unconfined-tty"],
)
async def test_signal_has_a_code(benches: Benches, permissions: Permissions, tty: bool, code: int) -> None:
    async with benches(permissions) as bench:
        answer = await bench.run("kill -9 $$", tty=tty)
    assert parts(answer)["state"] == f"Process exited with code {code}"


async def test_what_was_left_running_outside_the_sandbox_is_named(benches: Benches) -> None:
    async with benches(FULL_ACCESS) as bench:
        answer = parts(await bench.run("sleep 1000 >/dev/null 2>&1 & echo $!"))
        pid = int(answer["output"])
        signal_all([pid], signal.SIGKILL)
        await eventually_async(lambda: not alive([pid]))
    assert answer["state"] == f"Process exited with code 0\nLeft running in the background: {pid}"


async def test_limit_that_ended_the_command_is_named(benches: Benches) -> None:
    async with benches(limits=Limits(memory_bytes=64 << 20)) as bench:
        answer = parts(await bench.run("head -c 1G /dev/zero | tail -n 1 | wc -c; sleep 1000", yield_time_ms=30_000))
    assert re.fullmatch(r"Process exited with code 137\nEnded early: .*memory.*", answer["state"])


async def test_descendant_that_holds_the_pipe_does_not_hold_the_answer(benches: Benches) -> None:
    async with benches(FULL_ACCESS) as bench:
        answer = parts(await bench.run("sleep 1000 & echo $!", yield_time_ms=30_000))
        held_by = int(answer["output"])
        signal_all([held_by], signal.SIGKILL)
        await eventually_async(lambda: not alive([held_by]))
    assert answer["state"].startswith("Process exited with code 0")


# What a command gets


async def test_environment_is_the_given_one_and_ours(benches: Benches, workspace: Path) -> None:
    env = {"PATH": "/usr/bin:/bin", "KEPT": "1", "TERM": "xterm", "LANG": "de_DE"}
    async with benches(env=env) as bench:
        answer = await bench.run("env -u PWD -u SHLVL -u _ env | sort")
    assert dict(line.split("=", 1) for line in parts(answer)["output"].splitlines()) == {
        "PATH": "/usr/bin:/bin",
        "KEPT": "1",
        "CODEX_THREAD_ID": "thread-1",
        "CODEX_SANDBOX_NETWORK_DISABLED": "1",
        "CODEX_CI": "1",
        "COLORTERM": "",
        "GH_PAGER": "cat",
        "GIT_PAGER": "cat",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "LC_CTYPE": "C.UTF-8",
        "NO_COLOR": "1",
        "PAGER": "cat",
        "TERM": "dumb",
    }


async def test_network_is_not_called_disabled_where_it_is_not(benches: Benches) -> None:
    async with benches(FULL_ACCESS) as bench:
        answer = await bench.run("echo ${CODEX_SANDBOX_NETWORK_DISABLED-unset}")
    assert parts(answer)["output"] == "unset\n"


async def test_directory_is_the_turns_or_relative_to_it(benches: Benches, workspace: Path) -> None:
    (workspace / "sub").mkdir()
    async with benches() as bench:
        outputs = [
            parts(await bench.run("pwd", **given))["output"]
            for given in (
                {},
                {"workdir": ""},
                {"workdir": "sub"},
                {"workdir": str(workspace / "sub")},
                {"workdir": "/"},
            )
        ]
        cwds = [begin["cwd"] for begin in bench.told("exec_command_begin")]
    sub = f"{workspace}/sub"
    assert cwds == [str(workspace), str(workspace), sub, sub, "/"]
    assert outputs == [f"{cwd}\n" for cwd in cwds]


async def test_events_tell_what_the_command_is_for(benches: Benches) -> None:
    async with benches() as bench:
        await bench.run("ls -a | wc -l")
        told = [*bench.told("exec_command_begin"), *bench.told("exec_command_end")]
    assert [event["parsed_cmd"] for event in told] == [[{"type": "list_files", "cmd": "ls -a", "path": None}]] * 2


async def test_stdin_is_empty_without_a_terminal(benches: Benches) -> None:
    async with benches() as bench:
        answer = await bench.run("cat; test -t 1 || echo no terminal")
    assert parts(answer)["output"] == "no terminal\n"


async def test_terminal_has_its_size(benches: Benches) -> None:
    async with benches() as bench:
        answer = await bench.run("stty size", tty=True)
    assert parts(answer)["output"] == "24 80\r\n"


async def test_sandbox_holds_and_its_denial_is_ordinary_output(benches: Benches, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    async with benches() as bench:
        answer = parts(await bench.run(f"echo inside > file; echo x > {outside}"))
    assert answer["state"] == "Process exited with code 1"
    assert re.search("Read-only file system|Permission denied", answer["output"])
    assert not outside.exists()
    assert (tmp_path / "ws" / "file").read_text() == "inside\n"


async def test_repository_that_appears_between_calls_is_protected_in_the_next(
    benches: Benches, workspace: Path
) -> None:
    async with benches() as bench:
        await bench.run("true")
        # What stood in for it goes a moment after the call.
        await eventually_async(lambda: not (workspace / ".git").exists())
        (workspace / ".git").mkdir()
        (workspace / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        answer = parts(await bench.run("echo bad > .git/config"))
    assert answer["state"] == "Process exited with code 1"
    assert not (workspace / ".git" / "config").exists()


# Errors


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"workdir": "nowhere"}, "No such file or directory (os error 2)"),
        ({"workdir": "/etc/passwd"}, "Not a directory (os error 20)"),
        ({"workdir": "a\0b"}, "nul byte found in provided data"),
    ],
)
@EITHER
async def test_bad_directory_is_told_and_no_event_is(
    benches: Benches, permissions: Permissions, given: dict[str, str], error: str
) -> None:
    async with benches(permissions) as bench:
        answer = await bench.run("pwd", **given)
        assert bench.events == []
    assert answer == (
        "exec_command failed for `/bin/bash -c pwd`: CreateProcess { message: "
        f'"Rejected(\\"Failed to create unified exec process: {error}\\")" }}'
    )


async def test_command_that_no_process_can_have_is_refused(benches: Benches) -> None:
    async with benches() as bench:
        nul = await bench.run("echo a\0b")
        long = await bench.run("echo " + "x" * 200_000)
        longer = await bench.run("echo " + "x" * (9 << 20))
    assert nul.startswith("exec_command failed for `<command included NUL byte>`: ")
    assert "Argument list too long (os error 7)" in long
    assert len(longer) < 1000
    assert "exceeds 8388608" in longer


async def test_missing_shell_is_told(benches: Benches) -> None:
    async with benches(turn={"shell": Shell(name="bash", path="/nowhere/bash")}) as bench:
        answer = await bench.run("true")
    assert "No such file or directory (os error 2)" in answer


async def test_working_directory_that_has_gone_is_told(benches: Benches, tmp_path: Path) -> None:
    async with benches(turn={"cwd": str(tmp_path / "gone")}) as bench:
        answer = await bench.run("true")
    assert answer.startswith("the sandbox cannot be set up, so nothing was run: working directory ")


@pytest.mark.parametrize("given", [{"sandbox_permissions": "require_escalated"}, {"additional_permissions": {}}])
async def test_escalation_cannot_be_asked_for_when_nobody_is_asked(benches: Benches, given: dict[str, object]) -> None:
    async with benches() as bench:
        answer = await bench.run("true", **given)
        assert bench.events == []
    assert answer == (
        "approval policy is Never; reject command — you cannot ask for escalated permissions "
        "if the approval policy is Never"
    )


async def test_escalation_does_not_run_without_an_approval(benches: Benches, workspace: Path) -> None:
    async with benches(READ_ONLY, {"approval_policy": "on-request"}) as bench:
        answer = await bench.run("touch file", sandbox_permissions="require_escalated")
    assert 'CreateProcess { message: "Rejected(\\"rejected by user\\")" }' in answer
    assert not (workspace / "file").exists()


async def test_lost_worker_is_told_with_what_was_said(benches: Benches) -> None:
    async with benches() as bench, trio.open_nursery() as nursery:

        @nursery.start_soon
        async def kill_worker() -> None:
            await bench.until_told("exec_command_output_delta")
            signal_all(workers_of(await bench.services.pool.ready()), signal.SIGKILL)

        answer = parts(await bench.run("echo before; sleep 1000", yield_time_ms=30_000))
        end = bench.told("exec_command_end")[0]
    assert answer["state"].startswith("Process lost without a result: ")
    assert answer["output"] == "before\n"
    assert (end["exit_code"], end["status"], end["stdout"]) == (-1, "failed", "before\n")


# Time


async def test_command_that_takes_longer_keeps_running(benches: Benches) -> None:
    async with benches() as bench:
        answer = await bench.run("echo up; sleep 1000", yield_time_ms=250)
        assert parts(answer)["output"] == "up\n"
        assert [str(session_id(answer))] == [each["process_id"] for each in bench.told("exec_command_begin")]
        assert bench.told("exec_command_end") == []
    assert [end["exit_code"] for end in bench.told("exec_command_end")] == [-1]


async def test_what_goes_on_after_its_call_is_still_told(benches: Benches, workspace: Path) -> None:
    async with benches() as bench:
        await bench.run("until test -e go; do sleep 0.01; done; echo late; exit 4", yield_time_ms=250)
        (workspace / "go").touch()
        (end,) = await bench.until_told("exec_command_end")
        deltas = bench.told("exec_command_output_delta")
    assert b"".join(base64.b64decode(delta["chunk"]) for delta in deltas) == b"late\n"
    assert (end["call_id"], end["turn_id"], end["exit_code"], end["stdout"]) == ("call-1", "turn-1", 4, "late\n")


async def test_interrupt_leaves_the_process_running_and_unknown(benches: Benches, workspace: Path) -> None:
    async with benches() as bench:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:

                @nursery.start_soon
                async def interrupt() -> None:
                    await bench.until_told("exec_command_begin")
                    scope.cancel()

                await bench.run("until test -e go; do sleep 0.01; done; echo survived")
        assert scope.cancelled_caught
        (process,) = bench.services.processes.kept()
        (workspace / "go").touch()
        (end,) = await bench.until_told("exec_command_end")
        assert (end["stdout"], end["process_id"]) == ("survived\n", str(process.process_id))
        await eventually_async(lambda: bench.services.processes.kept() == ())


async def test_call_that_is_cancelled_at_once_leaves_nothing(benches: Benches) -> None:
    async with benches() as bench:
        with trio.CancelScope() as scope:
            scope.cancel()
            await bench.run("sleep 1000")
        assert scope.cancelled_caught
        assert bench.services.processes.kept() == ()
        assert bench.events == []


def test_schema_follows_the_settings() -> None:
    schema = ExecCommand(login_allowed=True).spec(make_turn())
    properties = schema["parameters"]["properties"]
    assert list(properties) == [
        "cmd",
        "justification",
        "login",
        "max_output_tokens",
        "prefix_rule",
        "sandbox_permissions",
        "shell",
        "tty",
        "workdir",
        "yield_time_ms",
    ]
    assert (schema["strict"], schema["parameters"]["required"]) == (False, ["cmd"])
    without = ExecCommand(login_allowed=False).spec(make_turn())["parameters"]["properties"]
    assert properties.keys() - without.keys() == {"login"}


# Programs of ours


@pytest.fixture
def programs_dir(home: Path) -> Iterator[str]:
    programs = Programs()
    found = programs.directory(str(home))
    if not found:
        pytest.skip("pycodex is not installed here")
    yield found
    programs.close()


@EITHER
async def test_patch_program_is_found_and_works(
    benches: Benches, workspace: Path, permissions: Permissions, programs_dir: str
) -> None:
    async with benches(permissions, programs_dir=programs_dir) as bench:
        found = parts(await bench.run("command -v apply_patch applypatch; echo $PATH"))
        for name in ("apply_patch", "applypatch"):
            patch = f"*** Begin Patch\n*** Add File: by-{name}\n+x\n*** End Patch\n"
            answer = await bench.run(f"{name} '{patch}' && echo done")
            assert answer.endswith(f"\nOutput:\nSuccess. Updated the following files:\nA by-{name}\ndone\n")
    assert found["output"].splitlines() == [
        f"{programs_dir}/apply_patch",
        f"{programs_dir}/applypatch",
        f"{programs_dir}:/usr/bin:/bin",
    ]
    made = {path.name for path in children(workspace) if not path.name.startswith(".")}
    assert made == {"by-apply_patch", "by-applypatch"}


def children(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@pytest.mark.parametrize("root", ["home", "above"])
@pytest.mark.parametrize("guarded", ["home", "nothing else"])
async def test_patch_program_cannot_be_replaced_where_the_home_can_be_written(
    benches: Benches, home: Path, tmp_path: Path, programs_dir: str, root: str, guarded: str
) -> None:
    """Not even if nothing but the programs themselves were guarded there."""
    cwd = home if root == "home" else home.parent
    codex_home = home if guarded == "home" else tmp_path / "another"
    attempts = (
        f"ln -sf /bin/true {programs_dir}/apply_patch",
        f"unlink {programs_dir}/apply_patch",
        f"touch {programs_dir}/ls",
        f"mv {programs_dir} {programs_dir}-gone",
        f"mv {home}/tmp {home}/gone",
        f"chmod 777 {programs_dir}",
        f": >{programs_dir}/.lock",
    )
    before = {path: os.readlink(path) for path in children(Path(programs_dir)) if path.is_symlink()}
    async with benches(turn={"cwd": str(cwd)}, programs_dir=programs_dir, codex_home=str(codex_home)) as bench:
        writable = parts(await bench.run("touch there && echo yes"))
        for attempt in attempts:
            answer = parts(await bench.run(attempt))
            assert answer["state"] != "Process exited with code 0", attempt
    assert writable["output"].endswith("yes\n") == (codex_home != cwd)
    assert {path: os.readlink(path) for path in children(Path(programs_dir)) if path.is_symlink()} == before
    assert len(before) == 2
