"""Tells a program of the user's own choice that a turn is complete.

Owns the message and the start of the program. It is the user's: it runs unconfined, with their environment, detached
from us, and nobody waits for it. Whatever is wrong with it is logged and disturbs no turn.
"""

import json
import logging
import os
import signal
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pycodex.protocol.turn_context import TurnContext
from pycodex.protocol.user_turns import is_user_turn
from pycodex.supervisor.text.kept_messages import text_of

if TYPE_CHECKING:
    from pycodex.protocol.items import Item

# Ours are not the program's: an interpreter ignores SIGPIPE, for one.
_DEFAULT_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD, signal.SIGPIPE)

logger = logging.getLogger("pycodex.notify")


class Notifier:
    """`argv` is `notify` of the configuration; without it nothing happens. `client` names the front-end."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], *, client: str | None) -> None:
        self._argv = tuple(argv)
        self._env = env
        self._client = client
        self._started: list[int] = []

    def turn_completed(self, turn: TurnContext, items: "Iterable[Item]", *, last_message: str | None) -> None:
        """`items` is the history that the model saw."""
        self._bury()
        if not self._argv:
            return
        said = [text_of(item) for item in items if is_user_turn(item)]
        try:
            self._started.append(self._start(self._message(turn, said, last_message)))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            logger.warning("the program of `notify`, %s, cannot be run: %s", self._argv[0], why)

    def _message(self, turn: TurnContext, said: Sequence[str], last_message: str | None) -> bytes:
        message = {
            "type": "agent-turn-complete",
            "thread-id": turn.thread_id,
            "turn-id": turn.turn_id,
            "cwd": turn.cwd,
            **({"client": self._client} if self._client else {}),
            "input-messages": said,
            "last-assistant-message": last_message,
        }
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    def _start(self, message: bytes) -> int:
        import shutil

        path = shutil.which(self._argv[0], path=self._env.get("PATH", os.defpath))
        if path is None:
            raise FileNotFoundError(None, "no such program")
        return os.posix_spawn(
            path,
            (*self._argv, message),
            self._env,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
            setsid=True,
            setsigmask=[],
            setsigdef=_DEFAULT_SIGNALS,
        )

    def _bury(self) -> None:
        """Those of earlier turns that have ended; the last ones are left to whoever survives us."""
        self._started = [pid for pid in self._started if not _has_ended(pid)]


def _has_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
