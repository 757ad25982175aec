"""Sends spans over OTLP and keeps a ledger of what was sent and acknowledged."""

from __future__ import annotations

import json
import threading
from http.client import HTTPConnection, HTTPException

AWAY_S = 0.03  # between two attempts to reach a server that is down
WAIT_S = 20.0  # for an answer, which may be lost
AGAIN = {429, 503}
SPANS = 40  # in one body


class SpanSender(threading.Thread):
    """One trace: bodies of model calls, each sent again until it is acknowledged."""

    def __init__(self, trace: int, port: int, token: str) -> None:
        super().__init__(name=f"spans-{trace}", daemon=True)
        self.trace, self.port = f"{trace:032x}", port
        self.sent = self.acked = 0  # number of spans
        self.faults: list[str] = []
        self.stopping = threading.Event()
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def run(self) -> None:
        while not self.stopping.is_set():
            try:
                connection = HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
                while not self.stopping.is_set():
                    self._send(connection)
            except (OSError, HTTPException):
                self.stopping.wait(AWAY_S)
            finally:
                connection.close()

    def _send(self, connection: HTTPConnection) -> None:
        first = self.acked
        self.sent = first + SPANS
        spans = [self._span(number) for number in range(first + 1, self.sent + 1)]
        body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
        connection.request("POST", "/v1/traces", body, self._headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status == 200:
            self.acked = self.sent
            if json.loads(content):
                self.faults.append(f"{self.name}: {content.decode()}")
        elif answer.status in AGAIN:
            self.stopping.wait(AWAY_S)
        else:
            self.faults.append(f"{self.name}: {answer.status} {content.decode()}")
            self.stopping.set()

    def _span(self, number: int) -> dict[str, object]:
        at = (1_790_000_000 + int(self.trace, 16) * 3600) * 10**9 + number * 10**6
        values: dict[str, dict[str, object]] = {
            "gen_ai.operation.name": {"stringValue": "chat"},
            "gen_ai.request.model": {"stringValue": "m"},
            "gen_ai.usage.input_tokens": {"intValue": 7},
        }
        return {
            "traceId": self.trace,
            "spanId": f"{number:016x}",
            "name": "chat m",
            "startTimeUnixNano": str(at),
            "endTimeUnixNano": str(at + 1000),
            "attributes": [{"key": name, "value": value} for name, value in values.items()],
        }
