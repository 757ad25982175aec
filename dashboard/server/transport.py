"""A transport that sends at once, and polls the socket for writability only if it could not send all.

Stock Twisted first polls, which makes three system calls of one; after each, the event loop waits for the
GIL, which the writer thread holds. Only documented interfaces of Twisted are used (docs/adr/0024).

States: idle; due (data waits, `_send` is scheduled); watched (the reactor polls for writability). Invariant:
a transport is never due and watched at once, so each write is attempted by exactly one of `_send` and the
reactor.
"""

from __future__ import annotations

import asyncio
import logging

from twisted.internet import tcp
from twisted.python.failure import Failure

log = logging.getLogger(__name__)


class EagerTransport(tcp.Server):  # type: ignore[misc]  # its base is untyped
    """The transport of every connection: Twisted's, with an earlier first attempt to send."""

    _is_due = False  # data waits and `_send` is scheduled
    # The reactor polls the socket for writability.
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
            reason = self.doWrite()
        except Exception as error:  # a resumed producer raised: the connection is unusable
            log.exception("writing to a connection failed")
            reason = error
        if reason:
            self.connectionLost(Failure(reason))
        elif self._is_due:  # doWrite calls stopWriting when all is sent; here some is left
            self._is_due, self._is_watched = False, True
            super().startWriting()
