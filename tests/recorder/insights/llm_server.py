"""A local server with OpenAI's chat API, whose answers a test sets."""

import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from recorder.ingest.commit import writer
from tests.recorder.insights.fixtures import working
from tests.support import build


class Speaker:
    """An OpenAI-compatible server whose next answers a test chooses; the last one stays."""

    def __init__(self):
        self.requests = []
        self.answers = []
        speaker = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                speaker.requests.append((self.path, dict(self.headers), body))
                send_frame = speaker.answers.pop(0) if len(speaker.answers) > 1 else speaker.answers[0]
                with suppress(OSError):  # who asked has gone
                    send_frame(self, body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}/v1"


def reply(handler, body, status=200, **headers):
    handler.send_response(status)
    for name, value in {"Content-Length": len(body), **headers}.items():
        handler.send_header(name, str(value))
    handler.end_headers()
    handler.wfile.write(body)


def saying(content):
    """Answer a chat completion with this content; a function is given the events that were sent."""

    def send_frame(handler, requests):
        events = json.loads(requests["messages"][1]["content"])["events"]
        text = content(events) if callable(content) else content
        reply(
            handler, json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode()
        )

    return send_frame


def true(events):
    return json.dumps({"facts": [{"fact": "The project uses uv.", "events": [events[0]["id"]]}]})


@pytest.fixture
def speaker(settings, monkeypatch):
    monkeypatch.setattr("recorder.insights.consolidate.PAUSE_S", 0)
    speaker = Speaker()
    settings.LOOPSCOPE_FACTS_URL, settings.LOOPSCOPE_FACTS_MODEL = speaker.url, "small"
    settings.LOOPSCOPE_FACTS_KEY, settings.LOOPSCOPE_FACTS_S = "sk-very-secret", 1
    yield speaker
    speaker.server.shutdown()
    speaker.server.server_close()
    writer.close()


def talk(loop, text="Use uv here, not pip."):
    prompt = build.user(text)
    events = working(loop, "read a", "test!", "edit a", "test")
    return [*events[:2], build.message_start(loop, prompt), build.message_end(loop, prompt), *events[2:]]
