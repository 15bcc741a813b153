"""Probes find out by doing, in a child, and leave this process as it was."""

import os
import sys

import pytest

if sys.platform != "linux":
    pytest.skip("the probes of Linux", allow_module_level=True)

from pycodex.linux_sandbox import probe


def fail() -> None:
    raise OSError(1, "not here")


def test_failed_attempt_is_reported_with_its_reason() -> None:
    probed = probe.in_child(fail)
    assert not probed.works
    assert "not here" in probed.why_not


def test_attempt_happens_in_another_process() -> None:
    before = os.getcwd()
    assert probe.in_child(lambda: os.chdir("/")).works
    assert os.getcwd() == before


def test_child_that_is_killed_counts_as_failed() -> None:
    assert not probe.in_child(lambda: os.kill(os.getpid(), 9)).works


@pytest.mark.parametrize("kind", sorted(probe.NAMESPACES))
def test_namespace_probe_leaves_this_process_where_it_was(kind: str) -> None:
    name = {"mount": "mnt", "network": "net"}.get(kind, kind)
    before = os.readlink(f"/proc/self/ns/{name}")
    probed = probe.namespace(kind)
    assert probed.works or probed.why_not
    assert os.readlink(f"/proc/self/ns/{name}") == before


def test_mount_probe_mounts_nothing_here() -> None:
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        before = file.read()
    probe.namespace("mount")
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        assert file.read() == before


def test_probes_agree_with_what_the_sandbox_reports() -> None:
    from pycodex.sandbox.backend import host_report

    host = host_report()
    assert probe.landlock_abi() == host.landlock_abi
    assert probe.seccomp_filters().works == host.seccomp
    if host.level == "full":
        assert all(probe.namespace(kind).works for kind in probe.NAMESPACES)


def test_setting_that_does_not_exist_is_empty() -> None:
    assert probe.sysctl("kernel.no_such_setting") == ""
    assert probe.sysctl("kernel.ostype") == "Linux"
