"""Messages as WebSocket frames: one text frame is one message.

Owns the upgrade of a connection whose head was read already, and what a closed WebSocket means. Loads the library only
where somebody listens.
"""

from collections.abc import Sequence

import trio
from trio_websocket import ConnectionClosed, WebSocketConnection, wrap_server_stream

from pycodex.supervisor.frontends.app_server.transport import MAX_MESSAGE_BYTES, WireClosed


class Replayed(trio.abc.Stream):
    """A stream of which some bytes were read: they come first."""

    def __init__(self, first: bytes, stream: trio.abc.Stream) -> None:
        self._first = first
        self._stream = stream

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        if self._first:
            await trio.lowlevel.checkpoint()
            taken, self._first = self._first[:max_bytes], self._first[max_bytes or len(self._first) :]
            return taken
        return await self._stream.receive_some(max_bytes)

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def aclose(self) -> None:
        await self._stream.aclose()


class WebSocketWire:
    waits_for_reader = False

    def __init__(self, connection: WebSocketConnection, stream: trio.abc.Stream) -> None:
        self._connection = connection
        self._stream = stream

    async def receive(self) -> bytes | None:
        try:
            message = await self._connection.get_message()
        except ConnectionClosed:
            return None
        return message.encode("utf-8", "replace") if isinstance(message, str) else bytes(message)

    async def send(self, messages: Sequence[bytes]) -> None:
        try:
            for message in messages:
                await self._connection.send_message(message.decode())
        except (ConnectionClosed, trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise WireClosed from error

    async def aclose(self) -> None:
        try:
            await self._connection.aclose()
        finally:
            await trio.aclose_forcefully(self._stream)


async def accepted(nursery: trio.Nursery, first: bytes, stream: trio.abc.Stream) -> WebSocketWire:
    """The other end of the upgrade. Raises ConnectionClosed, or what wsproto says of a bad one."""
    replayed = Replayed(first, stream)
    request = await wrap_server_stream(nursery, replayed, max_message_size=MAX_MESSAGE_BYTES)
    return WebSocketWire(await request.accept(), stream)
