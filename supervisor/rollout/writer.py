"""Writing a session file, the truth about a thread.

Owns the file: when it comes into being, that each line reaches it whole and in order, and what happens when it cannot
be written: the lines are kept, and the next attempt writes them first. Others may append to the same file. Knows
nothing of what the lines mean.
"""

import os
import time
from collections import deque
from typing import TYPE_CHECKING

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.rollout import SESSION_META, SessionMeta, line_now

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pycodex.protocol.rollout import Payload, RolloutLine


class RolloutUnwritable(UserFacing):
    def __init__(self, path: str, error: OSError) -> None:
        self.path = path
        self.reason = error.strerror or str(error)
        super().__init__(
            f"cannot write the session file {path}: {self.reason}. Nothing is lost yet: free some space or mend the "
            "permissions and go on, or use --ephemeral to work without a session file"
        )


def new_rollout_path(codex_home: str, thread_id: str, created_at: float) -> str:
    """Where the file of a new thread lies; the date is that of the person's own clock."""
    local = time.localtime(created_at)
    name = f"rollout-{time.strftime('%Y-%m-%dT%H-%M-%S', local)}-{thread_id}.jsonl"
    return os.path.join(codex_home, "sessions", time.strftime("%Y/%m/%d", local), name)


class RolloutWriter:
    """Made by `new`, `forked`, `resumed` or `ephemeral`.

    Once there is a file, a line is in it when `append` returns. `path` is known before; None: there never will be one.
    """

    def __init__(self, path: str | None, *, is_new: bool) -> None:
        self.path = path
        self._is_new = is_new
        self._is_materialised = not is_new
        self._waiting: deque[bytes] = deque()
        self._descriptor: int | None = None
        self._must_end_line = False

    @classmethod
    def new(cls, path: str, meta: SessionMeta) -> "RolloutWriter":
        """Nothing is on disk until `materialise`."""
        writer = cls(path, is_new=True)
        writer.append(SESSION_META, meta.to_payload())
        return writer

    @classmethod
    def forked(cls, path: str, lines: "Iterable[RolloutLine]") -> "RolloutWriter":
        """A new file that begins with these lines, on disk at once. Raises RolloutUnwritable."""
        writer = cls(path, is_new=True)
        try:
            writer.materialise()
            for line in lines:
                writer._waiting.append(line.encode())
                writer.flush()
        except BaseException:
            writer.close()
            raise
        return writer

    @classmethod
    def resumed(cls, path: str) -> "RolloutWriter":
        """Go on with an existing file. Raises RolloutUnwritable."""
        writer = cls(path, is_new=False)
        writer.flush()
        return writer

    @classmethod
    def ephemeral(cls) -> "RolloutWriter":
        """Keeps nothing."""
        return cls(None, is_new=True)

    def append(self, kind: str, payload: "Payload", figures: "Payload | None" = None) -> None:
        """Raises RolloutUnwritable; the line is then kept for the next attempt."""
        if self.path is not None:
            self._waiting.append(line_now(kind, payload, figures).encode())
            self.flush()

    @property
    def is_whole(self) -> bool:
        """Whether no line waits."""
        return not self._waiting

    def materialise(self) -> None:
        """Bring the file into being with what was appended so far. Raises RolloutUnwritable."""
        self._is_materialised = True
        self.flush()

    def flush(self) -> None:
        """Write what waits, if there is to be a file by now. Raises RolloutUnwritable."""
        if self.path is None or not self._is_materialised:
            return
        try:
            descriptor = self._opened(self.path)
            while self._waiting:
                self._write(descriptor, self._waiting[0])
                self._waiting.popleft()
        except OSError as error:
            raise RolloutUnwritable(self.path, error) from error

    def close(self) -> None:
        """What still waits is tried a last time; nobody is left to be told if that fails."""
        if self._waiting:
            try:
                self.flush()
            except RolloutUnwritable:
                pass
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _opened(self, path: str) -> int:
        if self._descriptor is None:
            flags = os.O_RDWR | os.O_APPEND
            if self._is_new:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                flags |= os.O_CREAT
            self._descriptor = os.open(path, flags, 0o666)
            # A line that somebody left unfinished must not swallow ours.
            if os.lseek(self._descriptor, 0, os.SEEK_END):
                os.lseek(self._descriptor, -1, os.SEEK_END)
                self._must_end_line = os.read(self._descriptor, 1) != b"\n"
        return self._descriptor

    def _write(self, descriptor: int, line: bytes) -> None:
        """One call of the system for the whole line, so that the lines of several writers do not mix."""
        data = b"\n" + line if self._must_end_line else line
        written = 0
        try:
            while written < len(data):
                written += os.write(descriptor, data[written:])
        except OSError:
            self._must_end_line = self._must_end_line or written > 0
            # Unless only its end is missing, the line is written again as a whole, behind the piece that got through.
            if written != len(data) - 1:
                raise
        else:
            self._must_end_line = False
