"""Which secret goes to which provider.

Owns the choice, and the rule that OpenAI's credentials go to nobody else. Knows no HTTP; takes the environment, the
keeper of the login and what a provider's entry says, gives a token or says what is missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.auth_file import StoredLogin
from pycodex.supervisor.auth.keeper import LoginKeeper

_OPENAI = "openai"


class MissingCredentials(UserFacing):
    """The provider cannot be asked without a secret that is not there."""


class Asker(Protocol):
    """What matters of a provider here."""

    @property
    def id(self) -> str: ...
    @property
    def env_key(self) -> str | None: ...
    @property
    def env_key_instructions(self) -> str | None: ...
    @property
    def bearer_token(self) -> str | None: ...
    @property
    def requires_openai_auth(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Token:
    """`is_chatgpt`: it belongs to a ChatGPT login, not to the API."""

    value: str
    account_id: str | None = None
    is_chatgpt: bool = False
    login: StoredLogin | None = field(default=None, compare=False)
    """The ChatGPT login that it is of."""
    is_newest: bool = field(default=False, compare=False)
    """Whether it was renewed a moment ago: then no newer one is to be had."""

    def __repr__(self) -> str:
        return f"Token(***, is_chatgpt={self.is_chatgpt})"


class Credentials:
    """`store` says where the login is kept: a value of `cli_auth_credentials_store`."""

    def __init__(self, env: Mapping[str, str], keeper: LoginKeeper, *, store: str = "file") -> None:
        self.env = env
        self._keeper = keeper
        self._store = store

    async def token_for(self, provider: Asker) -> Token | None:
        """The provider's own secret, else OpenAI's if it may have that; None: ask without one."""
        if provider.env_key:
            return Token(self._own_key(provider.env_key, provider.env_key_instructions))
        if provider.bearer_token:
            return Token(provider.bearer_token)
        if provider.id != _OPENAI and not provider.requires_openai_auth:
            return None
        token = await self.openai_token()
        if token is None and provider.id == _OPENAI:
            raise MissingCredentials(
                "No credentials for OpenAI: set CODEX_API_KEY or OPENAI_API_KEY, or log in with `pycodex login`, or "
                "choose another provider with `model_provider`"
            )
        return token

    async def openai_token(self) -> Token | None:
        """For OpenAI and those who may have what it has."""
        key = self.env.get("CODEX_API_KEY", "").strip()
        if key:
            return Token(key)
        stored = _token_in(await self._keeper.current(self._store))
        if stored is not None:
            return stored
        key = self.env.get("OPENAI_API_KEY", "").strip()
        return Token(key) if key else None

    async def after_refusal(self, token: Token) -> Token | None:
        """What to try instead of a token that was refused; None: nothing. Raises LoginRefused or RefreshFailed.

        Another process may have renewed it; then that comes first, and new tokens only if it is refused as well.
        """
        if token.login is None or token.is_newest:
            return None
        found = await self._keeper.changed(self._store, token.login)
        if found is not None:
            return _token_in(found)
        newest = _token_in(await self._keeper.renewed(self._store, token.login))
        return None if newest is None else replace(newest, is_newest=True)

    def _own_key(self, variable: str, instructions: str | None) -> str:
        key = self.env.get(variable, "").strip()
        if not key:
            text = f"Missing environment variable: `{variable}`."
            raise MissingCredentials(f"{text} {instructions}" if instructions else text)
        return key


def _token_in(login: StoredLogin | None) -> Token | None:
    if login is None:
        return None
    if login.api_key is not None:
        return Token(login.api_key)
    if login.access_token is not None:
        return Token(login.access_token, login.account_id, is_chatgpt=True, login=login)
    return None
