"""The one error of file jobs, and how a failed system call is told in it."""

import os


class JobError(Exception):
    """Text for the model: the arguments or the file are not what the job needs."""


def reason(error: "OSError | ValueError") -> str:
    """Why a path could not be used. Python raises ValueError only for one that no file can have."""
    if isinstance(error, OSError):
        return f"{os.strerror(error.errno or 0)} (os error {error.errno})"
    return "file name contained an unexpected NUL byte"
