"""Random identifiers that cannot be guessed by a confined command."""

import os


def new_job_id() -> str:
    return os.urandom(16).hex()


def new_token() -> str:
    return os.urandom(32).hex()
