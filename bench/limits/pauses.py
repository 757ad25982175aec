"""How long the event loop of a server is blocked, seen from outside."""

from __future__ import annotations

import threading
import time

from bench.support.ingest_client import Line


class Pauses:
    """The longest answer of `/healthz` while the context runs."""

    def __init__(self, port: int) -> None:
        self._line = Line(port)
        self.longest_s = 0.0
        self._is_over = False
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Pauses:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._thread.join()
        self._line.close()

    def _watch(self) -> None:
        while not self._is_over:
            began = time.perf_counter()
            self._line.send(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            self._line.read_response()
            self.longest_s = max(self.longest_s, time.perf_counter() - began)
            time.sleep(0.002)  # the sampling interval
