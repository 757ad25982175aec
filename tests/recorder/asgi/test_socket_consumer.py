"""The base class of the WebSocket consumers: how a connection ends, and what it does not wait for."""

import asyncio
import threading
from functools import partial

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator

from recorder.asgi.socket_consumer import Close, SocketConsumer
from tests.support.wait import LONGEST_S

NO_REDIS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": ["redis://127.0.0.1:1/0"]},
    }
}


class Consumer(SocketConsumer):
    """Does what the client says, and notes what happens to it."""

    def __init__(self, *, is_refused=False, notes=None):
        super().__init__()
        self._is_refused = is_refused
        self.notes = [] if notes is None else notes

    async def connect(self):
        if self._is_refused:
            raise OSError("while connecting")
        await self.accept()
        self.start_task(self._wait)

    async def receive(self, text_data=None, bytes_data=None):
        self.notes.append(text_data)
        match text_data:
            case "echo":
                await self.send(text_data)
            case "close":
                raise Close(4400)
            case "break":
                raise OSError("in a handler")
            case "close in a task":
                self.start_task(partial(self._raise, Close(4409)))
            case "break in a task":
                self.start_task(partial(self._raise, OSError("in a task")))

    async def disconnect(self, code):
        self.notes.append(f"left with {code}")

    def release(self):
        self.notes.append("released")

    async def _wait(self):
        try:
            await asyncio.Event().wait()
        finally:
            self.notes.append("cancelled")

    async def _raise(self, error):
        raise error


@pytest.fixture
def notes():
    return []


@pytest.fixture
async def client(notes):
    """Return a client that is connected."""
    client = WebsocketCommunicator(Consumer.as_asgi(notes=notes), "/")
    assert await client.connect(timeout=LONGEST_S) == (True, None)
    yield client
    await client.disconnect(timeout=LONGEST_S)


async def closed(client):
    """Return the code that the socket is closed with."""
    message = await client.receive_output(LONGEST_S)
    assert message["type"] == "websocket.close"
    return message["code"]


@pytest.mark.parametrize(("command", "code"), [("close", 4400), ("close in a task", 4409)])
async def test_a_handler_or_a_task_closes_with_its_code(client, command, code):
    await client.send_to(command)

    assert await closed(client) == code


@pytest.mark.parametrize("command", ["break", "break in a task"])
async def test_a_bug_closes_with_1011_and_is_logged(client, command, caplog):
    await client.send_to(command)

    assert await closed(client) == 1011
    assert "Consumer failed" in caplog.text
    assert "OSError" in caplog.text


async def test_a_bug_before_the_handshake_is_the_servers_to_answer():
    client = WebsocketCommunicator(Consumer.as_asgi(is_refused=True), "/")

    await client.send_input({"type": "websocket.connect"})
    with pytest.raises(OSError, match="while connecting"):
        await client.wait(LONGEST_S)  # `connect` would wait for an answer first


async def test_after_the_close_no_frame_is_handled_and_everything_is_released(client, notes):
    await client.send_to("close")
    await client.send_to("echo")
    await client.send_to("close in a task")
    assert await closed(client) == 4400

    assert await client.receive_nothing(0.1)
    assert notes == ["close", "released", "cancelled"]


async def test_a_client_that_leaves_is_released(notes):
    client = WebsocketCommunicator(Consumer.as_asgi(notes=notes), "/")
    await client.connect(timeout=LONGEST_S)
    await client.disconnect(1001, timeout=LONGEST_S)

    assert notes == ["left with 1001", "released", "cancelled"]


async def test_a_consumer_that_the_server_cancels_is_released(notes):
    client = WebsocketCommunicator(Consumer.as_asgi(notes=notes), "/")
    await client.connect(timeout=LONGEST_S)
    await client.send_to("echo")
    await client.receive_from(LONGEST_S)
    client.stop(exceptions=False)
    with pytest.raises(asyncio.CancelledError):
        await client.future

    assert notes == ["echo", "released", "cancelled"]


async def test_no_message_waits_for_the_thread_that_django_shares(client):
    begun, end = threading.Event(), threading.Event()
    slow = asyncio.ensure_future(sync_to_async(lambda: (begun.set(), end.wait(LONGEST_S)))())
    await asyncio.to_thread(begun.wait, 5)
    try:
        await client.send_to("echo")
        assert await client.receive_from(LONGEST_S) == "echo"
    finally:
        end.set()
        await slow


async def test_a_socket_opens_though_redis_is_away(settings):
    settings.CHANNEL_LAYERS = NO_REDIS  # a stock consumer opens a channel there before the handshake
    client = WebsocketCommunicator(Consumer.as_asgi(), "/")
    assert await client.connect(timeout=LONGEST_S) == (True, None)
    await client.disconnect(timeout=LONGEST_S)
