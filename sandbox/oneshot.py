"""One confined command in the caller's terminal, on whatever platform this is.

Owns the choice of backend and nothing else; imported on the lean path of `pycodex sandbox`.
"""

import sys

from pycodex.protocol.confinement import Confinement, Outcome, Unenforceable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def run_once(confinement: Confinement, *, argv: "Sequence[str]", cwd: str, env: "Mapping[str, str]") -> Outcome:
    """Run with this process's stdin, stdout and stderr. Raises Unenforceable, or CannotExec."""
    if sys.platform != "linux":
        raise Unenforceable(f"no sandbox backend for {sys.platform}")
    from pycodex.linux_sandbox import once

    return once.run_once(confinement, argv=argv, cwd=cwd, env=env)
