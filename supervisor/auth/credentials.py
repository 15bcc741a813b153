"""Which secret goes to which provider.

Owns the choice, and the rule that OpenAI's credentials go to nobody else. Knows no HTTP; takes the environment, the
home and what a provider's entry says, gives a token or says what is missing.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.auth_file import StoredLogin, read_login

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

    def __repr__(self) -> str:
        return f"Token(***, is_chatgpt={self.is_chatgpt})"


class Credentials:
    def __init__(self, env: Mapping[str, str], codex_home: str) -> None:
        self.env = env
        self._auth_path = os.path.join(codex_home, "auth.json")

    def token_for(self, provider: Asker) -> Token | None:
        """The provider's own secret, else OpenAI's if it may have that; None: ask without one."""
        if provider.env_key:
            return Token(self._own_key(provider.env_key, provider.env_key_instructions))
        if provider.bearer_token:
            return Token(provider.bearer_token)
        if provider.id != _OPENAI and not provider.requires_openai_auth:
            return None
        token = self._openai_token()
        if token is None and provider.id == _OPENAI:
            raise MissingCredentials(
                "No credentials for OpenAI: set CODEX_API_KEY or OPENAI_API_KEY, or log in, or choose another provider "
                "with `model_provider`"
            )
        return token

    def _own_key(self, variable: str, instructions: str | None) -> str:
        key = self.env.get(variable, "").strip()
        if not key:
            text = f"Missing environment variable: `{variable}`."
            raise MissingCredentials(f"{text} {instructions}" if instructions else text)
        return key

    def _openai_token(self) -> Token | None:
        key = self.env.get("CODEX_API_KEY", "").strip()
        if key:
            return Token(key)
        stored = _token_in(read_login(self._auth_path))
        if stored is not None:
            return stored
        key = self.env.get("OPENAI_API_KEY", "").strip()
        return Token(key) if key else None


def _token_in(login: StoredLogin | None) -> Token | None:
    if login is None:
        return None
    if login.api_key is not None:
        return Token(login.api_key)
    if login.access_token is not None:
        return Token(login.access_token, login.account_id, is_chatgpt=True)
    return None
