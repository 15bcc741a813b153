"""`pycodex login` and `pycodex logout`: logging in with ChatGPT or a key, and out again, and who is logged in.

Owns the flags, the words and the exit codes. Everything is told on standard error but the code for another device. The
login itself is in `auth`.
"""

import os
import sys

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.cli.options import GLOBAL_FLAGS, Flag, bad_usage, overrides_of, scan, scan_flags_only
from pycodex.supervisor.cli.terminal import STDOUT, Palette, complain, prefers_colour, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pycodex.supervisor.auth.chatgpt_login import LoginTerms
    from pycodex.supervisor.config.config import Config

WITH_API_KEY = Flag("--with-api-key")
API_KEY = Flag("--api-key", value="API_KEY", hidden=True)
DEVICE_AUTH = Flag("--device-auth")
ISSUER = Flag("--experimental_issuer", value="URL", hidden=True)
_FLAGS = (*GLOBAL_FLAGS, WITH_API_KEY, API_KEY, DEVICE_AUTH, ISSUER)
_USAGE = "pycodex login [OPTIONS] [COMMAND]"
_STATUS_USAGE = "pycodex login status [OPTIONS]"
_LOGOUT_USAGE = "pycodex logout [OPTIONS]"
_MOST_KEY_BYTES = 1 << 16
_CLIENT = "codex-cli; 0.116.0"

HELP = """\
Log in with ChatGPT or with an API key, for this and all later sessions

Usage: pycodex login [OPTIONS] [COMMAND]

Commands:
  status  Say who is logged in
  help    Show this text

Options:
      --with-api-key            Take an API key from standard input:
                                printenv OPENAI_API_KEY | pycodex login --with-api-key
      --device-auth             Log in with a browser on another device, by a code
  -c, --config <key=value>      Set one configuration value, on top of config.toml
      --enable <FEATURE>        The same as -c features.FEATURE=true
      --disable <FEATURE>       The same as -c features.FEATURE=false
  -h, --help                    Show this text

Without options a browser is opened here."""

LOGOUT_HELP = """\
Forget the stored login; keys in the environment stay

Usage: pycodex logout [OPTIONS]

Options:
  -c, --config <key=value>  Set one configuration value, on top of config.toml
      --enable <FEATURE>    The same as -c features.FEATURE=true
      --disable <FEATURE>   The same as -c features.FEATURE=false
  -h, --help                Show this text"""

_NO_KEY_FLAG = (
    "The --api-key flag is no longer supported. Pipe the key instead, e.g. "
    "`printenv OPENAI_API_KEY | pycodex login --with-api-key`."
)
_KEY_FROM_TERMINAL = (
    "--with-api-key expects the API key on stdin. Try piping it, e.g. "
    "`printenv OPENAI_API_KEY | pycodex login --with-api-key`."
)
_LOGGED_IN = "Successfully logged in"


class _Ended(UserFacing):
    """In the words that scripts know, without another in front."""

    def __init__(self, text: str) -> None:
        super().__init__(text, prefix="")


def run(argv: "list[str]", overrides: "list[str]") -> int:
    """`pycodex login` after its own word. Returns the exit code."""
    given = scan(argv, _FLAGS, usage=_USAGE, takes_words=False)
    if given.wants_help or given.rest[:1] == ["help"]:
        say(HELP)
        return 0
    before = [*overrides, *overrides_of(given)]
    if given.rest:
        return _subcommand(given.rest, before)
    if given.has(DEVICE_AUTH.key):
        return _with_device(_loaded(before), given.last(ISSUER.key))
    if given.has(API_KEY.key):
        raise _Ended(_NO_KEY_FLAG)
    if given.has(WITH_API_KEY.key):
        return _with_key(_key_from_stdin(), _loaded(before))
    return _with_browser(_loaded(before), given.last(ISSUER.key))


def _subcommand(words: "list[str]", overrides: "list[str]") -> int:
    if words[0] != "status":
        raise bad_usage(f"unrecognized subcommand '{words[0]}'", usage=_USAGE)
    given = scan_flags_only(words[1:], GLOBAL_FLAGS, usage=_STATUS_USAGE)
    if given.wants_help:
        say(f"Say who is logged in\n\nUsage: {_STATUS_USAGE}")
        return 0
    return _status(_loaded([*overrides, *overrides_of(given)]))


def run_logout(argv: "list[str]", overrides: "list[str]") -> int:
    """`pycodex logout` after its own word. Returns the exit code."""
    given = scan_flags_only(argv, GLOBAL_FLAGS, usage=_LOGOUT_USAGE)
    if given.wants_help:
        say(LOGOUT_HELP)
        return 0
    from pycodex.supervisor.auth.stores import store_of

    config = _loaded([*overrides, *overrides_of(given)])
    try:
        was_there = store_of(config.cli_auth_credentials_store, config.codex_home, {}).remove()
    except UserFacing as error:
        raise _Ended(f"Error logging out: {error}") from error
    complain("Successfully logged out" if was_there else "Not logged in")
    return 0


def _loaded(overrides: "list[str]") -> "Config":
    from pycodex.supervisor.config.config import Flags
    from pycodex.supervisor.config.load import load_config

    try:
        return load_config(env=os.environ, overrides=overrides, cwd=os.path.realpath(os.getcwd()), flags=Flags())
    except UserFacing as error:
        raise _Ended(f"Error loading configuration: {error}") from error


def _status(config: "Config") -> int:
    from pycodex.supervisor.auth.auth_file import API_KEY as KEY_MODE
    from pycodex.supervisor.auth.auth_file import login_in
    from pycodex.supervisor.auth.login import stored_login
    from pycodex.supervisor.auth.stores import store_of

    store = store_of(config.cli_auth_credentials_store, config.codex_home, {})
    try:
        document = store.load()
        stored = None if document is None else login_in(document, store.place)
    except UserFacing as error:
        raise _Ended(f"Error checking login status: {error}") from error
    login = None if stored is None else stored_login(stored)
    if login is None:
        complain("Not logged in")
        return 1
    if login.mode == KEY_MODE:
        complain(f"Logged in using an API key - {_shown_key(login.token)}")
    else:
        complain("Logged in using ChatGPT")
    return 0


def _shown_key(key: str) -> str:
    """Enough to know it by."""
    return f"{key[:8]}***{key[-5:]}" if len(key) > 13 else "***"


def _key_from_stdin() -> str:
    if sys.stdin is None or sys.stdin.isatty():
        raise _Ended(_KEY_FROM_TERMINAL)
    complain("Reading API key from stdin...")
    data = b""
    try:
        while len(data) <= _MOST_KEY_BYTES and (more := os.read(0, _MOST_KEY_BYTES)):
            data += more
    except OSError as error:
        raise _Ended(f"Failed to read API key from stdin: {error.strerror}") from error
    key = data.decode("utf-8", "replace").strip()
    if not key:
        raise _Ended("No API key provided via stdin.")
    return key


def _with_key(key: str, config: "Config") -> int:
    from pycodex.supervisor.auth.login import document_of_key
    from pycodex.supervisor.auth.restrictions import KEY_DISABLED
    from pycodex.supervisor.auth.stores import check_lasting, store_of

    if config.forced_login_method == "chatgpt":
        raise _Ended(KEY_DISABLED)
    try:
        check_lasting(config.cli_auth_credentials_store)
        store_of(config.cli_auth_credentials_store, config.codex_home, {}).save(document_of_key(key))
    except UserFacing as error:
        raise _Ended(f"Error logging in: {error}") from error
    complain(_LOGGED_IN)
    return 0


def _with_browser(config: "Config", issuer: "str | None") -> int:
    from pycodex.supervisor.auth.browser_login import browser_login
    from pycodex.supervisor.cli.browser import open_in_browser

    def ready(url: str, port: int) -> None:
        complain(
            f"Starting local login server on http://localhost:{port}.\n"
            f"If your browser did not open, navigate to this URL to authenticate:\n\n{url}\n\n"
            "On a remote or headless machine? Use `pycodex login --device-auth` instead."
        )
        open_in_browser(url, os.environ)

    async def log_in(terms: "LoginTerms") -> None:
        await browser_login(terms, ready)

    return _logged_in(config, issuer, log_in, failed="Error logging in")


def _with_device(config: "Config", issuer: "str | None") -> int:
    from pycodex.supervisor.auth.device_login import device_login, new_device_code

    async def log_in(terms: "LoginTerms") -> None:
        code = await new_device_code(terms)
        say(_device_text(code.url, code.user_code, Palette(colour=prefers_colour(os.environ, STDOUT))))
        await device_login(terms, code)

    return _logged_in(config, issuer, log_in, failed="Error logging in with device code")


def _device_text(url: str, code: str, palette: Palette) -> str:
    return (
        f"\nTo log in with ChatGPT on another device:\n\n1. Open this address there, and sign in\n"
        f"   {palette.strong(url)}\n\n2. Type this code, which is good for 15 minutes and for one login\n"
        f"   {palette.strong(code)}\n\nGive the code to nobody: whoever asks you for it wants your account.\n"
    )


def _logged_in(
    config: "Config", issuer: "str | None", log_in: "Callable[[LoginTerms], Awaitable[None]]", *, failed: str
) -> int:
    import trio

    from pycodex.supervisor.auth.restrictions import CHATGPT_DISABLED
    from pycodex.supervisor.auth.stores import check_lasting

    if config.forced_login_method == "api":
        raise _Ended(CHATGPT_DISABLED)
    failure: UserFacing | None = None
    try:
        check_lasting(config.cli_auth_credentials_store)
        failure = trio.run(_attempt, config, issuer, log_in)
    except UserFacing as error:
        failure = error
    if failure is not None:
        raise _Ended(f"{failed}: {failure}") from failure
    complain(_LOGGED_IN)
    return 0


async def _attempt(
    config: "Config", issuer: "str | None", log_in: "Callable[[LoginTerms], Awaitable[None]]"
) -> "UserFacing | None":
    """Gives why it failed: what is raised through the HTTP client would be told otherwise."""
    import trio

    from pycodex.supervisor.auth.chatgpt_login import LoginTerms
    from pycodex.supervisor.auth.oauth import ISSUER as DEFAULT_ISSUER
    from pycodex.supervisor.auth.stores import store_of
    from pycodex.supervisor.config.dotenv import with_dotenv
    from pycodex.supervisor.model.headers import DEFAULT_ORIGINATOR, identity_of
    from pycodex.supervisor.model.web import sender
    from pycodex.supervisor.net.http import open_http

    env = with_dotenv(os.environ, config.codex_home)
    identity = identity_of(env, originator=DEFAULT_ORIGINATOR, client=_CLIENT)
    store = store_of(config.cli_auth_credentials_store, config.codex_home, {})

    async def keep(document: "dict[str, object]") -> None:
        await trio.to_thread.run_sync(store.save, document)

    async with open_http(env) as http:
        terms = LoginTerms(
            send=sender(http, identity),
            keep=keep,
            originator=identity.originator,
            issuer=(issuer or DEFAULT_ISSUER).rstrip("/"),
            workspace=config.forced_chatgpt_workspace_id,
        )
        try:
            await log_in(terms)
        except UserFacing as error:
            return error
    return None
