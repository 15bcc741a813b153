"""One turn of the engine for `pycodex exec`: thread, prompt, events, end.

Owns the wiring between the engine and the two outputs, and what signals and readers that go away do to the turn. What
is told, and how, is the renderers' business.
"""

import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import trio

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.events.turn import SessionConfigured
from pycodex.protocol.ops import Interrupt, Op, UserTurn
from pycodex.protocol.user_input import LocalImage, Text, UserInput
from pycodex.supervisor.config import features
from pycodex.supervisor.config.config import Config
from pycodex.supervisor.frontends.exec.jsonl import JsonlRenderer
from pycodex.supervisor.frontends.exec.output import STDERR, STDOUT, Output, ReaderGone
from pycodex.supervisor.frontends.exec.prompt import awaited_prompt
from pycodex.supervisor.frontends.exec.refusal import refusal_of
from pycodex.supervisor.frontends.exec.request import ExecRequest, ResumeTarget
from pycodex.supervisor.frontends.exec.run import Start
from pycodex.supervisor.model.headers import identity_of
from pycodex.supervisor.session.codex_thread import CodexThread
from pycodex.supervisor.session.opening import NotBegun
from pycodex.supervisor.session.outbox import OutboxClosed
from pycodex.supervisor.threads import ThreadManager, open_threads
from pycodex.supervisor.workers.launch import Launched

if TYPE_CHECKING:
    from pycodex.supervisor.frontends.exec.human import HumanRenderer
    from pycodex.supervisor.frontends.exec.last_message import LastMessageFile
    from pycodex.supervisor.frontends.exec.progress import Progress

    Renderer = JsonlRenderer | HumanRenderer

SOURCE = "exec"
ORIGINATOR = "codex_exec"
CLIENT = "codex-exec; 0.116.0"
INTERRUPTED_TWICE = 130


def run_task(request: ExecRequest, start: Start, launched: Launched) -> int:
    """Gives the exit code."""
    try:
        return trio.run(_Task(request, start).run, launched)
    except ReaderGone:
        return ReaderGone.EXIT_CODE


class _Task:
    def __init__(self, request: ExecRequest, start: Start) -> None:
        self._request = request
        self._config = start.config
        self._env = start.env
        self._rules = start.rules
        self._stdout = Output(STDOUT)
        self._stderr = Output(STDERR)
        self._progress: Progress | None = None
        self._last_message: LastMessageFile | None = None

    async def run(self, launched: Launched) -> int:
        if self._request.oss:
            await self._make_local_model_ready()
        identity = identity_of(
            self._env,
            originator=ORIGINATOR,
            client=CLIENT,
            beta_features=features.experimental(self._config.features),
        )
        async with open_threads(identity=identity, env=self._env, launched=launched) as threads:
            try:
                thread = await self._thread(threads)
            except NotBegun as error:
                text = f"thread/start: thread/start failed: error creating thread: Fatal error: {error}"
                raise UserFacing(text) from None
            try:
                wish, shown = await self._wish()
                self._last_message = self._last_message_file()
                renderer = await self._begin(thread, shown)
                await thread.submit(wish)
                await self._follow(thread, renderer)
            finally:
                await self._stderr.flush()
        return renderer.outcome.exit_code

    async def _make_local_model_ready(self) -> None:
        from pycodex.supervisor.frontends.exec.progress import wants_progress
        from pycodex.supervisor.frontends.exec.pull_progress import PullProgress
        from pycodex.supervisor.model.oss import make_ready
        from pycodex.supervisor.net.http import open_http

        overwrites = wants_progress(self._env, is_terminal=self._stderr.is_terminal())
        progress = PullProgress(self._tell, overwrites=overwrites)
        config = self._config
        async with open_http(self._env) as http:
            try:
                await make_ready(http, config.provider, config.model or "", env=self._env, report=progress)
            finally:
                progress.end()

    async def _thread(self, threads: ThreadManager) -> CodexThread:
        """A new thread, or the one to go on with if there is one."""
        target = self._request.resume
        path = None if target is None else _found(self._config, target)
        if path is not None:
            return await threads.resume(self._config, path, rules=self._rules)
        if target is not None and (target.session_id or target.last):
            what = f"`{target.session_id}`" if target.session_id else "in this directory"
            self._say(f"warning: no session {what} was found; starting a new one")
        return await threads.start(self._config, source=SOURCE, rules=self._rules)

    async def _wish(self) -> tuple[Op, str]:
        """What the thread is to do, and how that is shown."""
        if self._request.review is not None:
            from pycodex.supervisor.frontends.exec.reviewing import review_wish

            return await review_wish(self._request, self._request.review, tell=self._say)
        prompt = await awaited_prompt(self._request, tell=self._say)
        return UserTurn(items=self._inputs(prompt), output_schema=self._schema()), prompt

    def _schema(self) -> Any:
        if self._request.output_schema is None:
            return None
        from pycodex.supervisor.frontends.exec.output_schema import read_output_schema

        return read_output_schema(self._request.output_schema)

    def _last_message_file(self) -> "LastMessageFile | None":
        if self._request.last_message_file is None:
            return None
        from pycodex.supervisor.frontends.exec.last_message import LastMessageFile

        return LastMessageFile(self._request.last_message_file)

    def _say(self, line: str) -> None:
        self._tell(f"{line}\n")

    def _tell(self, text: str) -> None:
        self._stderr.write(text)
        self._stderr.flush_now()

    def _inputs(self, prompt: str) -> tuple[UserInput, ...]:
        images = [LocalImage(path=path) for path in self._request.images]
        return (*images, Text(text=prompt))

    async def _begin(self, thread: CodexThread, prompt: str) -> "Renderer":
        """The first lines, once nothing can be wrong with the request any more."""
        configured = await thread.next_event()
        assert isinstance(configured, SessionConfigured)
        if self._request.json:
            lines = JsonlRenderer(self._stdout.write_line)
            lines.start(thread.thread_id)
            return lines
        return self._human(configured, prompt)

    def _human(self, configured: SessionConfigured, prompt: str) -> "HumanRenderer":
        from pycodex.supervisor.frontends.exec.facts import ThreadFacts
        from pycodex.supervisor.frontends.exec.human import HumanRenderer
        from pycodex.supervisor.frontends.exec.progress import Progress, wants_progress
        from pycodex.supervisor.frontends.exec.style import Style, harmless, wants_colour

        is_terminal = self._stderr.is_terminal()
        write: Callable[[str], None] = self._stderr.write
        colour = wants_colour(self._request.color, self._env, is_terminal=is_terminal)
        if wants_progress(self._env, is_terminal=is_terminal):
            self._progress = Progress(self._stderr, faint=colour)
            write = self._progress.write
        answer: Callable[[str], None] | None = self._stdout.write
        if self._stdout.is_terminal():
            answer = None if is_terminal else lambda text: self._stdout.write(harmless(text))
        renderer = HumanRenderer(
            write,
            Style(colour=colour),
            answer=answer,
            **({"clean": harmless} if is_terminal else {}),
        )
        renderer.shows_reasoning = not self._config.hide_agent_reasoning
        renderer.shows_raw_reasoning = self._config.show_raw_agent_reasoning
        renderer.start(ThreadFacts.of(configured, self._config), prompt)
        return renderer

    async def _follow(self, thread: CodexThread, renderer: "Renderer") -> None:
        """To the end of the turn, whichever it is."""
        failure: Exception | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_pass_on_interrupts, thread)
            if self._progress is not None:
                nursery.start_soon(self._progress.run)
            try:
                await self._render(thread, renderer)
            except Exception as error:
                # Raised below: a nursery would wrap it. The turn ends first, so that its file is whole.
                failure = error
                await _ended(thread, renderer)
            nursery.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def _render(self, thread: CodexThread, renderer: "Renderer") -> None:
        while not renderer.outcome.ended:
            try:
                event = await thread.next_event()
            except OutboxClosed:
                # The thread is no more; why, its last event has told.
                renderer.outcome.failed = True
                break
            renderer.handle(event)
            await self._flush()
            if (refusal := refusal_of(event)) is not None:
                await thread.submit(refusal)
        if self._progress is not None:
            self._progress.stop()
        if self._last_message is not None and not renderer.outcome.interrupted:
            # Before the last line is out: whoever reads that may end us.
            message = renderer.outcome.last_message or renderer.outcome.report
            self._last_message.write(message, tell=self._stderr.write_line)
        renderer.finish()
        await self._flush()

    async def _flush(self) -> None:
        await self._stderr.flush()
        await self._stdout.flush()


async def _pass_on_interrupts(thread: CodexThread) -> None:
    with trio.open_signal_receiver(signal.SIGINT) as interrupts:
        count = 0
        async for _ in interrupts:
            count += 1
            if count > 1:
                # Somebody does not want to wait for the orderly end; the workers see to themselves.
                os._exit(INTERRUPTED_TWICE)
            await thread.submit(Interrupt())


async def _ended(thread: CodexThread, renderer: "Renderer") -> None:
    await thread.submit(Interrupt())
    while not renderer.outcome.ended:
        try:
            renderer.outcome.note(await thread.next_event())
        except OutboxClosed:
            return


def _found(config: Config, target: ResumeTarget) -> str | None:
    from pycodex.supervisor.rollout import listing

    if target.last:
        cwd = None if target.all else config.cwd
        return listing.newest(config.codex_home, provider=config.provider.id, cwd=cwd)
    return listing.find(config.codex_home, target.session_id) if target.session_id else None
