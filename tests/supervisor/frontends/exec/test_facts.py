"""The header's line about the sandbox."""

import pytest

from pycodex.protocol.permissions import FsRule, Permissions
from pycodex.supervisor.frontends.exec.facts import ThreadFacts, sandbox_text

HOME = "/home/u/.codex"


@pytest.mark.parametrize(
    ("permissions", "text"),
    [
        (Permissions(mode="read-only"), "read-only"),
        (Permissions(mode="read-only", network_access=True), "read-only (network access enabled)"),
        (Permissions(mode="danger-full-access", network_access=True), "danger-full-access"),
        (Permissions(mode="workspace-write"), f"workspace-write [workdir, /tmp, $TMPDIR, {HOME}/memories]"),
        (
            Permissions(mode="workspace-write", writable_roots=("/a", f"{HOME}/memories"), network_access=True),
            f"workspace-write [workdir, /tmp, $TMPDIR, /a, {HOME}/memories] (network access enabled)",
        ),
        (
            Permissions(mode="workspace-write", exclude_slash_tmp=True, exclude_tmpdir_env_var=True),
            f"workspace-write [workdir, {HOME}/memories]",
        ),
        (
            Permissions(
                mode="workspace-write",
                rules=(
                    FsRule(special="root", access="read"),
                    FsRule(special="project_roots", subpath="src", access="write"),
                    FsRule(path="/data", access="write"),
                ),
            ),
            "workspace-write [workdir/src, /data]",
        ),
    ],
)
def test_sandbox(permissions: Permissions, text: str) -> None:
    assert sandbox_text(permissions, HOME) == text


def test_granular_approval_is_named() -> None:
    facts = ThreadFacts(
        thread_id="th",
        cwd="/ws",
        model="m",
        provider_id="p",
        approval={"granular": {"rules": True}},
        permissions=Permissions(mode="read-only"),
        effort="high",
        summary=None,
        codex_home=HOME,
    )
    header = dict(facts.header())
    assert (header["approval"], header["reasoning effort"], header["reasoning summaries"]) == (
        "granular",
        "high",
        "none",
    )
