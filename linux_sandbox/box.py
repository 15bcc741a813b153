"""A process tree that can be ended as one.

Its first process is pid 1 of fresh namespaces (level `full`) or an ordinary collector of orphans (other levels). It
runs `body`: our own code, which confines itself, starts the command and reaps. The caller is its trusted parent and may
kill it at any time, which ends the rest.
"""

import os
import sys

from pycodex.linux_sandbox import kernel, namespaces
from pycodex.linux_sandbox.line import hear, tell
from pycodex.protocol.confinement import FULL, Unenforceable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_SIGKILL = 9


def fork_with_box(level: str, *, network: bool) -> "tuple[int, int]":
    """Start a trusted parent and the first process of its box, which calls `run_first_process`.

    As `namespaces.fork_with_child`. Only for processes with a single thread.
    """
    return namespaces.fork_with_child(fresh=level == FULL, with_network=network)


def forbidden(number: int) -> Unenforceable:
    return Unenforceable(f"this host forbids user namespaces ({os.strerror(number)})")


def open_box(level: str, *, network: bool, line: "tuple[int, int]", body: "Callable[[int], None]") -> int:
    """Start the first process and return its pid, without waiting for it: `confirm_birth` does.

    `line` is our end and the child's, which `body` gets. Raises Unenforceable if there are no namespaces to be had.
    """
    ours, theirs = line
    identity = os.getuid(), os.getgid()
    try:
        pid = namespaces.clone(with_network=network) if level == FULL else os.fork()
    except OSError as error:
        raise forbidden(error.errno or 0) from None
    if pid == 0:
        os.close(ours)
        run_first_process(level, identity, theirs, lambda to_parent: _be_born(to_parent, body))
    os.close(theirs)
    return pid


def _be_born(line: int, body: "Callable[[int], None]") -> None:
    tell(line, "born")
    body(line)


def confirm_birth(pid: int, line: int) -> None:
    """Raises Unenforceable, with the process gone, if its namespaces could not be set up."""
    answer = hear(line)
    if answer is None or answer[0] != "born":
        os.waitpid(pid, 0)
        raise stillborn(answer)


def stillborn(answer: "tuple[str, ...] | None") -> Unenforceable:
    reason = answer[1] if answer else "the first process was killed"
    return Unenforceable(f"this host does not let us set up namespaces ({reason})")


def run_first_process(level: str, identity: "tuple[int, int]", line: int, body: "Callable[[int], None]") -> None:
    """Never returns.

    Before all else `body` must say something on `line`: that fails if the parent died before we were bound to its life.
    """
    try:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, _SIGKILL)
        try:
            if level == FULL:
                namespaces.map_own_identity(*identity)
            else:
                kernel.become_subreaper()
        except OSError as error:
            tell(line, "failed", str(error))
            return
        body(line)
    except BrokenPipeError:
        # The parent was gone before the death signal was armed: there is nobody to tell.
        os._exit(1)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        kernel.end_process(1)
