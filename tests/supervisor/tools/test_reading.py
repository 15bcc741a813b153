"""A call that only reads sees what the turn may see, and can change nothing."""

from typing import Any

from pycodex.protocol.confinement import LINK, NONE, PIN, READ, WRITE, Confinement, Entry, Limits
from pycodex.sandbox.plan import access_at
from pycodex.supervisor.tools.reading import for_reading

ENTRIES = (
    Entry(path="/w", access=WRITE),
    Entry(path="/w/.git", access=READ),
    Entry(path="/w/link", access=LINK),
    Entry(path="/w/pinned", access=PIN),
    Entry(path="/w/secret", access=NONE),
    Entry(path="/w/secret/not", access=WRITE),
    Entry(path="/w/secretly", access=WRITE),
)
PATHS = ("/", "/etc", *(entry.path for entry in ENTRIES), *(f"{entry.path}/x" for entry in ENTRIES), "/rt")
FULL: dict[str, Any] = {
    "entries": ENTRIES,
    "placeholders": ("/w/.codex",),
    "ledger": "/home/l",
    "not_repositories": ("/w",),
    "hidden": ("/rt",),
    "network": True,
    "landlock_only": True,
    "limits": Limits(cpu_seconds=3),
}


def test_view_stays_the_same_without_the_right_to_write() -> None:
    for base in (READ, NONE, WRITE):
        before = Confinement(base=base, **FULL)
        after = for_reading(before)
        for path in PATHS:
            was = access_at(before, path)
            assert access_at(after, path) == (READ if was == WRITE else was), (base, path)
        assert (after.placeholders, after.not_repositories, after.ledger) == ((), (), "")
        assert (after.hidden, after.network, after.landlock_only) == (before.hidden, True, True)
        assert after.limits == before.limits


def test_only_what_makes_a_difference_is_kept() -> None:
    kept = [entry.path for entry in for_reading(Confinement(**FULL)).entries]
    assert kept == ["/w/secret", "/w/secret/not"]


def test_unconfined_stays_as_it_is() -> None:
    unconfined = Confinement(unconfined_because="full access", **FULL)
    assert for_reading(unconfined) == unconfined
