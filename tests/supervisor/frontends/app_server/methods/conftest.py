"""A client of a server that has nothing to do but to answer."""

from collections.abc import AsyncIterator

import pytest

from support.app_server import Client, Scratch, open_app_server
from support.engine import Place
from support.issuer import Issuer, open_issuer


@pytest.fixture
async def scratch(place: Place, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scratch]:
    """Its provider takes the credentials of OpenAI; it was started in the workspace."""
    monkeypatch.chdir(place.workspace)
    async with open_app_server(place, [], requires_openai_auth=True) as opened:
        yield opened


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with open_issuer() as opened:
        yield opened


@pytest.fixture
async def issued(place: Place, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scratch]:
    """The same, but everything that a login opens is at the issuer."""
    monkeypatch.chdir(place.workspace)
    async with open_app_server(place, [], env=issuer.env, requires_openai_auth=True) as opened:
        place.point_at(issuer.model_url, requires_openai_auth=True)
        path = place.home / "config.toml"
        path.write_text(f'chatgpt_base_url = "{issuer.url}/backend-api/"\n{path.read_text()}')
        yield opened


@pytest.fixture
async def client(scratch: Scratch) -> Client:
    return await scratch.connect().hello()
