"""A connection that sends at once, and asks when it may go on only if it could not send all.

Stock Twisted asks first, which is three calls to the kernel for one; after each of them the event loop waits
until the thread that writes to the store gives way.
"""

from __future__ import annotations

import asyncio

from twisted.internet import tcp


class Wire(tcp.Server):  # type: ignore[misc]  # its base is untyped
    """The transport of every connection, as Twisted has it but for when it sends."""

    _is_due = _is_watched = False

    def startWriting(self) -> None:  # noqa: N802  Twisted's names
        if not self._is_due and not self._is_watched:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._send)

    def stopWriting(self) -> None:  # noqa: N802
        if self._is_watched:
            self._is_watched = False
            super().stopWriting()

    def _send(self) -> None:
        self._is_due = False
        if not self._is_gone:
            self.reactor._readOrWrite(self, False)  # noqa: FBT003, SLF001  what the reactor does when asked
        if not self._is_gone and (self.dataBuffer or self._tempDataLen):
            self._is_watched = True
            super().startWriting()

    @property
    def _is_gone(self) -> bool:
        return bool(self.disconnected or self._aborting)
