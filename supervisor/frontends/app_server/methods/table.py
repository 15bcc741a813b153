"""All methods of the app-server.

Owns where each is found. A file of methods is loaded when the first of them is called, so that a server that is asked
for little loads little; a test compares this table with the files.
"""

import importlib
from collections.abc import Iterator
from functools import cache

from pycodex.supervisor.frontends.app_server.method import Method

# In the order in which clients are told of them.
_FILES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("initialize", ("initialize",)),
    ("threads", ("thread/start", "thread/resume", "thread/fork")),
    (
        "thread_store",
        ("thread/archive", "thread/unarchive", "thread/name/set", "thread/list", "thread/read"),
    ),
    (
        "thread_control",
        (
            "thread/unsubscribe",
            "thread/compact/start",
            "thread/backgroundTerminals/clean",
            "thread/rollback",
            "thread/loaded/list",
        ),
    ),
    ("turns", ("turn/start", "turn/steer", "turn/interrupt", "review/start")),
)

FILES = dict(_FILES)
_FILE_OF = {name: file for file, names in _FILES for name in names}
NAMES = tuple(_FILE_OF)


def find(name: str) -> Method | None:
    """None if there is no such method."""
    file = _FILE_OF.get(name)
    return _methods(file)[name] if file is not None else None


def all_methods() -> Iterator[Method]:
    """Loads every file."""
    return (_methods(file)[name] for name, file in _FILE_OF.items())


@cache
def _methods(file: str) -> dict[str, Method]:
    module = importlib.import_module(f"pycodex.supervisor.frontends.app_server.methods.{file}")
    return {method.name: method for method in module.METHODS}
