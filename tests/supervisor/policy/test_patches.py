"""A patch that stays where the turn may write is applied; what becomes of another one depends on the policy."""

from typing import Any

import pytest

from pycodex.protocol.confinement import Confinement, Entry
from pycodex.protocol.turn_context import ApprovalPolicy
from pycodex.supervisor.policy.patches import PatchVerdict, asks_after_denial, closed_to, judge_patch

APPLY, ASK, REJECT = PatchVerdict.APPLY, PatchVerdict.ASK, PatchVerdict.REJECT
ASKS: dict[str, Any] = {"granular": {"sandbox_approval": True, "rules": False, "mcp_elicitations": True}}
REFUSES: dict[str, Any] = {"granular": {"sandbox_approval": False, "rules": True, "mcp_elicitations": True}}
INSIDE = ("/ws/new", "/ws/sub/dir/file", "/extra/b", "/ws/held/x", "/ws/.github/x", "/ws/closed/open/x")
OUTSIDE = (
    *("/x", "/etc/passwd", "/wsx/file", "/extra-not", "/other/ws/x"),
    # The roots themselves: they lie in directories that cannot be written.
    *("/", "/ws", "/extra", "/single"),
    # What is protected inside of them, and what else is closed there.
    *("/ws/.git", "/ws/.git/config", "/ws/.git/hooks/x", "/ws/.codex", "/ws/.codex/config.toml"),
    *("/ws/closed", "/ws/closed/x", "/ws/link", "/ws/link/x", "/ws/run/x", "/ws/secret"),
)


def confined(*entries: tuple[str, str], base: str = "read") -> Confinement:
    return Confinement(base=base, entries=tuple(Entry(path=path, access=access) for path, access in entries))


WORKSPACE = confined(
    ("/extra", "write"),
    ("/single", "write"),
    ("/ws", "write"),
    ("/ws/.git", "read"),
    ("/ws/closed", "read"),
    ("/ws/held", "pin"),
    ("/ws/link", "link"),
    ("/ws/secret", "none"),
    ("/ws/closed/open", "write"),
).replace(placeholders=("/ws/.codex",), hidden=("/ws/run",))
READ_ONLY = confined()
FULL_ACCESS = Confinement(unconfined_because="danger-full-access")


def judge(*paths: str, confinement: Confinement = WORKSPACE, policy: ApprovalPolicy = "never") -> PatchVerdict:
    return judge_patch(paths, confinement, policy)


@pytest.mark.parametrize(
    ("policy", "inside", "outside", "unconfined"),
    [
        ("untrusted", ASK, ASK, ASK),
        ("on-failure", APPLY, APPLY, APPLY),
        ("on-request", APPLY, ASK, APPLY),
        ("never", APPLY, REJECT, APPLY),
        (ASKS, APPLY, ASK, APPLY),
        (REFUSES, APPLY, REJECT, APPLY),
    ],
    ids=["untrusted", "on-failure", "on-request", "never", "granular", "granular without asks"],
)
def test_policy_decides_by_place(
    policy: ApprovalPolicy, inside: PatchVerdict, outside: PatchVerdict, unconfined: PatchVerdict
) -> None:
    for path in INSIDE:
        assert judge(path, policy=policy) is inside, path
        assert judge(path, policy=policy, confinement=READ_ONLY) is outside, path
    for path in OUTSIDE:
        assert judge(path, policy=policy) is outside, path
    for path in (*INSIDE, *OUTSIDE):
        assert judge(path, policy=policy, confinement=FULL_ACCESS) is unconfined, path


def test_one_path_outside_is_enough() -> None:
    """Both ends of a move are among the paths."""
    assert judge("/ws/a", "/ws/b", "/extra/c") is APPLY
    for paths in (("/x", "/ws/a"), ("/ws/a", "/x"), ("/ws/a", "/ws/.git/config", "/ws/b")):
        assert judge(*paths) is REJECT
        assert judge(*paths, policy="on-request") is ASK


def test_what_is_closed_is_told_in_order() -> None:
    assert closed_to(("/x", "/ws/a", "/ws/.git/config", "/x"), WORKSPACE) == ["/x", "/ws/.git/config", "/x"]
    assert closed_to(INSIDE, WORKSPACE) == []
    assert closed_to(OUTSIDE, WORKSPACE) == list(OUTSIDE)
    assert closed_to(OUTSIDE, FULL_ACCESS) == []


def test_file_that_may_be_written_in_a_directory_that_may_not_is_closed() -> None:
    """It could not be replaced by its new version, only be overwritten in place."""
    one_file = confined(("/etc/motd", "write"))
    assert closed_to(["/etc/motd"], one_file) == ["/etc/motd"]


def test_whole_disk_may_be_open() -> None:
    for path in ("/a", "/etc/passwd", "/"):
        assert judge(path, confinement=confined(base="write")) is APPLY
    but_for_one = confined(("/ws/.git", "read"), base="write")
    assert judge("/ws/.git/config", confinement=but_for_one) is REJECT
    assert judge("/ws/a", confinement=but_for_one) is APPLY


def test_where_nothing_may_be_read_nothing_may_be_written() -> None:
    closed = confined(("/ws", "write"), base="none")
    assert judge("/ws/a", confinement=closed) is APPLY
    assert judge("/x/a", confinement=closed) is REJECT


def test_patch_that_writes_nothing_is_harmless() -> None:
    assert judge(confinement=READ_ONLY) is APPLY


@pytest.mark.parametrize(
    ("policy", "asks"),
    [("untrusted", True), ("on-failure", True), ("on-request", True), ("never", False), (ASKS, True), (REFUSES, False)],
)
def test_what_the_sandbox_stopped_may_be_asked_about(policy: ApprovalPolicy, *, asks: bool) -> None:
    assert asks_after_denial(policy) is asks
