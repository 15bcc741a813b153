"""A client of a server that has nothing to do but to answer."""

from collections.abc import AsyncIterator

import pytest

from support.app_server import Client, Scratch, open_app_server
from support.engine import Place


@pytest.fixture
async def scratch(place: Place, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scratch]:
    """Its provider takes the credentials of OpenAI; it was started in the workspace."""
    monkeypatch.chdir(place.workspace)
    async with open_app_server(place, [], requires_openai_auth=True) as opened:
        yield opened


@pytest.fixture
async def client(scratch: Scratch) -> Client:
    return await scratch.connect().hello()
