"""What the demonstration is about: the task, the files, and the model that works on it.

Owns the model's part. It is a function of the request: what comes next follows from the outputs that the engine sends
back, and what it says quotes them. Knows neither disk nor sandbox.
"""

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from pycodex.supervisor.model.scripted import Event, Pause, Reply, Request, call, say

TASK = "The test of slug.py fails. Mend slug.py, and see to it that the test runs before every commit."

FILES = {
    "slug.py": '''\
def slug(title):
    """The title as the last part of an address."""
    return title.lower().replace(" ", "-")
''',
    "check.sh": "#!/bin/sh\nexec python3 -B -m unittest -q\n",
    "test_slug.py": """\
import unittest

from slug import slug


class SlugTest(unittest.TestCase):
    def test_any_blanks_become_one_dash(self):
        self.assertEqual(slug("Hello  World "), "hello-world")
""",
}

MODEL: Mapping[str, Any] = {
    "slug": "scripted",
    "display_name": "a script",
    "context_window": 100_000,
    "truncation_policy": {"mode": "tokens", "limit": 10_000},
    "shell_type": "unified_exec",
    "supports_reasoning_summaries": False,
}

# The calls, by their ids.
LOOK = "look"
TEST = "test"
HOOK = "hook"
HOME_HOOK = "home-hook"
EDIT = "edit"
AGAIN = "test-again"
PLAN = "plan"
_MIDWAY = "plan-midway"
_DONE = "plan-done"

REFUSED = (HOOK, HOME_HOOK)
"""Those that the sandbox must stop."""
ALLOWED = (LOOK, EDIT, AGAIN)
"""Those that must succeed."""

_STEPS = ("See how the test fails", "Have the test run before every commit", "Mend slug.py", "Run the test again")
_BETTER = '"-".join(title.lower().split())'
_EXIT_CODE = re.compile(r"^Process exited with code (-?\d+)$", re.MULTILINE)
_RETURNED = re.compile(r"^(\d+):    return (.+)$", re.MULTILINE)


class Told:
    """What the model knows so far: the outputs of its calls."""

    def __init__(self, items: Iterable[Mapping[str, Any]]) -> None:
        self._outputs = {item["call_id"]: item["output"] for item in items if item["type"] == "function_call_output"}

    def __contains__(self, call_id: str) -> bool:
        return call_id in self._outputs

    def output(self, call_id: str) -> str:
        """What the command printed; all of the answer if it was never run."""
        head, marker, text = str(self._outputs[call_id]).partition("\nOutput:\n")
        return text if marker else head

    def exit_code(self, call_id: str) -> int | None:
        found = _EXIT_CODE.search(str(self._outputs[call_id]))
        return int(found[1]) if found else None

    def last_line(self, call_id: str) -> str:
        lines = self.output(call_id).strip().splitlines()
        return lines[-1] if lines else "no output"


def reply_to(request: Request, *, pause_s: float = 0) -> Reply:
    """The next step. `pause_s` gives people the time to read the one before."""
    events = _next(Told(request.body["input"]))
    # No usage: nobody was asked, so nothing was used.
    return Reply(parts=[Pause(pause_s), *events], usage=None)


def _next(told: Told) -> list[Event]:
    if LOOK not in told:
        return [
            *say("I will look around first."),
            *_plan(PLAN, 0),
            *_run(LOOK, "git log --oneline; ls; grep -n . slug.py"),
        ]
    found = _RETURNED.search(told.output(LOOK))
    if found is None:
        return _give_up(told, LOOK)
    if TEST not in told:
        return _run(TEST, "sh check.sh")
    if told.exit_code(TEST) != 1:
        return _give_up(told, TEST)
    if HOOK not in told:
        text = f"Two blanks become two dashes; `{found[2]}` cannot do better. Before I mend it: the hook."
        return [*say(text), *_run(HOOK, "cp check.sh .git/hooks/pre-commit")]
    if told.exit_code(HOOK) == 0:
        return say("The hook is in place, which should not have been possible.")
    if HOME_HOOK not in told:
        text = f"“{told.last_line(HOOK)}”: I may not write there. A hook for all repositories may do, in the home."
        return [*say(text), *_run(HOME_HOOK, "mkdir ~/.git-hooks && cp check.sh ~/.git-hooks/pre-commit")]
    if told.exit_code(HOME_HOOK) == 0:
        return say("I wrote into the home directory, which should not have been possible.")
    return _inside(told, line=found[1])


def _inside(told: Told, *, line: str) -> list[Event]:
    """The second half, with what is allowed."""
    if EDIT not in told:
        text = (
            f"“{told.last_line(HOME_HOOK)}”: not there either. Only the workspace is mine, and rightly so: hooks run "
            "outside of the sandbox. I put it into hooks/, and you decide whether to switch it on."
        )
        return [*say(text), *_plan(_MIDWAY, 2), *_run(EDIT, _edit(told, line))]
    if told.exit_code(EDIT) != 0:
        return _give_up(told, EDIT)
    if AGAIN not in told:
        return _run(AGAIN, "sh hooks/pre-commit")
    if told.exit_code(AGAIN) != 0:
        return _give_up(told, AGAIN)
    if _DONE not in told:
        return _plan(_DONE, len(_STEPS))
    return say(
        f"Done: slug.py returns `{_BETTER}` and the test passes. The hook is hooks/pre-commit, as the sandbox kept me "
        "out of .git and of your home. To switch it on: git config core.hooksPath hooks"
    )


def _edit(told: Told, line: str) -> str:
    sed = shlex.quote(f"{line}s/return .*/return {_BETTER}/")
    shown = "cat slug.py" if "git: " in told.output(LOOK) else "git diff -U0"
    return f"mkdir hooks && cp check.sh hooks/pre-commit && sed -i {sed} slug.py && {shown}"


def _give_up(told: Told, call_id: str) -> list[Event]:
    return say(f"I cannot go on, as this was not to be expected: {told.output(call_id).strip()}")


def _run(call_id: str, command: str) -> list[Event]:
    return call("exec_command", {"cmd": command, "login": False}, call_id)


def _plan(call_id: str, done: int) -> list[Event]:
    statuses = ["completed"] * done + ["in_progress"] + ["pending"] * len(_STEPS)
    plan = [{"step": step, "status": status} for step, status in zip(_STEPS, statuses, strict=False)]
    return call("update_plan", {"plan": plan}, call_id)
