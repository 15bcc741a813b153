"""Every finding says what was looked at, and what to do about what is missing."""

import sys

import pytest

from pycodex.sandbox.diagnosis import FAIL, OK, WARNING, findings


@pytest.mark.skipif(sys.platform != "linux", reason="the findings of Linux")
def test_findings_cover_the_sandbox() -> None:
    found = list(findings())
    assert [finding.id for finding in found] == [
        "sandbox.landlock",
        "sandbox.seccomp",
        *(f"sandbox.namespace.{kind}" for kind in ("user", "mount", "pid", "network", "ipc")),
        "sandbox.cgroup",
    ]
    for finding in found:
        assert finding.status in (OK, WARNING, FAIL)
        assert finding.summary
        assert finding.status == OK or finding.remedy


@pytest.mark.skipif(sys.platform != "linux", reason="the findings of Linux")
def test_nobody_is_sent_after_a_cgroup_that_nothing_uses() -> None:
    cgroup = next(finding for finding in findings() if finding.id == "sandbox.cgroup")
    assert "for information only" in cgroup.summary
    assert not cgroup.remedy
