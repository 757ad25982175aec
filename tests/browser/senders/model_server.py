"""A scripted model server in place of the vendors: a tool call first, then an answer.

It speaks enough of OpenAI's Chat Completions and of Anthropic's Messages for their clients.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import uuid4

CITY, ANSWER = "Oslo", "It is sunny in Oslo."


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        roles = [message["role"] for message in request["messages"]]
        texts = json.dumps(request["messages"])
        has_result = "tool" in roles or "tool_result" in texts
        write = _anthropic if self.path.endswith("/messages") else _openai
        body = json.dumps(write(request["model"], has_result=has_result)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Keep the output of tests quiet."""


def _openai(model, *, has_result):
    call = {"id": f"call_{uuid4().hex}", "type": "function",
            "function": {"name": "get_weather", "arguments": json.dumps({"city": CITY})}}  # fmt: skip
    message = {"role": "assistant", "content": ANSWER} if has_result else {
        "role": "assistant", "content": None, "tool_calls": [call]
    }  # fmt: skip
    reason = "stop" if has_result else "tool_calls"
    return {
        "id": f"chatcmpl-{uuid4().hex}",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 120, "completion_tokens": 15, "total_tokens": 135},
    }


def _anthropic(model, *, has_result):
    call = {"type": "tool_use", "id": f"toolu_{uuid4().hex}", "name": "get_weather", "input": {"city": CITY}}
    return {
        "id": f"msg_{uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": ANSWER} if has_result else call],
        "stop_reason": "end_turn" if has_result else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 120, "output_tokens": 15},
    }


class ModelServer:
    """The server while a `with` statement runs; `url` is its address."""

    def __enter__(self):
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
