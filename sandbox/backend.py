"""The choice of a backend for this host, and the report of what it enforces.

Backends are imported inside functions: only the one that is used is ever loaded.
"""

import sys

from pycodex.protocol.confinement import NO_LEVEL, Enforced, Unenforceable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pycodex.linux_sandbox.engine import Engine


_loaded: "list[Engine]" = []


def host_backend() -> "Engine":
    if _loaded:
        return _loaded[0]
    if sys.platform != "linux":
        raise Unenforceable(f"no sandbox backend for {sys.platform}")
    from pycodex.linux_sandbox.engine import Engine

    _loaded.append(Engine())
    return _loaded[0]


def host_report() -> Enforced:
    """What this host enforces, found out by doing it in a child process."""
    try:
        return host_backend().examine()
    except Unenforceable as error:
        return Enforced(level=NO_LEVEL, degraded=(str(error),))
