"""`pycodex app-server`: the agent for programs, by messages on standard input and output or on a socket.

Owns the flags. The work itself is `frontends.app_server.run`.
"""

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.cli.options import (
    CONFIG,
    DISABLE,
    ENABLE,
    Flag,
    bad_usage,
    overrides_of,
    scan,
    scan_flags_only,
)
from pycodex.supervisor.cli.terminal import say

LISTEN = Flag("--listen", value="URL")
STDIO = Flag("--stdio")
SESSION_SOURCE = Flag("--session-source", value="SOURCE")
ANALYTICS = Flag("--analytics-default-enabled")
_FLAGS = (LISTEN, STDIO, SESSION_SOURCE, ANALYTICS, CONFIG, ENABLE, DISABLE)
_USAGE = "pycodex app-server [OPTIONS] [COMMAND]"
_SCHEMA_COMMANDS = {
    "generate-ts": "Write the types of all messages for TypeScript",
    "generate-json-schema": "Write the schemas of all messages",
}
OUT = Flag("-o", "--out", value="DIR")
EXPERIMENTAL = Flag("--experimental")
PRETTIER = Flag("-p", "--prettier", value="PRETTIER_BIN", hidden=True)
_SCHEMA_FLAGS = (OUT, EXPERIMENTAL, PRETTIER)

HELP = """\
Serve programs: one JSON message a line on standard input and output, or on a socket

Usage: pycodex app-server [OPTIONS] [COMMAND]

Commands:
  generate-ts           Write the types of all messages for TypeScript
  generate-json-schema  Write the schemas of all messages

Options:
      --listen <URL>             Where clients come from: stdio://, unix://PATH or ws://IP:PORT [default: stdio://]
      --stdio                    The same as --listen stdio://
      --session-source <SOURCE>  What threads are said to come from [default: vscode]
      --analytics-default-enabled
                                 Accepted, and without effect
  -c, --config <key=value>       Set one configuration value, on top of config.toml
      --enable <FEATURE>         The same as -c features.FEATURE=true
      --disable <FEATURE>        The same as -c features.FEATURE=false
  -h, --help                     Show this text"""


def run(argv: list[str], overrides: list[str]) -> int:
    """The subcommand after its own word. Returns the exit code."""
    scanned = scan(argv, _FLAGS, usage=_USAGE)
    if scanned.wants_help:
        say(HELP)
        return 0
    if scanned.rest:
        return _subcommand(scanned.rest)
    if scanned.has(STDIO.key) and scanned.has(LISTEN.key):
        raise bad_usage(f"the argument '{STDIO.shown}' cannot be used with '{LISTEN.shown}'", usage=_USAGE)
    from pycodex.supervisor.frontends.app_server.run import AppServerRequest, run_app_server

    request = AppServerRequest(
        listen=_listen(scanned.last(LISTEN.key) or "stdio://"),
        session_source=scanned.last(SESSION_SOURCE.key) or "vscode",
        overrides=(*overrides, *overrides_of(scanned)),
    )
    return run_app_server(request)


def _listen(url: str) -> str:
    """Raises BadUsage for what nobody can listen on."""
    if url == "stdio://" or (url.startswith("unix://") and len(url) > len("unix://")):
        return url
    expected = "expected `stdio://`, `unix://PATH` or `ws://IP:PORT`"
    if not url.startswith("ws://"):
        raise _bad_listen(url, f"unsupported --listen URL `{url}`; {expected}")
    if _address(url) is None:
        raise _bad_listen(url, f"invalid websocket --listen URL `{url}`; expected `ws://IP:PORT`")
    return url


def _bad_listen(url: str, why: str) -> Exception:
    return bad_usage(f"invalid value '{url}' for '{LISTEN.shown}': {why}")


def _address(url: str) -> tuple[str, int] | None:
    """The numbers of a `ws://` address."""
    import ipaddress

    host, colon, port = url.removeprefix("ws://").rpartition(":")
    try:
        ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None
    return (host, int(port)) if colon and port.isascii() and port.isdigit() and int(port) < 65536 else None


def _subcommand(words: list[str]) -> int:
    if words[0] not in _SCHEMA_COMMANDS:
        raise bad_usage(f"unrecognized subcommand '{words[0]}'", usage=_USAGE)
    usage = f"pycodex app-server {words[0]} --out <DIR> [--experimental]"
    scanned = scan_flags_only(words[1:], _SCHEMA_FLAGS, usage=usage)
    if scanned.wants_help:
        say(f"{_SCHEMA_COMMANDS[words[0]]}\n\nUsage: {usage}")
        return 0
    out = scanned.last(OUT.key)
    if out is None:
        missing = f"the following required arguments were not provided:\n  {OUT.shown}"
        raise bad_usage(missing, usage=usage)
    from pathlib import Path

    from pycodex.supervisor.cli.app_server_schema import generate_json_schema, generate_ts

    generate = generate_ts if words[0] == "generate-ts" else generate_json_schema
    try:
        generate(Path(out), experimental=scanned.has(EXPERIMENTAL.key))
    except OSError as error:
        raise UserFacing(f"cannot write to {out}: {error.strerror}") from error
    return 0
