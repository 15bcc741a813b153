"""Loading of the shipped system call filters.

Picks the layers for a process, reads their BPF once and hands it to the kernel as it is. What the layers forbid, and
why, is in `seccomp_build`, which made the files and is never needed here.
"""

import os

from pycodex.linux_sandbox import kernel
from pycodex.protocol.confinement import Unenforceable

_SET_MODE_FILTER = 1
# Without it kernels before 5.16 switch off speculation for every filtered process, which costs a tenth of its speed.
_FLAG_SPEC_ALLOW = 4
_INSTRUCTION_BYTES = 8
_MOST_INSTRUCTIONS = 4096
_ARCHITECTURES = {"x86_64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}

_layers: "dict[str, bytes]" = {}


def program(
    *,
    network: bool,
    own_namespaces: bool = True,
    freeze_metadata: bool = False,
    scoped_signals: bool = True,
    superuser: bool = False,
    own_group: bool = True,
) -> "tuple[bytes, ...]":
    """The layers for a confined process, to be loaded in order.

    `own_namespaces`: it has pid and ipc namespaces of its own. `freeze_metadata`: it may write nowhere, and there is no
    read-only mount to keep it from changing modes, owners, times and attributes. `scoped_signals`: Landlock keeps its
    signals inside; without that and without a pid namespace it can signal its own process group only. `superuser`: it
    is root, whose files can do more harm later. `own_group`: whoever started the command is not in its process group.
    """
    names = [("online" if network else "offline") + ("-root" if superuser else "")]
    if not own_namespaces:
        names.append("shared")
        if not scoped_signals:
            names.append("unscoped")
    if freeze_metadata:
        names.append("frozen")
    if not own_group:
        names += ["grouped"] if scoped_signals else ["grouped", "leashed"]
    return tuple(_layer(name) for name in names)


def load(layers: "tuple[bytes, ...]") -> None:
    """Bind this thread and what it starts, for good. Sets no_new_privs, without which the kernel refuses."""
    kernel.no_new_privileges()
    for layer in layers:
        # struct sock_fprog: a count and, after padding, a pointer.
        header = (len(layer) // _INSTRUCTION_BYTES).to_bytes(8, "little")
        header += kernel.address_of(layer).to_bytes(8, "little")
        kernel.call("seccomp", _SET_MODE_FILTER, _FLAG_SPEC_ALLOW, header)


def _layer(name: str) -> bytes:
    data = _layers.get(name)
    if data is None:
        data = _layers[name] = _read(_path_of(name))
    return data


def _path_of(name: str) -> str:
    machine = os.uname().machine
    arch = _ARCHITECTURES.get(machine)
    if arch is None:
        raise Unenforceable(f"there is no system call filter for {machine} (only for x86_64 and aarch64)")
    return f"{os.path.dirname(__file__)}/bpf/{arch}-{name}.bpf"


def _read(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise Unenforceable(f"the system call filter {path} cannot be read: {error.strerror}") from None
    try:
        most = _MOST_INSTRUCTIONS * _INSTRUCTION_BYTES
        data = os.read(fd, most + 1)
    finally:
        os.close(fd)
    if not data or len(data) > most or len(data) % _INSTRUCTION_BYTES:
        raise Unenforceable(f"the system call filter {path} is damaged ({len(data)} bytes): install pycodex again")
    return data
