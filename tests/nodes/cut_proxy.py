"""A TCP proxy that can be cut: connections end at once, and new ones are refused until it is mended."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

PIECE = 65536


class Cut:
    """Stands between a node and what it needs, on a port that stays the same."""

    def __init__(self, host: str, port: int) -> None:
        self._to = host, port
        self._pairs: list[socket.socket] = []
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = self._door.getsockname()[1]
        self._is_whole = True
        self._serve(self._door)

    def cut(self) -> None:
        """End every connection and refuse new ones."""
        self._is_whole = False
        self._end(self._door)
        for each in self._pairs:
            self._end(each)
        self._pairs.clear()

    def hang(self) -> None:
        """End every connection; new ones are made and never answered."""
        self.cut()
        self._door = socket.create_server(("127.0.0.1", self.port))

    def mend(self) -> None:
        """Let connections through again."""
        if self._is_whole:
            return
        self._is_whole = True
        self._end(self._door)
        self._door = socket.create_server(("127.0.0.1", self.port))
        self._serve(self._door)

    def _serve(self, door: socket.socket) -> None:
        threading.Thread(target=self._accept, args=(door,), daemon=True).start()

    def _accept(self, door: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = door.accept()
                far = socket.create_connection(self._to)
                self._pairs += near, far
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(PIECE):
                sink.sendall(piece)
        self._end(source)
        self._end(sink)

    @staticmethod
    def _end(each: socket.socket) -> None:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
