"""Long answers, sent as fast as the reader reads and never held whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async


async def unhurried(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Hand out pieces one by one; each is read only when the one before has been taken."""
    while piece := await sync_to_async(_next)(pieces):
        yield piece


def _next(pieces: Iterator[bytes]) -> bytes:
    return next(pieces, b"")
