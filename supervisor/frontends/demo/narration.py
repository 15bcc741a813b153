"""What is said around the turn: what is about to happen, why something was refused, and where to go from here.

Owns those texts and the judgement whether it all came true. The turn itself is rendered as `exec` renders it.
"""

from collections.abc import Callable, Iterator, Sequence

from pycodex.protocol.confinement import Confinement, Enforced
from pycodex.protocol.events.exec import ExecCommandBegin, ExecCommandEnd
from pycodex.protocol.events.union import AnyEvent
from pycodex.sandbox import denial
from pycodex.supervisor.frontends.demo import story
from pycodex.supervisor.frontends.demo.scene import Scene
from pycodex.supervisor.frontends.exec.style import BOLD, CYAN, GREEN, RED, YELLOW, Style

SNIPPET = """\
model = "MODEL"
model_provider = "mine"
[model_providers]
mine = { name = "Mine", base_url = "http://localhost:8000/v1", env_key = "MINE_API_KEY" }
"""

_NEXT = """\
Now with a real model, in a repository of yours:

    pycodex exec --full-auto "mend the failing test"

It needs OpenAI to know you: `pycodex login`, or a login with Codex, or a key in
CODEX_API_KEY or OPENAI_API_KEY.

Or any server that speaks the Responses API, in ~/.codex/config.toml (env_key
names the variable that holds its key):

"""

_BEFORE = {
    story.LOOK: "The model looks around. Reading is allowed.",
    story.TEST: "It runs the test, in a worker of its own.",
    story.HOOK: "It tries to plant a git hook, which would run later, outside of the sandbox.",
    story.HOME_HOOK: "It tries the home directory instead.",
    story.EDIT: "It stays inside the workspace now. That is allowed.",
    story.AGAIN: "It runs the test again.",
}


class Narrator:
    def __init__(self, write: Callable[[str], None], style: Style, scene: Scene) -> None:
        self._write = write
        self._style = style
        self._scene = scene
        self._exit_codes: dict[str, int] = {}

    def open(self, host: Enforced) -> None:
        paint = self._style.paint
        means = [name for name, there in (("namespaces", host.userns), ("Landlock", host.landlock_abi)) if there]
        self._write(
            f"{paint('pycodex demo', BOLD)}: one whole turn of the agent in a scratch repository\n\n"
            "Only the model is played, by a script on 127.0.0.1 that reacts to what it is\n"
            "sent. The engine, the workers and the sandbox of this machine are real\n"
            f"({', '.join([*means, 'seccomp'])}).\n"
            f"Everything happens in {self._scene.root},\nwhich is written as … from here on.\n\n"
        )

    def before(self, event: AnyEvent) -> None:
        if isinstance(event, ExecCommandBegin) and event.call_id in _BEFORE:
            self._write("\n")
            self._note(_BEFORE[event.call_id], CYAN)

    def after(self, event: AnyEvent, confinement: Confinement) -> None:
        if not isinstance(event, ExecCommandEnd):
            return
        self._exit_codes[event.call_id] = event.exit_code
        if event.call_id in story.REFUSED and event.exit_code:
            found = denial.explain(event.command, event.cwd, confinement, event.aggregated_output)
            why = found.rule if found is not None else "the sandbox did not allow it"
            self._note(f"Refused: {why}".replace(str(self._scene.root), "…"), YELLOW)

    def _note(self, text: str, colour: str) -> None:
        self._write(self._style.paint(f"▸ {text}", colour) + "\n")

    def close(self, surprises: Sequence[str]) -> None:
        """The end of the story, when all is tidied up."""
        if surprises:
            told = "".join(f"  {surprise}\n" for surprise in surprises)
            heading = self._style.paint("This did not go as announced:", BOLD, RED)
            self._write(f"\n{heading}\n{told}`pycodex doctor` tells what this machine can enforce.\n")
            return
        done = "Everything went as announced, and nothing of it is left."
        snippet = "".join(f"    {line}\n" for line in SNIPPET.splitlines())
        self._write(f"\n{self._style.paint(done, BOLD, GREEN)}\n\n{_NEXT}{snippet}")

    def surprises(self) -> Iterator[str]:
        """An exit code alone proves nothing, so the disk is looked at as well."""
        for call_id in story.REFUSED:
            if self._exit_codes.get(call_id) == 0:
                yield f"the call `{call_id}` should have been refused, but succeeded"
        for call_id in (*story.ALLOWED, *story.REFUSED):
            if call_id not in self._exit_codes:
                yield f"the call `{call_id}` was never made"
        for call_id in story.ALLOWED:
            if self._exit_codes.get(call_id):
                yield f"the call `{call_id}` should have succeeded, but ended with {self._exit_codes[call_id]}"
        escaped: Sequence[tuple[str, bool]] = (
            ("there is a git hook", self._scene.hook.exists()),
            ("the home directory was changed", (self._scene.home / ".git-hooks").exists()),
        )
        yield from (text for text, came_true in escaped if came_true)
