"""Errors of commands that never ran say what was to run and why it did not."""

import pytest

from pycodex.protocol.errors import ModelFacing
from pycodex.supervisor.tools.exec_answer import not_started
from pycodex.supervisor.workers.lease import JobFailed, JobRefused, WorkerLost


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (JobFailed("cwd", errno=2), "Failed to create unified exec process: No such file or directory (os error 2)"),
        (JobFailed("the worker failed"), "the worker failed"),
        (
            JobRefused("no user namespaces"),
            "the sandbox cannot enforce what is asked, so nothing was run: no user namespaces",
        ),
        (WorkerLost("killed by signal 9"), "killed by signal 9"),
    ],
)
def test_reason_is_named(error: ModelFacing, reason: str) -> None:
    assert str(not_started(("/bin/bash", "-c", "echo hi"), error)) == (
        f'exec_command failed for `/bin/bash -c \'echo hi\'`: CreateProcess {{ message: "Rejected(\\"{reason}\\")" }}'
    )
