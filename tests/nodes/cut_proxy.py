"""A TCP proxy that can be cut: connections end at once, and new ones are refused until it is restored."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

CHUNK = 65536


class Cut:
    """A proxy between a node and a service, on a port that stays the same."""

    def __init__(self, host: str, port: int) -> None:
        self._to = host, port
        self._pairs: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._is_whole = True
        self._serve(self._listener)

    def cut(self) -> None:
        """End every connection and refuse new ones."""
        self._is_whole = False
        self._end(self._listener)
        for connection in self._pairs:
            self._end(connection)
        self._pairs.clear()

    def hang(self) -> None:
        """End every connection; new ones are made and never answered."""
        self.cut()
        self._listener = socket.create_server(("127.0.0.1", self.port))

    def mend(self) -> None:
        """Let connections through again."""
        if self._is_whole:
            return
        self._is_whole = True
        self._end(self._listener)
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._serve(self._listener)

    def _serve(self, listener: socket.socket) -> None:
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(self._to)
                self._pairs += near, far
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while chunk := source.recv(CHUNK):
                sink.sendall(chunk)
        self._end(source)
        self._end(sink)

    @staticmethod
    def _end(connection: socket.socket) -> None:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()
