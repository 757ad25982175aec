"""A subscriber of the lifecycle stream, and ingest of the events it receives."""

import json
from contextlib import asynccontextmanager

from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async

from dashboard.asgi import application
from recorder.ingest.commit.pipeline import Batch, ingest
from tests.support.endpoint_clients import HOST
from tests.support.wait import LONGEST_S


class Subscription:
    """One connection to the stream."""

    def __init__(self, communicator):
        self._communicator = communicator
        self._text = ""

    async def events(self, number):
        """Wait for `number` events; return the data of each."""
        while self._text.count("event: ") < number or not self._text.endswith("\n\n"):
            part = await self._communicator.receive_output(LONGEST_S)
            assert part.get("more_body"), "the stream ended"
            self._text += part["body"].decode()
        frames = [each for each in self._text.split("\n\n") if each.startswith("event: lifecycle\ndata: ")]
        self._text = ""
        return [json.loads(each.partition("data: ")[2]) for each in frames]

    async def silence(self):
        assert await self._communicator.receive_nothing(0.3)


@asynccontextmanager
async def subscribed(token=None, *, query="", cookie=None):
    headers = [HOST]
    if token:
        headers.append((b"authorization", f"Bearer {token}".encode()))
    if cookie:
        headers.append((b"cookie", cookie.encode()))
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/api/v1/lifecycle",
        "raw_path": b"/api/v1/lifecycle",
        "query_string": query.encode(),
        "headers": headers,
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.1", 50000),
    }
    communicator = ApplicationCommunicator(application, scope)
    await communicator.send_input({"type": "http.request", "body": b""})
    start = await communicator.receive_output(LONGEST_S)
    if start["status"] != 200:
        yield start["status"]
        return
    assert dict(start["headers"])[b"content-type"] == b"text/event-stream"
    assert (await communicator.receive_output(LONGEST_S))["body"] == b": listening\n\n"
    yield Subscription(communicator)
    await communicator.send_input({"type": "http.disconnect"})
    await communicator.wait(LONGEST_S)


@database_sync_to_async
def play(project, *events, form="native", producer="p", flush=False):
    lines = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in events]
    ingest(Batch(project.pk, producer, None, lines, form, flush=flush))


def summary(event):
    """Return an event as text, without fields that differ from run to run."""
    words = [event["type"], event["session_id"], event.get("reason")]
    return " ".join(filter(None, words)) + (" pending" if event.get("pending_approval") else "")


async def summaries(subscription, number):
    return [summary(event) for event in await subscription.events(number)]
