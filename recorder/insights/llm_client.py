"""Client of an OpenAI-compatible chat completions API: one request, one answer, with limits of time and size.

It uses `http.client`, which follows no redirects, so the key is sent to the configured server only.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from recorder.core.insights.facts import ANSWER, InvalidAnswer

ANSWER_BYTES = 4 * ANSWER
BAD_REQUEST = (400, 413, 422)  # the request itself was refused; other requests may succeed


class Away(Exception):
    """The model is unavailable. The text says why and contains nothing of the request."""


@dataclass(frozen=True, slots=True)
class Model:
    """Address and name of a model. `url` is the base address, without `/chat/completions`."""

    url: str
    name: str
    key: str = ""
    seconds: int = 60

    def ask(self, messages: list[dict[str, str]]) -> str:
        """Return the content of the answer's first choice.

        Raises:
            Away: the server does not answer within `seconds`, cannot be reached, or answers with an error.
            InvalidAnswer: it refused this request, or its answer is too long or no chat completion.
        """
        request = {"model": self.name, "messages": messages, "temperature": 0, "stream": False}
        status, answer = self._post(json.dumps(request).encode())
        if status in BAD_REQUEST:
            raise InvalidAnswer("the request was refused")
        if status != http.client.OK:
            raise Away(f"it answers {status}")
        return _content(answer)

    def _post(self, body: bytes) -> tuple[int, bytes]:
        parts = urlsplit(self.url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        until = time.monotonic() + self.seconds
        try:
            connection = kind(parts.hostname or "", parts.port, timeout=self.seconds)
            path = f"{parts.path.rstrip('/')}/chat/completions"
            with closing(connection):
                connection.connect()
                with _cut_at(until, connection.sock):
                    connection.request("POST", path, body, self._headers())
                    response = connection.getresponse()
                    answer = response.read(ANSWER_BYTES + 1)
        except (OSError, HTTPException, ValueError) as error:
            raise Away(self._why(error, until)) from error
        if time.monotonic() >= until:
            raise Away(self._why(TimeoutError(), until))
        if len(answer) > ANSWER_BYTES:
            raise InvalidAnswer("the answer is too long")
        return response.status, answer

    def _why(self, error: Exception, until: float) -> str:
        if isinstance(error, TimeoutError) or time.monotonic() >= until:
            return f"it does not answer within {self.seconds} s"
        return f"it cannot be reached: {type(error).__name__}"

    def _headers(self) -> dict[str, str]:
        own = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return {"Content-Type": "application/json", "Accept": "application/json", **own}


class _Message(BaseModel):
    """A message of the model."""

    model_config = ConfigDict(extra="ignore")

    content: str = Field(max_length=ANSWER)


class _Choice(BaseModel):
    """One alternative answer."""

    model_config = ConfigDict(extra="ignore")

    message: _Message


class _Completion(BaseModel):
    """A chat completion."""

    model_config = ConfigDict(extra="ignore")

    choices: list[_Choice] = Field(min_length=1)


def _content(answer: bytes) -> str:
    try:
        return _Completion.model_validate_json(answer).choices[0].message.content
    except ValidationError as error:
        raise InvalidAnswer("the answer is not a chat completion") from error


@contextmanager
def _cut_at(until: float, connected: socket.socket) -> Iterator[None]:
    """Close a connection at a deadline: a socket timeout alone never expires while single bytes arrive."""

    def cut() -> None:
        with suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(until - time.monotonic(), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
