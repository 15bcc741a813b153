"""What a host without namespaces may run, as a table."""

import sys
from pathlib import Path

import pytest

from pycodex.protocol.confinement import FULL, LANDLOCK, LINK, NONE, PIN, READ, WRITE, Confinement, Entry, Unenforceable

if sys.platform != "linux":
    pytest.skip("for Linux only", allow_module_level=True)

from pycodex.linux_sandbox.apply import check_landlock_suffices, check_landlock_version
from pycodex.linux_sandbox.landlock_rules import landlock_abi

needs_landlock = pytest.mark.skipif(landlock_abi() < 3, reason="needs Landlock 3")


def entries(**access: str) -> tuple[Entry, ...]:
    return tuple(Entry(path="/" + path.replace("_", "/"), access=value) for path, value in access.items())


WITHOUT_CONSENT = {
    "read-only": Confinement(),
    "read-only with pins and links": Confinement(entries=entries(ws=PIN, ws_way=LINK, ws_git=READ)),
    "read-only with missing names": Confinement(placeholders=("/ws/.codex",)),
    "restricted reads": Confinement(base=NONE, entries=entries(usr=READ, ws=READ, ws_way=LINK)),
    "restricted reads, denied where nothing is granted": Confinement(base=NONE, entries=entries(usr=READ, secret=NONE)),
    "whole disk writable, nothing protected": Confinement(base=WRITE),
}
WITH_CONSENT = {
    "workspace": Confinement(entries=entries(ws=WRITE, ws_git=READ), placeholders=("/ws/.codex",)),
    "writable directory with nothing protected": Confinement(entries=entries(ws=WRITE)),
    "workspace under restricted reads": Confinement(base=NONE, entries=entries(usr=READ, ws=WRITE, ws_git=READ)),
    "whole disk writable, something protected": Confinement(base=WRITE, entries=entries(ws_git=READ)),
}
# What holds everywhere, and in the directory with the secret.
NEVER = {
    "denied read": (READ, PIN),
    "denied read in what is granted": (NONE, READ),
    "denied read in what is writable": (READ, WRITE),
}


def denying(folder: Path, name: str) -> Confinement:
    base, around = NEVER[name]
    entries = Entry(path=str(folder), access=around), Entry(path=f"{folder}/secret", access=NONE)
    return Confinement(base=base, entries=entries)


@needs_landlock
class TestConsent:
    @pytest.mark.parametrize("name", WITHOUT_CONSENT)
    def test_is_not_needed(self, name: str) -> None:
        check_landlock_suffices(WITHOUT_CONSENT[name])

    @pytest.mark.parametrize("name", WITH_CONSENT)
    def test_is_asked_for_by_naming_the_keys(self, name: str) -> None:
        with pytest.raises(Unenforceable) as raised:
            check_landlock_suffices(WITH_CONSENT[name])
        assert "`[sandbox] landlock_only = true`" in str(raised.value)
        assert "`features.use_legacy_landlock = true`" in str(raised.value)
        check_landlock_suffices(WITH_CONSENT[name].replace(landlock_only=True))

    @pytest.mark.parametrize("name", NEVER)
    @pytest.mark.parametrize("given", [False, True])
    def test_is_not_enough(self, tmp_path: Path, name: str, given: bool) -> None:
        (tmp_path / "secret").touch()
        with pytest.raises(Unenforceable, match="secret cannot be denied"):
            check_landlock_suffices(denying(tmp_path, name).replace(landlock_only=given))

    def test_is_not_needed_for_a_secret_that_does_not_exist(self, tmp_path: Path) -> None:
        check_landlock_suffices(denying(tmp_path, "denied read"))


@pytest.mark.parametrize(("abi", "level"), [(0, FULL), (0, LANDLOCK), (1, LANDLOCK), (2, LANDLOCK)])
def test_version_is_too_old(abi: int, level: str) -> None:
    with pytest.raises(Unenforceable, match="needs"):
        check_landlock_version(abi, level)


@pytest.mark.parametrize(("abi", "level"), [(1, FULL), (2, FULL), (3, LANDLOCK), (7, LANDLOCK)])
def test_version_will_do(abi: int, level: str) -> None:
    """Truncation, which came with version 3, is prevented by read-only mounts where there are any."""
    check_landlock_version(abi, level)
