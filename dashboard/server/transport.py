"""A connection that sends at once, and asks when it may go on only if it could not send all.

Stock Twisted asks first, which is three calls to the kernel for one; after each of them the event loop waits
until the thread that writes to the store gives way. Only what Twisted documents is used (docs/adr/0024).
"""

from __future__ import annotations

import asyncio
import logging

from twisted.internet import tcp
from twisted.python.failure import Failure

log = logging.getLogger(__name__)


class Wire(tcp.Server):  # type: ignore[misc]  # its base is untyped
    """The transport of every connection, as Twisted has it but for when it sends."""

    _is_due = False  # something waits to be sent, and nobody watches for room
    _is_watched = False

    def startWriting(self) -> None:  # noqa: N802  Twisted's names
        if not self._is_due and not self._is_watched:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._send)

    def stopWriting(self) -> None:  # noqa: N802
        self._is_due = False
        if self._is_watched:
            self._is_watched = False
            super().stopWriting()

    def _send(self) -> None:
        if not self._is_due or self.disconnected:
            return
        try:
            why = self.doWrite()
        except Exception as error:  # of whoever is told that there is room: the connection is no use after it
            log.exception("a connection cannot be written to")
            why = error
        if why:
            self.connectionLost(Failure(why))
        elif self._is_due:  # it stops writing itself when all is sent
            self._is_due, self._is_watched = False, True
            super().startWriting()
