"""`pycodex demo` from its start to its exit code.

Owns the wiring: the scripted model's server, the engine and the renderer of `exec`, all in this process, and that
nothing is left behind, however it ends. Everything that is told goes to stdout.
"""

import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial

import trio

from pycodex.protocol.confinement import FULL, Confinement, Enforced
from pycodex.protocol.errors import UserFacing
from pycodex.protocol.events.turn import SessionConfigured, TaskStarted
from pycodex.protocol.ops import UserTurn
from pycodex.protocol.permissions import WORKSPACE_WRITE
from pycodex.protocol.user_input import Text
from pycodex.sandbox.backend import host_report
from pycodex.sandbox.plan import plan
from pycodex.sandbox.survey import survey
from pycodex.supervisor.config.config import Config, Flags
from pycodex.supervisor.config.load import load_config
from pycodex.supervisor.frontends.demo import story
from pycodex.supervisor.frontends.demo.narration import Narrator
from pycodex.supervisor.frontends.demo.scene import Scene, scratch
from pycodex.supervisor.frontends.exec.facts import ThreadFacts
from pycodex.supervisor.frontends.exec.human import HumanRenderer
from pycodex.supervisor.frontends.exec.output import STDOUT, Output, ReaderGone
from pycodex.supervisor.frontends.exec.progress import Progress, wants_progress
from pycodex.supervisor.frontends.exec.style import Style, harmless, wants_colour
from pycodex.supervisor.frontends.log_file import open_log
from pycodex.supervisor.model.headers import identity_of
from pycodex.supervisor.model.scripted import serve_script
from pycodex.supervisor.session.codex_thread import CodexThread
from pycodex.supervisor.threads import open_threads

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Long enough to read along, short enough to wait for.
_PAUSE_S = 0.6


def run_demo(overrides: Sequence[str], env: Mapping[str, str]) -> int:
    """Gives the exit code. Raises UserFacing where there is no sandbox to show."""
    host = host_report()
    if host.level != FULL:
        why = "; ".join(host.degraded) or f"this machine offers only {host.level}"
        raise UserFacing(f"the full sandbox cannot be shown here: {why}. `pycodex doctor` says what would help")
    try:
        return trio.run(partial(_until_ended, host, overrides, env))
    except ReaderGone:
        return ReaderGone.EXIT_CODE


async def _until_ended(host: Enforced, overrides: Sequence[str], env: Mapping[str, str]) -> int:
    """To the end of the story, or to a signal; the scratch directory goes in both cases."""
    with trio.open_signal_receiver(*_ENDINGS) as signals:
        with scratch(env) as scene:
            demo = _Demo(scene, host, env)
            ended = await _unless_signalled(signals, demo, overrides)
        if ended is not None:
            text = "\ninterrupted; nothing is left of the demonstration"
            raise UserFacing(text, exit_code=128 + ended, prefix="")
        if scene.root.exists():
            demo.surprises.append(f"{scene.root} could not be removed")
        await demo.close()
    return 1 if demo.surprises else 0


async def _unless_signalled(signals: AsyncIterator[int], demo: "_Demo", overrides: Sequence[str]) -> int | None:
    """The signal that ended it early, if one did."""
    ended: list[int] = []
    raised: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_end_on_signal, signals, ended, nursery.cancel_scope)
            nursery.start_soon(demo.show_progress)
            await demo.run(overrides)
            nursery.cancel_scope.cancel()
    except* (ReaderGone, UserFacing) as group:
        raised = group.exceptions[0]
    if raised is not None:
        raise raised
    return ended[0] if ended else None


async def _end_on_signal(signals: AsyncIterator[int], ended: list[int], scope: trio.CancelScope) -> None:
    async for number in signals:
        ended.append(number)
        scope.cancel()


class _Demo:
    def __init__(self, scene: Scene, host: Enforced, given: Mapping[str, str]) -> None:
        self.surprises: list[str] = []
        """What did not go as announced."""
        self._scene = scene
        self._host = host
        self._env = scene.environment(given)
        self._output = Output(STDOUT)
        is_terminal = self._output.is_terminal()
        colour = wants_colour("auto", given, is_terminal=is_terminal)
        self._style = Style(colour=colour)
        self._progress: Progress | None = None
        if wants_progress(given, is_terminal=is_terminal):
            self._progress = Progress(self._output, faint=colour)
        self._write: Callable[[str], None] = self._output.write if self._progress is None else self._progress.write
        self._pause_s = _PAUSE_S if is_terminal else 0
        self._narrator = Narrator(self._write, self._style, scene)

    async def show_progress(self) -> None:
        if self._progress is not None:
            await self._progress.run()

    async def run(self, overrides: Sequence[str]) -> None:
        narrator = self._narrator
        async with serve_script(partial(story.reply_to, pause_s=self._pause_s)) as server:
            config = self._config([*overrides, *self._own_settings(server.base_url)])
            open_log(config.log_dir)
            narrator.open(self._host)
            identity = identity_of(self._env, originator="codex_exec", client="pycodex-demo", beta_features=())
            async with open_threads(identity=identity, env=self._env) as threads:
                thread = await threads.start(config, source="exec")
                renderer = await self._turn(thread, config, narrator)
        self.surprises += narrator.surprises()
        if renderer.outcome.failed:
            self.surprises.append("the turn failed")

    async def close(self) -> None:
        self._narrator.close(self.surprises)
        await self._output.flush()

    def _own_settings(self, base_url: str) -> list[str]:
        retries = "request_max_retries = 0, stream_max_retries = 0"
        return [
            f'model_providers.script={{ name = "script", base_url = "{base_url}", {retries} }}',
            "model_provider=script",
            f"model={story.MODEL['slug']}",
            f'model_catalog_json="{self._scene.catalog}"',
        ]

    def _config(self, overrides: Sequence[str]) -> Config:
        return load_config(
            env=self._env,
            overrides=overrides,
            cwd=str(self._scene.workspace),
            flags=Flags(sandbox_mode=WORKSPACE_WRITE, approval_policy="never"),
            system_dir=str(self._scene.system_dir),
        )

    async def _turn(self, thread: CodexThread, config: Config, narrator: Narrator) -> HumanRenderer:
        """Rendered to its end."""
        renderer = HumanRenderer(self._write, self._style, answer=None, clean=self._shown)
        renderer.start(await self._facts(thread, config), story.TASK)
        await thread.submit(UserTurn(items=(Text(text=story.TASK),)))
        confinement = self._confinement(config)
        while not renderer.outcome.ended:
            event = await thread.next_event()
            if not isinstance(event, TaskStarted):
                narrator.before(event)
                renderer.handle(event)
                narrator.after(event, confinement)
            await self._output.flush()
        if self._progress is not None:
            self._progress.stop()
        renderer.finish()
        return renderer

    def _shown(self, text: str) -> str:
        return harmless(text).replace(str(self._scene.root), "…")

    async def _facts(self, thread: CodexThread, config: Config) -> ThreadFacts:
        configured = await thread.next_event()
        assert isinstance(configured, SessionConfigured)
        return ThreadFacts.of(configured, config)

    def _confinement(self, config: Config) -> Confinement:
        """What the commands may touch, to explain a refusal by."""
        looked_at = survey(config.permissions, cwd=config.cwd, env=self._env, codex_home=config.codex_home)
        return plan(config.permissions, looked_at, landlock_only=config.landlock_only)
