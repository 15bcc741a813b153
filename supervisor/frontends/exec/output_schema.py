"""`--output-schema FILE`: the shape of the last message, as JSON.

Owns the reading of the file and what is said when it cannot be read. Any JSON value passes: whether it is a schema is
for the model's side to judge.
"""

from typing import Any

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.tools.json_scanner import Malformed, Scanner

MAX_BYTES = 16 << 20


def read_output_schema(path: str | None) -> Any:
    """None if none is asked for."""
    if path is None:
        return None
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, f"{error.strerror} (os error {error.errno})") from None
    if len(data) > MAX_BYTES:
        raise _unreadable(path, f"it is longer than {MAX_BYTES >> 20} MiB")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise _unreadable(path, "stream did not contain valid UTF-8") from None
    scanner = Scanner(text)
    try:
        schema = scanner.value()
        scanner.finish()
    except Malformed as error:
        raise UserFacing(f"Output schema file {path} is not valid JSON: {error}", prefix="") from None
    return schema


def _unreadable(path: str, why: str) -> UserFacing:
    return UserFacing(f"Failed to read output schema file {path}: {why}", prefix="")
