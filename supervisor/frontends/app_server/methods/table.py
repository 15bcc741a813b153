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
    "thread/increment_elicitation": "elicitations",
    "thread/decrement_elicitation": "elicitations",
    "thread/name/set": "thread_store",
    "thread/metadata/update": "thread_store",
    "thread/unarchive": "thread_store",
    "thread/compact/start": "thread_control",
    "thread/backgroundTerminals/clean": "thread_control",
    "thread/rollback": "thread_control",
    "thread/list": "thread_store",
    "thread/loaded/list": "thread_control",
    "thread/read": "thread_store",
    "skills/list": "skills",
    "plugin/list": "leftovers",
    "plugin/read": "leftovers",
    "app/list": "leftovers",
    "fs/readFile": "files",
    "fs/writeFile": "files",
    "fs/createDirectory": "files",
    "fs/getMetadata": "files",
    "fs/readDirectory": "files",
    "fs/remove": "files",
    "fs/copy": "files",
    "skills/config/write": "skills",
    "plugin/install": "leftovers",
    "plugin/uninstall": "leftovers",
    "turn/start": "turns",
    "turn/steer": "turns",
    "turn/interrupt": "turns",
    "thread/realtime/start": "leftovers",
    "thread/realtime/appendAudio": "leftovers",
    "thread/realtime/appendText": "leftovers",
    "thread/realtime/stop": "leftovers",
    "review/start": "reviews",
    "model/list": "models",
    "experimentalFeature/list": "features",
    "collaborationMode/list": "models",
    "mock/experimentalMethod": "leftovers",
    "mcpServer/oauth/login": "mcp_servers",
    "config/mcpServer/reload": "mcp_servers",
    "mcpServerStatus/list": "mcp_servers",
    "windowsSandbox/setupStart": "leftovers",
    "account/login/start": "logins",
    "account/login/cancel": "logins",
    "account/logout": "accounts",
    "account/rateLimits/read": "accounts",
    "feedback/upload": "feedback",
    "command/exec": "command_exec",
    "command/exec/write": "command_exec",
    "command/exec/terminate": "command_exec",
    "command/exec/resize": "command_exec",
    "config/read": "configuration",
    "externalAgentConfig/detect": "leftovers",
    "externalAgentConfig/import": "leftovers",
    "config/value/write": "configuration",
    "config/batchWrite": "configuration",
    "configRequirements/read": "configuration",
    "account/read": "accounts",
    "getConversationSummary": "git_facts",
    "gitDiffToRemote": "git_facts",
    "getAuthStatus": "accounts",
    "fuzzyFileSearch": "file_search",
    "fuzzyFileSearch/sessionStart": "file_search",
    "fuzzyFileSearch/sessionUpdate": "file_search",
    "fuzzyFileSearch/sessionStop": "file_search",
    # Not in 0.116.
    "thread/turns/list": "newer_threads",
    "thread/items/list": "newer_threads",
    "thread/delete": "newer_threads",
    "thread/inject_items": "thread_changes",
    "thread/settings/update": "thread_changes",
    "thread/shellCommand": "shell_commands",
    "hooks/list": "hooks",
    "fs/watch": "file_watches",
    "fs/unwatch": "file_watches",
    "process/spawn": "processes",
    "process/writeStdin": "processes",
    "process/kill": "processes",
    "process/resizePty": "processes",
    "thread/goal/set": "goals",
    "thread/goal/get": "goals",
    "thread/goal/clear": "goals",
    "mcpServer/tool/call": "mcp_servers",
    "mcpServer/resource/read": "mcp_servers",
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
