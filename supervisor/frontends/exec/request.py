"""What one `pycodex exec` was asked to do, as its command line says it.

Owns the value and nothing else: nothing here is resolved, read or checked against the configuration. A Record, because
it is needed before the zygote is started, and everything before that makes everything after it late.
"""

from pycodex.protocol.record import Record


class ResumeTarget(Record):
    """The thread to go on with. `last` is the newest of this directory, with `all` of any directory."""

    session_id: "str | None" = None
    last: "bool" = False
    all: "bool" = False


class ReviewScope(Record):
    """What is to be reviewed. Without any of these, what the prompt says."""

    uncommitted: "bool" = False
    base: "str | None" = None
    commit: "str | None" = None
    title: "str | None" = None
    """Of the commit, to be shown."""


class ExecRequest(Record):
    prompt: "str | None" = None
    """None: it comes from stdin; so it does, without a word about it, for `-`."""
    images: "tuple[str, ...]" = ()
    model: "str | None" = None
    oss: "bool" = False
    local_provider: "str | None" = None
    profile: "str | None" = None
    sandbox_mode: "str | None" = None
    full_auto: "bool" = False
    """Beats `bypass`, which beats `sandbox_mode`."""
    bypass: "bool" = False
    cd: "str | None" = None
    add_dirs: "tuple[str, ...]" = ()
    skip_git_repo_check: "bool" = False
    """`bypass` implies it."""
    ephemeral: "bool" = False
    output_schema: "str | None" = None
    color: "str" = "auto"
    json: "bool" = False
    last_message_file: "str | None" = None
    resume: "ResumeTarget | None" = None
    review: "ReviewScope | None" = None
    """None: the prompt is a task."""
    overrides: "tuple[str, ...]" = ()
    """Texts `key=value`, in the order in which they apply."""
