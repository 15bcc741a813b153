"""What one process may touch: the value that plans produce and backends enforce.

Owns the vocabulary between `sandbox` (which decides) and `linux_sandbox`, `seatbelt`, `windows_sandbox` (which enforce
exactly this or refuse). Crosses the wire to workers, so it is made of plain records. Does no I/O.
"""

import os

from pycodex.protocol.record import Record

WRITE = "write"
READ = "read"
NONE = "none"
PIN = "pin"
LINK = "link"

PLACEHOLDER_MODE = 0o1555
"""Mode of directories that stand in for missing protected names; nobody else makes such ones."""

FULL = "full"
LANDLOCK = "landlock"
UNCONFINED = "unconfined"
NO_LEVEL = "none"


class Entry(Record):
    """One path and what is granted at and below it, until a deeper entry says otherwise.

    `write`: readable and writable. `read`: readable only. `none`: neither; it may be missing, or a link, where the
    command could not create it. `pin`: as its parent, but the name can be neither renamed nor removed. `link`: a
    symbolic link that can be neither renamed nor removed. Paths are absolute and canonical: no component is a symbolic
    link (but the last, for `link`).
    """

    path: "str"
    access: "str"


class Limits(Record):
    """Resource limits of one call; None means that none is set. Core dumps are always off."""

    memory_bytes: "int | None" = None
    processes: "int | None" = None
    file_bytes: "int | None" = None
    open_files: "int | None" = None
    cpu_seconds: "int | None" = None


class Confinement(Record):
    """Everything a backend needs to know. `unconfined_because` is the only way to no sandbox at all, and says why."""

    base: "str" = READ
    """Access to whatever no entry names: `read` (the whole disk) or `none` (restricted reads)."""
    entries: "tuple[Entry, ...]" = ()
    placeholders: "tuple[str, ...]" = ()
    """Missing protected names: created empty for the time of the call, protected like `read`, removed afterwards."""
    ledger: "str" = ""
    """File that remembers placeholders, so that those of a killed run can be swept; empty: not remembered."""
    not_repositories: "tuple[str, ...]" = ()
    """Writable directories that git does not take for a repository, and must not take for one after the call."""
    hidden: "tuple[str, ...]" = ()
    """Directories of ours, covered wherever mounts are available; nothing can be gained from them elsewhere."""
    network: "bool" = False
    landlock_only: "bool" = False
    """The user accepts the weaker level where namespaces are forbidden."""
    unconfined_because: "str" = ""
    limits: "Limits" = Limits()


class Enforced(Record):
    """What the kernel really enforces, as reported by the process that applied it."""

    level: "str"
    landlock_abi: "int" = 0
    fs: "str" = "none"
    """`full`, `no-truncate`, `no-refer` or `none`: what Landlock covers."""
    net_tcp: "bool" = False
    scopes: "tuple[str, ...]" = ()
    ioctl_dev: "bool" = False
    userns: "bool" = False
    mountns: "bool" = False
    pidns: "bool" = False
    netns: "bool" = False
    ipcns: "bool" = False
    private_proc: "bool" = False
    seccomp: "bool" = False
    carveouts: "str" = "none"
    """`mount` (kernel enforced), `snapshot` (checked after the call) or `none`."""
    degraded: "tuple[str, ...]" = ()


class Unenforceable(Exception):
    """A rule that this host cannot enforce. The text names the rule and what would help; nothing was run."""


class CannotExec(Exception):
    """The command itself could not be started."""

    def __init__(self, number: int, subject: str) -> None:
        super().__init__(f"{subject}: {os.strerror(number)}")
        self.errno = number
        self.subject = subject


class Ended(Record):
    """How a command ended, as its init saw it: raw wait status and usage."""

    status: "int"
    cpu_ms: "float" = 0.0
    peak_rss_bytes: "int" = 0
    survivors: "bool" = False
    """It left processes behind, which end with the box."""
    processes: "int" = 0
    """How many processes and threads there were in all; 0 where nobody counts them."""


class Outcome(Record):
    """How the command ended. `interrupted_by` is the signal that made us end it."""

    enforced: "Enforced"
    code: "int | None" = None
    signal: "int | None" = None
    interrupted_by: "int | None" = None
    notes: "tuple[str, ...]" = ()
