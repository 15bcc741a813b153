"""A sandbox inside a sandbox is at least as tight, or refuses; it never runs anything free."""

from pathlib import Path

import pytest

from support.escape.attack import attacker_argv, confined, finish, start
from support.escape.fingerprint import fingerprint
from support.escape.world import READ_ONLY, WORKSPACE_WRITE, Mode, World


@pytest.mark.parametrize("inner", [READ_ONLY, WORKSPACE_WRITE], ids=str)
@pytest.mark.parametrize("outer", [READ_ONLY, WORKSPACE_WRITE], ids=str)
def test_the_inner_call_is_as_tight_as_both_or_refuses(world: World, outer: Mode, inner: Mode) -> None:
    world.aim("ws" if READ_ONLY in (inner, outer) else "out")
    target = Path(world.extra["target"])
    before = fingerprint(target)
    nested = confined(world, inner, attacker_argv("writes", "create", world))
    process = start(world, confined(world, outer, nested.argv))
    out, err = finish(process)
    assert fingerprint(target) == before
    if b'"achieved": false' not in out:
        assert process.returncode == 1, (out, err)
        assert [line.partition(b": ")[0] for line in err.splitlines()] == [b"Error"], err
