"""Streaming of long responses without buffering them: memory is one chunk per response."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async


async def stream(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the chunks; each is read from the database only after the previous one was sent.

    Ends at the first empty chunk, or with the iterator.
    """
    # Django itself would read a synchronous iterator to its end before it sends anything.
    while chunk := await sync_to_async(_next)(chunks):
        yield chunk


def _next(chunks: Iterator[bytes]) -> bytes:
    return next(chunks, b"")
