"""All methods of the app-server.

Owns where each is found, in the order in which clients are told of them. A file of methods is loaded when the first of
them is called, so that a server that is asked for little loads little; a test compares this table with the files.
"""

import importlib
from functools import cache

from pycodex.supervisor.frontends.app_server.method import Method

FILE_OF = {
    "initialize": "initialize",
    "thread/start": "threads",
    "thread/resume": "threads",
    "thread/fork": "threads",
    "thread/archive": "thread_store",
    "thread/unsubscribe": "thread_control",
    "thread/name/set": "thread_store",
    "thread/unarchive": "thread_store",
    "thread/compact/start": "thread_control",
    "thread/backgroundTerminals/clean": "thread_control",
    "thread/rollback": "thread_control",
    "thread/list": "thread_store",
    "thread/loaded/list": "thread_control",
    "thread/read": "thread_store",
    "skills/list": "skills",
    "fs/readFile": "files",
    "fs/writeFile": "files",
    "fs/createDirectory": "files",
    "fs/getMetadata": "files",
    "fs/readDirectory": "files",
    "fs/remove": "files",
    "fs/copy": "files",
    "skills/config/write": "skills",
    "turn/start": "turns",
    "turn/steer": "turns",
    "turn/interrupt": "turns",
    "review/start": "turns",
    "model/list": "models",
    "experimentalFeature/list": "features",
    "collaborationMode/list": "models",
    "mcpServer/oauth/login": "mcp_servers",
    "config/mcpServer/reload": "mcp_servers",
    "mcpServerStatus/list": "mcp_servers",
    "account/login/start": "accounts",
    "account/login/cancel": "accounts",
    "account/logout": "accounts",
    "account/rateLimits/read": "accounts",
    "config/read": "configuration",
    "config/value/write": "configuration",
    "config/batchWrite": "configuration",
    "configRequirements/read": "configuration",
    "account/read": "accounts",
    "getAuthStatus": "accounts",
}
"""By the name of the method: the file beside this one that has it."""

NAMES = tuple(FILE_OF)


def find(name: str) -> Method | None:
    """None if there is no such method."""
    file = FILE_OF.get(name)
    return methods_in(file)[name] if file is not None else None


@cache
def methods_in(file: str) -> dict[str, Method]:
    module = importlib.import_module(f"pycodex.supervisor.frontends.app_server.methods.{file}")
    return {method.name: method for method in module.METHODS}
