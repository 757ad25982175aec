"""A scripted model server in place of the vendors: a tool call first, then an answer.

It speaks enough of the APIs of OpenAI (Chat Completions, Responses), Anthropic and Google for their clients
and for coding agents, whole or as a stream. The tool is the one of `TOOLS` that the request offers; without
one, the model answers at once. A call costs 120 input and 15 output tokens; the answer also reads 80 tokens
from a cache.
"""

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.browser.senders import vendors

CITY, ANSWER = "Oslo", "It is sunny in Oslo."
COMMAND = "echo sunny in Oslo"
TOOLS = {
    "get_weather": {"city": CITY},
    "Bash": {"command": COMMAND, "description": "Look out of the window"},
    "bash": {"command": COMMAND, "description": "Look out of the window"},
    "exec_command": {"cmd": COMMAND},
    "run_shell_command": {"command": COMMAND, "description": "Look out of the window"},
}


@dataclass(frozen=True)
class Reply:
    """What the model says: a call of a tool, or a text."""

    model: str
    tool: str = ""

    @property
    def arguments(self):
        return TOOLS[self.tool]

    text = ANSWER
    input, output = 120, 15

    @property
    def cache_read(self):
        return 0 if self.tool else 80


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        vendor = vendors.of(self.path)
        if vendor is None:
            return self._answer(404, "application/json", b"{}")
        offered = vendor.offered_tools(request)
        tool = next((name for name in TOOLS if name in offered), "")
        has_result = vendor.RESULT in json.dumps(request)
        reply = Reply(vendor.model(self.path, request), "" if has_result else tool)
        if vendor.is_stream(self.path, request):
            body = "".join(_sse(event) for event in vendor.stream(reply))
            return self._answer(200, "text/event-stream", body.encode())
        return self._answer(200, "application/json", json.dumps(vendor.whole(reply)).encode())

    def do_GET(self):
        self._answer(404, "application/json", b"{}")

    def _answer(self, status, media_type, body):
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Keep the output of tests quiet."""


def _sse(event):
    if isinstance(event, str):
        return f"data: {event}\n\n"
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n"


class ModelServer:
    """The server while a `with` statement runs; `url` is its address."""

    def __enter__(self):
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
