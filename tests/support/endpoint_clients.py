"""Clients of the ingest endpoints, in process: requests and frames to the real application."""

import json
from dataclasses import dataclass

from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from channels.testing import WebsocketCommunicator

from dashboard.asgi import application
from tests.support.wait import LONGEST_S

NDJSON = "application/x-ndjson"
HOST = (b"host", b"127.0.0.1:8000")


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


def post(body=b"", token=None, *, method="POST", query="", host=HOST[1], **headers):
    """POST a body to the HTTP endpoint; headers are keyword arguments, None leaves one out."""
    fields = {"content_type": NDJSON, "authorization": token and f"Bearer {token}", **headers}
    pairs = [(b"host", host)]
    for name, value in fields.items():
        if value is not None:
            raw = value if isinstance(value, bytes) else str(value).encode()
            pairs.append((name.replace("_", "-").encode(), raw))
    return request("/ingest/v1/events", body, method=method, query=query, headers=pairs)


@async_to_sync
async def request(path, body=b"", *, method="GET", query="", headers=(HOST,)):
    """Send any request to the application."""
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": list(headers),
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.1", 50000),
    }
    communicator = ApplicationCommunicator(application, scope)
    parts = [body[start : start + 8192] for start in range(0, len(body), 8192)] or [b""]
    for part in parts[:-1]:
        await communicator.send_input({"type": "http.request", "body": part, "more_body": True})
    await communicator.send_input({"type": "http.request", "body": parts[-1]})
    start = await communicator.receive_output(LONGEST_S)
    content = b""
    while True:
        message = await communicator.receive_output(LONGEST_S)
        content += message.get("body", b"")
        if not message.get("more_body"):
            break
    await communicator.wait(LONGEST_S)
    found = {name.decode().lower(): value.decode() for name, value in start["headers"]}
    return Answer(start["status"], found, content)


class Client:
    """A producer on the ingest WebSocket."""

    def __init__(self, token=None, *, query="", headers=()):
        bearer = [(b"authorization", f"Bearer {token}".encode())] if token else []
        path = f"/ingest/v1/ws?{query}"
        self._socket = WebsocketCommunicator(application, path, headers=[HOST, *bearer, *headers])

    async def __aenter__(self):
        connected, _ = await self._socket.connect(timeout=LONGEST_S)
        assert connected
        return self

    async def __aexit__(self, *_):
        await self._socket.disconnect(timeout=LONGEST_S)

    async def send_frame(self, header, *lines):
        """Send a frame: a header, or None in bare mode, and lines."""
        first = [] if header is None else [header if isinstance(header, str) else json.dumps(header)]
        await self._socket.send_to(text_data="\n".join([*first, *(line.decode() for line in lines)]))

    async def send_bytes(self, content):
        await self._socket.send_to(bytes_data=content)

    async def receive(self):
        """Return the next frame of the server."""
        message = await self._socket.receive_output(LONGEST_S)
        assert message["type"] == "websocket.send", message
        return json.loads(message["text"])

    async def code(self):
        """Return the code that the server closes with."""
        message = await self._socket.receive_output(LONGEST_S)
        assert message["type"] == "websocket.close", message
        return message["code"]

    async def until_closed(self):
        """Return the number of frames that the server sends before it closes, and the close code."""
        frames = 0
        while (message := await self._socket.receive_output(LONGEST_S))["type"] == "websocket.send":
            frames += 1
        return frames, message["code"]

    async def hello(self, producer="p", v=1):
        await self.send_frame({"op": "hello", "v": v, "producer": producer})
        return await self.receive()

    async def send(self, first, *lines):
        await self.send_frame({"op": "events", "first": first, "n": len(lines)}, *lines)

    async def upto(self, high):
        """Wait until everything up to `high` is acknowledged; return the rejections on the way."""
        rejected = []
        while True:
            reply = await self.receive()
            assert reply["op"] == "ack", reply
            rejected += reply["rejected"]
            if reply["upto"] >= high:
                return rejected
