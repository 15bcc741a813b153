"""The threads of one supervisor: made, resumed, forked, listed, and kept apart.

Owns what threads share (workers, connections, credentials) and the making of each; a thread that fails ends alone.
Front-ends hold `CodexThread`s and know nothing else of the engine.
"""

import logging
import os
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.events.error import BackgroundEvent, ErrorEvent, WarningEvent
from pycodex.protocol.events.goal import ThreadGoal
from pycodex.protocol.events.turn import SessionConfigured
from pycodex.protocol.events.union import AnyEvent
from pycodex.protocol.ids import new_thread_id, new_turn_id
from pycodex.protocol.ops import ClearGoal, SetGoal
from pycodex.protocol.permissions import told_as_legacy
from pycodex.protocol.rollout import SessionMeta, timestamp_of
from pycodex.protocol.user_turns import before_last_user_turns
from pycodex.supervisor.auth.credentials import Credentials
from pycodex.supervisor.auth.keeper import LoginKeeper
from pycodex.supervisor.config.config import Config, web_search_for
from pycodex.supervisor.context.history import History
from pycodex.supervisor.model.catalog import unknown_model_warning
from pycodex.supervisor.model.client import ModelClient
from pycodex.supervisor.model.headers import Identity
from pycodex.supervisor.model.usage import UsageLedger
from pycodex.supervisor.net.http import Http, open_http
from pycodex.supervisor.policy.approvals import Approvals
from pycodex.supervisor.policy.rules import Rules
from pycodex.supervisor.rollout.thread_files import forked_file, goal_in, new_file, replayed
from pycodex.supervisor.rollout.writer import RolloutWriter
from pycodex.supervisor.session.basis import ThreadModel, basis_of
from pycodex.supervisor.session.codex_thread import CodexThread
from pycodex.supervisor.session.goals import Goals
from pycodex.supervisor.session.journal import Journal
from pycodex.supervisor.session.notify import Notifier
from pycodex.supervisor.session.opening import tell_context
from pycodex.supervisor.session.outbox import Outbox
from pycodex.supervisor.session.session import Session
from pycodex.supervisor.session.state import ThreadState
from pycodex.supervisor.tools.dynamic_tools import declared, stored_tools
from pycodex.supervisor.tools.login_shells import LoginShells
from pycodex.supervisor.tools.processes import Processes
from pycodex.supervisor.tools.programs import Programs
from pycodex.supervisor.tools.services import ToolServices
from pycodex.supervisor.tools.spool import Spools
from pycodex.supervisor.version import VERSION
from pycodex.supervisor.workers.late_pool import LatePool, NoWorkers, open_late_pool
from pycodex.supervisor.workers.launch import Launched
from pycodex.supervisor.workspace.git import git_facts

if TYPE_CHECKING:
    from pycodex.protocol.items import Item
    from pycodex.supervisor.auth.web import WebAnswer, WebRequest
    from pycodex.supervisor.mcp.logins import McpLogins
    from pycodex.supervisor.rollout.listing import Filters, Page
    from pycodex.supervisor.rollout.reader import Replayed
    from pycodex.supervisor.session.children import ChildTerms

logger = logging.getLogger("pycodex.threads")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What only some front-ends ask of a thread, besides its configuration."""

    identity: Identity | None = None
    """Who asks; None: as the whole process says."""
    tells_work: bool = False
    """Whether the session file keeps what commands and patches did."""
    history: "Sequence[Item] | None" = None
    """What a new thread begins with."""
    pursues_goals: bool = False
    """Whether a thread that is resumed has its goal again. It waits for the first wish before it goes on."""
    tells_items: bool = False
    """Whether every item that is recorded is told."""
    drops_turns: int = 0
    """How many of the last turns a fork does without."""


_PLAIN_TERMS = Terms()


@dataclass(slots=True, kw_only=True)
class _Origin:
    """Where a thread starts from."""

    thread_id: str
    file: RolloutWriter
    instructions: str
    items: "list[Item]" = field(default_factory=list)
    reference_context: dict[str, Any] | None = None
    token_info: dict[str, Any] | None = None
    forked_from_id: str | None = None
    previous_model: str | None = None
    summaries: frozenset[str] = frozenset()
    dynamic_tools: tuple[dict[str, Any], ...] = ()
    goal: ThreadGoal | None = None
    rules: Rules = field(default_factory=Rules)
    terms: Terms = _PLAIN_TERMS
    is_copy: bool = False
    """Whether it begins with a history that another thread made: then the model is told all settings first."""
    notes: list[str] = field(default_factory=list)
    """What was found wrong with files that are done without."""

    @property
    def works_for_another(self) -> bool:
        return self.terms.identity is not None and self.terms.identity.subagent is not None


class ThreadManager:
    """Made by `open_threads`."""

    def __init__(
        self,
        pool: LatePool,
        http: Http,
        programs: Programs,
        *,
        identity: Identity,
        env: Mapping[str, str],
        nursery: trio.Nursery,
    ) -> None:
        self._pool = pool
        self._http = http
        self._identity = identity
        self._env = env
        self._nursery = nursery
        self._threads: dict[str, CodexThread] = {}
        self._programs = programs
        self._keepers: dict[str, LoginKeeper] = {}
        self._mcp_logins: dict[str, McpLogins] = {}
        self._resuming = trio.Lock()
        """Two at once would both find that the thread does not run yet."""

    @property
    def pool(self) -> LatePool:
        """The workers of all threads, for work that belongs to none."""
        return self._pool

    def keeper(self, codex_home: str) -> LoginKeeper:
        """Of the login that all threads of this home share."""
        if codex_home not in self._keepers:
            self._keepers[codex_home] = LoginKeeper(
                codex_home, env=self._env, send=self.send, spawn=self._nursery.start_soon
            )
        return self._keepers[codex_home]

    def mcp_logins(self, codex_home: str) -> "McpLogins":
        """To MCP servers; the same for all threads of this home."""
        if codex_home not in self._mcp_logins:
            from pycodex.supervisor.mcp.logins import McpLogins

            self._mcp_logins[codex_home] = McpLogins(
                codex_home, env=self._env, send=self.send, spawn=self._nursery.start_soon
            )
        return self._mcp_logins[codex_home]

    async def send(self, request: "WebRequest") -> "WebAnswer":
        """Ask whoever gives out logins. Raises Unreachable."""
        from pycodex.supervisor.model.web import sender

        return await sender(self._http, self._identity)(request)

    async def start(
        self,
        config: Config,
        *,
        source: "str | dict[str, Any]",
        dynamic_tools: Iterable[object] = (),
        rules: Rules | None = None,
        terms: Terms = _PLAIN_TERMS,
    ) -> CodexThread:
        """A new thread. Its file comes into being with its first turn, unless the configuration wants none.

        `dynamic_tools` are maps that declare tools of the client's; raises BadDeclaration.
        """
        tools = declared(dynamic_tools)
        model = ThreadModel(config)
        thread_id = new_thread_id()
        instructions = model.instructions(config)
        meta = self._meta(config, thread_id, source=source, instructions=instructions, terms=terms)
        meta = meta.replace(dynamic_tools=tools or None)
        history = list(terms.history or ())
        file = RolloutWriter.ephemeral() if config.ephemeral else new_file(config.codex_home, meta, history)
        origin = _Origin(thread_id=thread_id, file=file, instructions=instructions, dynamic_tools=tools, terms=terms)
        origin.rules = rules or origin.rules
        origin.items, origin.is_copy = history, terms.history is not None
        return await self._open(config, model, origin)

    async def resume(
        self, config: Config, path: str, *, rules: Rules | None = None, terms: Terms = _PLAIN_TERMS
    ) -> CodexThread:
        """Go on with the thread of a session file. Raises RolloutUnreadable or RolloutUnwritable."""
        async with self._resuming:
            stored = await replayed(path)
            running = self._threads.get(stored.meta.id)
            if running is not None:
                if running.works_for_another:
                    # Whoever else read its events would take them from the thread that waits for them.
                    raise UserFacing(f"thread {stored.meta.id} works for another thread; wait for its end")
                return running
            model = ThreadModel(config)
            instructions = model.instructions(config, stored.meta.base_instructions)
            goal = await goal_in(path, stored.meta.id) if terms.pursues_goals else None
            origin = _origin_of(stored, RolloutWriter.resumed(path), instructions)
            origin.rules = rules or origin.rules
            origin.terms = terms
            origin.goal = goal
            return await self._open(config, model, origin)

    async def fork(
        self,
        config: Config,
        path: str,
        *,
        source: "str | dict[str, Any]",
        rules: Rules | None = None,
        terms: Terms = _PLAIN_TERMS,
    ) -> CodexThread:
        """A new thread that begins with what another one holds."""
        stored = await replayed(path)
        model = ThreadModel(config)
        instructions = model.instructions(config, stored.meta.base_instructions)
        meta = self._meta(config, new_thread_id(), source=source, instructions=instructions, terms=terms).replace(
            forked_from_id=stored.meta.id, dynamic_tools=stored.meta.dynamic_tools
        )
        if config.ephemeral:
            file = RolloutWriter.ephemeral()
        else:
            file = await forked_file(config.codex_home, meta, path, drops_turns=terms.drops_turns)
        origin = _origin_of(stored, file, instructions)
        del origin.items[before_last_user_turns(origin.items, terms.drops_turns) :]
        origin.thread_id = meta.id
        origin.forked_from_id = stored.meta.id
        # The settings of the origin are not what this thread was told.
        origin.reference_context = None
        origin.rules = rules or origin.rules
        origin.terms = terms
        origin.is_copy = True
        return await self._open(config, model, origin)

    def _meta(
        self, config: Config, thread_id: str, *, source: "str | dict[str, Any]", instructions: str, terms: Terms
    ) -> SessionMeta:
        facts = git_facts(config.cwd)
        return SessionMeta(
            id=thread_id,
            timestamp=timestamp_of(time.time()),
            cwd=config.cwd,
            originator=(terms.identity or self._identity).originator,
            pycodex=VERSION,
            source=source,
            model_provider=config.provider.id,
            base_instructions=instructions,
            git=facts.to_meta() if facts is not None else None,
        )

    async def _open(self, config: Config, model: ThreadModel, origin: _Origin) -> CodexThread:
        thread: CodexThread = await self._nursery.start(partial(self._live, config, model, origin))
        return thread

    async def _live(
        self, config: Config, model: ThreadModel, origin: _Origin, *, task_status: trio.TaskStatus[CodexThread]
    ) -> None:
        """One thread from its first to its last event. Whatever goes wrong in it stays in it once it has begun."""
        outbox = Outbox()
        session: Session | None = None
        has_begun = False
        failure: Exception | None = None
        try:
            async with trio.open_nursery() as nursery:
                try:
                    session = Session(self._state(config, model, origin, outbox=outbox, nursery=nursery), nursery)
                    if origin.is_copy:
                        _tell_context(session.state)
                    first = _first_events(config, model, origin)
                    thread = self._introduced(session, outbox, origin, events=first)
                    if any(server.enabled for server in config.mcp_servers.values()):
                        await session.open_servers(config.mcp_servers, self.mcp_logins(config.codex_home))
                    task_status.started(thread)
                    has_begun = True
                    await session.run()
                except Exception as error:
                    # Told below: a nursery would wrap it.
                    failure = error
                nursery.cancel_scope.cancel()
        except Exception as error:
            failure = error
        finally:
            if failure is not None and has_begun:
                logger.error("thread %s failed", origin.thread_id, exc_info=failure)
                outbox.put(ErrorEvent(message=f"the thread ended unexpectedly: {failure}"))
            self._threads.pop(origin.thread_id, None)
            origin.file.close()
            outbox.close()
            if session is not None:
                session.over.set()
        if failure is not None and not has_begun:
            raise failure

    def _introduced(
        self, session: Session, outbox: Outbox, origin: _Origin, *, events: Iterator[AnyEvent]
    ) -> CodexThread:
        """The thread, known from now on, with its first events told."""
        thread = CodexThread(session, outbox, rollout_path=origin.file.path, works_for_another=origin.works_for_another)
        self._threads[thread.thread_id] = thread
        for event in events:
            session.state.journal.tell(event)
        return thread

    def _state(
        self, config: Config, model: ThreadModel, origin: _Origin, *, outbox: Outbox, nursery: trio.Nursery
    ) -> ThreadState:
        history = History()
        history.record(origin.items, model.info.truncation)
        terms = origin.terms
        journal = Journal(history, origin.file, outbox, tells_work=terms.tells_work, tells_items=terms.tells_items)
        usage = UsageLedger()
        usage.seed(origin.token_info)
        goals = Goals(origin.thread_id, journal, usage, stored=origin.goal)
        identity = terms.identity or self._identity
        basis = basis_of(
            config,
            model,
            thread_id=origin.thread_id,
            instructions=origin.instructions,
            env=self._env,
            rules=origin.rules,
        )
        origin.notes += basis.notes
        return ThreadState(
            thread_id=origin.thread_id,
            settings=basis.settings,
            turns=basis.turns,
            journal=journal,
            client=self._client(config, identity, origin.thread_id),
            stream_max_retries=config.provider.stream_max_retries,
            tools=replace(self._tool_services(config, basis.command_env, nursery, origin), goals=goals),
            notifier=Notifier(config.notify, self._env, client=identity.client_name),
            skills=basis.skills,
            around=basis.around,
            open_child=partial(self._child, config, origin),
            review_model=config.review_model,
            verbosity=config.model_verbosity,
            service_tier=config.service_tier,
            reference_context=origin.reference_context,
            previous_model=origin.previous_model,
            summaries=set(origin.summaries),
            compact_prompt=config.compact_prompt,
            usage=usage,
            goals=goals,
        )

    def _client(self, config: Config, identity: Identity, thread_id: str) -> ModelClient:
        store = config.cli_auth_credentials_store
        credentials = Credentials(self._env, self.keeper(config.codex_home), store=store)
        return ModelClient(self._http, config.provider, credentials, identity, thread_id)

    @asynccontextmanager
    async def _child(self, config: Config, origin: _Origin, terms: "ChildTerms") -> AsyncIterator[CodexThread]:
        """A thread that works for the one with this configuration and origin, and that ends with the block."""
        from pycodex.supervisor.session.children import child_config

        identity = replace(origin.terms.identity or self._identity, subagent=terms.kind)
        thread = await self.start(
            child_config(config, terms),
            source={"subagent": terms.kind},
            rules=origin.rules,
            terms=Terms(identity=identity),
        )
        try:
            yield thread
        finally:
            with trio.CancelScope(shield=True):
                await thread.shut_down()

    def _tool_services(
        self, config: Config, env: Mapping[str, str], nursery: trio.Nursery, origin: _Origin
    ) -> ToolServices:
        programs_dir = self._programs.directory(config.codex_home)
        spools = None if config.ephemeral else Spools(config.codex_home, env["CODEX_THREAD_ID"])
        return ToolServices(
            pool=self._pool,
            processes=Processes(self._pool, nursery.start_soon, spools),
            codex_home=config.codex_home,
            env=env,
            logins=LoginShells(
                self._pool,
                nursery.start_soon,
                fixed=config.shell_environment_policy.set,
                programs_dir=programs_dir,
            ),
            programs_dir=programs_dir,
            allow_login_shell=config.allow_login_shell,
            background_max_ms=config.background_terminal_max_timeout_ms,
            limits=config.limits,
            landlock_only=config.landlock_only,
            deny_read_defaults=config.deny_read_defaults,
            web_search_mode=partial(web_search_for, config),
            web_search_options=config.web_search_options,
            dynamic_tools=origin.dynamic_tools,
            approvals=Approvals(origin.rules),
            asks_person=not origin.works_for_another,
        )

    def list(
        self,
        codex_home: str,
        filters: "Filters",
        *,
        cursor: str | None = None,
        limit: int = 25,
        sort: str = "created_at",
        oldest_first: bool = False,
    ) -> "Page":
        """A page of the threads that have a file. Raises UserFacing for a bad cursor."""
        from pycodex.supervisor.rollout import listing

        return listing.list_threads(
            codex_home, filters, cursor=cursor, limit=limit, sort=sort, oldest_first=oldest_first
        )

    async def wish_for_goal(self, path: str, thread_id: str, wish: SetGoal | ClearGoal) -> AnyEvent:
        """Have a wish about the goal of a thread that does not run written down; gives the event that answers it."""
        from pycodex.supervisor.session.goals_on_disk import record_wish

        async with self._resuming:
            if thread_id in self._threads:
                raise UserFacing(f"thread {thread_id} is being loaded; try again")
            return await record_wish(path, thread_id, wish, stored=await goal_in(path, thread_id))

    async def archive(self, codex_home: str, thread_id: str) -> str:
        """Put a thread aside; one that runs is ended first. Gives where its file is now."""
        from pycodex.supervisor.rollout import archive

        thread = self._threads.get(thread_id)
        if thread is not None:
            await thread.shut_down()
        return archive.archive(codex_home, thread_id)

    def unarchive(self, codex_home: str, thread_id: str) -> str:
        from pycodex.supervisor.rollout import archive

        return archive.unarchive(codex_home, thread_id)

    async def shut_down(self) -> None:
        """End every thread in good order."""
        threads = tuple(self._threads.values())
        for thread in threads:
            thread.close()
        for thread in threads:
            await thread.ended()


def _tell_context(state: ThreadState) -> None:
    turn = state.turns.turn(state.settings, turn_id=new_turn_id(), output_schema=None)
    state.reference_context = tell_context(state.journal, turn, state.around)


def _origin_of(stored: "Replayed", file: RolloutWriter, instructions: str) -> _Origin:
    return _Origin(
        thread_id=stored.meta.id,
        file=file,
        instructions=instructions,
        items=stored.items,
        reference_context=stored.reference_context,
        token_info=stored.token_info,
        previous_model=stored.previous_model,
        summaries=stored.summaries,
        dynamic_tools=stored_tools(stored.meta.dynamic_tools),
    )


def _first_events(config: Config, model: ThreadModel, origin: _Origin) -> Iterator[AnyEvent]:
    yield SessionConfigured(
        session_id=origin.thread_id,
        forked_from_id=origin.forked_from_id,
        model=model.name,
        model_provider_id=config.provider.id,
        approval_policy=config.approval_policy,
        sandbox_policy=told_as_legacy(config.permissions),
        cwd=config.cwd,
        reasoning_effort=config.model_reasoning_effort,
        rollout_path=origin.file.path,
    )
    for note in origin.notes:
        yield BackgroundEvent(message=note)
    for warning in config.warnings:
        yield WarningEvent(message=warning)
    if not model.info.is_known:
        yield WarningEvent(message=unknown_model_warning(model.name))
    previous = origin.previous_model
    if previous is not None and previous != model.name:
        yield WarningEvent(
            message=f"This session was recorded with model `{previous}` but is resuming with `{model.name}`. "
            f"Consider switching back to `{previous}` as it may affect Codex performance."
        )


async def _open_after_first_request(http: Http, pool: LatePool) -> None:
    await http.first_sent.wait()
    # Without workers there are no commands to read either; whoever needs one is told.
    with suppress(NoWorkers):
        await pool.ready()
        # The first command would otherwise wait for the grammar of shells, and for what is asked of it.
        from pycodex.supervisor.policy.summaries import parsed_cmd

        parsed_cmd(("sh", "-c", "true"))


@asynccontextmanager
async def open_threads(
    *, identity: Identity, env: Mapping[str, str] = os.environ, launched: Launched | None = None
) -> AsyncIterator[ThreadManager]:
    """The engine for the time of the block. Afterwards no thread, no process and no connection of it is left."""
    raised: BaseException | None = None
    with closing(Programs()) as programs:
        async with (
            open_late_pool(env, launched) as pool,
            open_http(env) as http,
            trio.open_nursery() as nursery,
        ):
            threads = ThreadManager(pool, http, programs, identity=identity, env=env, nursery=nursery)
            nursery.start_soon(_open_after_first_request, http, pool)
            try:
                yield threads
            except BaseException as error:
                # Raised below: a nursery would wrap it.
                raised = error
                nursery.cancel_scope.cancel()
            else:
                await threads.shut_down()
                nursery.cancel_scope.cancel()
    if raised is not None:
        raise raised
