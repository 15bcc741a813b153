"""What a call may touch that only reads.

Owns the step from a turn's confinement to the same view without the right to change it. A tool that reads then needs
none of the protection against changes, such as the placeholders for names that do not exist, which it would show. Pure.
"""

from pycodex.protocol.confinement import NONE, READ, WRITE, Confinement, Entry


def for_reading(confined: Confinement) -> Confinement:
    """What can be read stays the same; nothing can be written. Unconfined stays unconfined."""
    if confined.unconfined_because:
        return confined
    return confined.replace(
        base=READ if confined.base == WRITE else confined.base,
        entries=_readable(confined),
        placeholders=(),
        ledger="",
        not_repositories=(),
    )


def _readable(confined: Confinement) -> tuple[Entry, ...]:
    """Without those that only say again what holds around them."""
    denied = [f"{entry.path}/" for entry in confined.entries if entry.access == NONE]
    return tuple(
        entry.replace(access=READ) if entry.access == WRITE else entry
        for entry in confined.entries
        if entry.access == NONE
        or (entry.access in (READ, WRITE) and (confined.base == NONE or entry.path.startswith(tuple(denied))))
    )
