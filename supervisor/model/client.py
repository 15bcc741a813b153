"""Asking a Responses API over HTTP, and reading its answer as events.

Owns the sequence: choose the token, encode, send, retry what may be retried before an answer has begun, read with an
idle timeout, let go of the connection. What events mean is `events`' business, what failures say is `failures`'. The
turn loop retries streams that broke midway: only it can tell about them.
"""

from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Self

import trio

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.credentials import Credentials, Token
from pycodex.supervisor.config.provider import Provider
from pycodex.supervisor.model.events import EventReader
from pycodex.supervisor.model.failures import status_failed, stream_broke
from pycodex.supervisor.model.headers import Identity, RequestFacts, request_headers
from pycodex.supervisor.model.rate_limits import snapshots_in
from pycodex.supervisor.model.request import BodyEncoder, Prompt
from pycodex.supervisor.model.retry import backoff, budget
from pycodex.supervisor.model.stream import (
    Completed,
    ModelFailure,
    RateLimitsSeen,
    ReasoningIncluded,
    ServerModel,
    StreamEvent,
)
from pycodex.supervisor.net.http import Answer, Http, NetworkFailure
from pycodex.supervisor.net.sse import EventTooLarge, SseDecoder

OPENAI_NAME = "OpenAI"
OPENAI_URL = "https://api.openai.com/v1"
CHATGPT_URL = "https://chatgpt.com/backend-api/codex"
_TURN_STATE = "x-codex-turn-state"
_MOST_REFUSAL_BYTES = 1 << 20
_MOST_REFUSAL_S = 10.0


class ModelClient:
    """Made once per session; asks one provider."""

    def __init__(
        self, http: Http, provider: Provider, credentials: Credentials, identity: Identity, thread_id: str
    ) -> None:
        self._http = http
        self._provider = provider
        self._credentials = credentials
        self._identity = identity
        self._thread_id = thread_id
        self._lane = http.lane()
        self._encoder = BodyEncoder(provider)

    def turn(self, metadata: Callable[[], str | None]) -> "ResponsesTurn":
        """The model for one turn. `metadata` gives the turn's header as far as it is known when a request is made."""
        return ResponsesTurn(self, metadata)

    async def _token(self) -> Token | None:
        try:
            return await self._credentials.token_for(self._provider)
        except UserFacing as error:
            raise ModelFailure(str(error), retryable=False) from error

    @property
    def compacts_itself(self) -> bool:
        """Whether the provider makes a long history shorter by itself (`compacted`)."""
        return self._provider.name == OPENAI_NAME

    async def compacted(self, prompt: Prompt) -> list[object]:
        """The items that the provider puts in the place of the prompt's."""
        from pycodex.supervisor.model.compacted import read_compacted

        facts = RequestFacts(thread_id=self._thread_id)
        answer = await self._ask("responses/compact", self._encoder.encode_for_compaction(prompt), facts)
        try:
            return await read_compacted(answer, idle_s=self.idle_s)
        finally:
            await answer.drop()

    async def ask(self, prompt: Prompt, facts: RequestFacts) -> Answer:
        """The head of a good answer, after as many attempts as the provider's entry grants."""
        return await self._ask("responses", self._encoder.encode(prompt), facts)

    async def _token_instead(self, refused: Token) -> Token | None:
        """A newer one of the same ChatGPT login."""
        from pycodex.supervisor.auth.grants import RefreshFailed

        try:
            return await self._credentials.after_refusal(refused)
        except RefreshFailed as error:
            raise ModelFailure(str(error), retryable=True) from error
        except UserFacing as error:
            raise ModelFailure(str(error), retryable=False, info="unauthorized") from error

    async def _ask(self, path: str, body: bytes, facts: RequestFacts) -> Answer:
        token = await self._token()
        attempt = 0
        while True:
            url = responses_url(self._provider, token, path)
            headers = request_headers(self._provider, token, self._identity, facts, env=self._credentials.env)
            try:
                return await self._ask_once(url, headers, body)
            except _Unanswered as unanswered:
                if unanswered.failure.http_status == 401 and token is not None and token.login is not None:
                    if token.is_newest:
                        raise _hopeless(unanswered.failure) from unanswered
                    token = await self._token_instead(token)
                    continue
                attempt += 1
                if unanswered.is_final or attempt > budget(self._provider.request_max_retries):
                    raise unanswered.failure from unanswered
            await trio.sleep(backoff(attempt))

    async def _ask_once(self, url: str, headers: list[tuple[str, str]], body: bytes) -> Answer:
        answer = None
        try:
            with trio.move_on_after(self.idle_s):
                answer = await self._http.post(url, headers, body, lane=self._lane)
        except NetworkFailure as error:
            reason = f"error sending request for url ({url}): {error.reason}"
            failure = ModelFailure(reason, retryable=False) if error.is_permanent else stream_broke(reason)
            raise _Unanswered(failure, is_final=error.is_permanent) from error
        if answer is None:
            raise _Unanswered(EventReader().idle(), is_final=False)
        if 200 <= answer.status < 300:
            return answer
        refusal = await answer.text(most_bytes=_MOST_REFUSAL_BYTES, seconds=_MOST_REFUSAL_S)
        failure = status_failed(answer.status, answer.headers, refusal, url=url)
        raise _Unanswered(failure, is_final=answer.status < 500)

    @property
    def idle_s(self) -> float:
        return self._provider.stream_idle_timeout_ms / 1000

    @property
    def thread_id(self) -> str:
        return self._thread_id


class _Unanswered(Exception):
    """One attempt failed before the answer began."""

    def __init__(self, failure: ModelFailure, *, is_final: bool) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.is_final = is_final


def _hopeless(failure: ModelFailure) -> ModelFailure:
    """Refused with tokens that are as new as can be: no further attempt will be answered otherwise."""
    return ModelFailure(failure.message, retryable=False, info="unauthorized", http_status=failure.http_status)


def responses_url(provider: Provider, token: Token | None, path: str = "responses") -> str:
    """Where to send, with the provider's parameters as they are: they may be escaped already."""
    base = provider.base_url
    if base is None:
        base = CHATGPT_URL if token is not None and token.is_chatgpt else OPENAI_URL
    query = "&".join(f"{name}={value}" for name, value in provider.query_params.items())
    url = f"{base.rstrip('/')}/{path}"
    return f"{url}?{query}" if query else url


class ResponsesTurn:
    """The model for one turn: the first answer's routing token goes out again with every later request of it."""

    def __init__(self, client: ModelClient, metadata: Callable[[], str | None]) -> None:
        self._client = client
        self._metadata = metadata
        self._turn_state: str | None = None

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        facts = RequestFacts(
            thread_id=self._client.thread_id, turn_metadata=self._metadata(), turn_state=self._turn_state
        )
        answer = await self._client.ask(prompt, facts)
        try:
            self._turn_state = self._turn_state or answer.headers.get(_TURN_STATE)
            yield ResponseEvents(answer, idle_s=self._client.idle_s)
        finally:
            await answer.drop()


class ResponseEvents:
    """The events of one answer, read as they are asked for."""

    def __init__(self, answer: Answer, *, idle_s: float) -> None:
        self._answer = answer
        self._idle_s = idle_s
        self._decoder = SseDecoder()
        self._data: deque[str] = deque()
        self._ready = deque(_events_of_head(answer))
        self._reader = EventReader(answer.headers.get("openai-model"))
        self._is_over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StreamEvent:
        while not self._ready:
            if self._is_over:
                raise StopAsyncIteration
            if not self._data:
                await self._receive()
            self._ready.extend(self._reader.read(self._data.popleft()))
        event = self._ready.popleft()
        if isinstance(event, Completed):
            # Whatever follows is of no interest to anybody.
            self._is_over = True
            self._ready.clear()
            self._answer.release()
        return event

    async def _receive(self) -> None:
        """Read until an event is whole. Only events count against the idle timeout: a server can be busy saying
        nothing."""
        try:
            with trio.move_on_after(self._idle_s):
                while not self._data:
                    chunk = await self._answer.chunk()
                    if chunk is not None:
                        self._data.extend(self._decoder.feed(chunk))
                        continue
                    self._data.extend(self._decoder.finish())
                    if not self._data:
                        raise self._reader.closed()
        except NetworkFailure as error:
            raise self._reader.broken(error.reason) from error
        except EventTooLarge as error:
            raise ModelFailure(str(error), retryable=False) from error
        if not self._data:
            raise self._reader.idle()


def _events_of_head(answer: Answer) -> list[StreamEvent]:
    """What the headers tell."""
    events: list[StreamEvent] = []
    if "openai-model" in answer.headers:
        events.append(ServerModel(answer.headers["openai-model"]))
    events.extend(map(RateLimitsSeen, snapshots_in(answer.headers)))
    if "x-reasoning-included" in answer.headers:
        events.append(ReasoningIncluded())
    return events
