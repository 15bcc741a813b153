"""Deadlines that stand still while a person is asked.

Owns how much time each request has left. A server that puts a question to the person must not lose its request because
they took their time to answer.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import trio


class Patience:
    def __init__(self) -> None:
        self._left_s: dict[trio.CancelScope, float] = {}
        """What each scope had left when the clocks were stopped."""
        self._scopes: set[trio.CancelScope] = set()
        self._pauses = 0

    @contextmanager
    def limit(self, seconds: float | None) -> Iterator[trio.CancelScope]:
        """A scope that is cancelled after so many seconds, not counting pauses. None: never."""
        scope = trio.CancelScope()
        self._scopes.add(scope)
        if seconds is not None:
            if self._pauses:
                self._left_s[scope] = seconds
            else:
                scope.deadline = trio.current_time() + seconds
        try:
            with scope:
                yield scope
        finally:
            self._scopes.discard(scope)
            self._left_s.pop(scope, None)

    @contextmanager
    def paused(self) -> Iterator[None]:
        self._pauses += 1
        if self._pauses == 1:
            self._stop()
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                self._go_on()

    def _stop(self) -> None:
        now = trio.current_time()
        for scope in self._scopes:
            if scope.deadline != math.inf:
                self._left_s[scope] = scope.deadline - now
                scope.deadline = math.inf

    def _go_on(self) -> None:
        now = trio.current_time()
        for scope, left_s in self._left_s.items():
            scope.deadline = now + left_s
        self._left_s.clear()
