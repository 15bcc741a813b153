"""Resource limits that the kernel keeps for a process and what it starts."""

import errno

from pycodex.linux_sandbox import kernel
from pycodex.protocol.confinement import Limits, Unenforceable

_PROCESSES_TO_SPARE = 16
_CPU, _FILE_SIZE, _CORE, _PROCESSES, _OPEN_FILES = 0, 1, 4, 6, 7


def apply(limits: Limits, *, own_user_namespace: bool) -> None:
    """Memory is watched by the worker instead: an address-space limit breaks programs that only reserve it.

    So are processes, with a reason when they are too many; the kernel only bounds what a bomb can do until the next
    look. It counts by user: only in a user namespace of its own is that the call's number.
    """
    _set(_CORE, 0, "core size")
    _set(_CPU, limits.cpu_seconds, "cpu_seconds")
    _set(_FILE_SIZE, limits.file_bytes, "file_bytes")
    _set(_OPEN_FILES, limits.open_files, "open_files")
    if own_user_namespace and limits.processes is not None:
        _set(_PROCESSES, 2 * limits.processes + _PROCESSES_TO_SPARE, "processes")


def _set(resource: int, value: "int | None", name: str) -> None:
    if value is None:
        return
    # The soft CPU limit ends the command with SIGXCPU, which names the cause; the hard one is for those that ignore it.
    hard = value + 1 if resource == _CPU else value
    try:
        kernel.call("prlimit64", 0, resource, value.to_bytes(8, "little") + hard.to_bytes(8, "little"), None)
    except OSError as error:
        if error.errno == errno.EPERM:
            raise Unenforceable(f"limit {name} = {value} is above this system's own limit: lower it") from None
        raise
