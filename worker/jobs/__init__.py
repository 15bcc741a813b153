"""File jobs: work on files that is done by our own code, inside the confined child.

A job is one module with one function; adding one is that file and one line in the table. It gets a map of arguments
and returns plain data, or raises JobError with a text for the model. The answer leaves as msgpack on stdout: bytes that
the supervisor treats like any other output of a confined process.
"""

import os

import msgpack

from pycodex.worker.jobs import file_states, list_dir, patch, path_kind, read_file, view_image
from pycodex.worker.jobs.errors import JobError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

JOBS: "dict[str, Callable[[dict[str, object]], object]]" = {
    "apply_patch": patch.run,
    "file_states": file_states.run,
    "list_dir": list_dir.run,
    "path_kind": path_kind.run,
    "read_file": read_file.run,
    "view_image": view_image.run,
}


def run_file_job(name: str, packed: bytes, answer_fd: int) -> int:
    """Do the job and write its answer; returns an exit status."""
    try:
        arguments = msgpack.unpackb(packed, raw=False, max_ext_len=0, unicode_errors="surrogateescape")
        if type(arguments) is not dict:
            raise JobError("arguments must be a map")
        run = JOBS.get(name)
        if run is None:
            raise JobError(f"unknown job {name!r}")
        answer: dict[str, object] = {"ok": run(arguments)}
    except JobError as error:
        answer = {"error": str(error)}
    except OSError as error:
        answer = {"error": f"{os.strerror(error.errno or 0)}: {os.fsdecode(error.filename or '')}"}
    rest = memoryview(msgpack.packb(answer, use_bin_type=True, unicode_errors="surrogateescape"))
    while rest:
        rest = rest[os.write(answer_fd, rest) :]
    return 0
