"""The client for asyncio: the same core, and whatever waits is awaited."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Self

from loopscope_client.client import CLOSE_S, SPOOL_BYTES, Client, Status
from loopscope_client.factory import ScopeFactory
from loopscope_client.never_raise import Done


class AsyncClient(ScopeFactory):
    """A Client with `async with`. Its calls return at once: awaiting them is allowed and needless."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        producer: str | None = None,
        spool: str | os.PathLike[str] | None = None,
        spool_bytes: int = SPOOL_BYTES,
        close_s: float = CLOSE_S,
    ) -> None:
        self._client = Client(
            url, token, producer=producer, spool=spool, spool_bytes=spool_bytes, close_s=close_s
        )

    def send(self, event: Mapping[str, object]) -> Done:
        """Record one event."""
        return self._client.send(event)

    @property
    def status(self) -> Status:
        """How it goes now."""
        return self._client.status

    async def flush(self, timeout: float = CLOSE_S) -> bool:  # noqa: ASYNC109  as Client.flush
        """Wait until everything so far is stored; False when that took too long."""
        return await asyncio.to_thread(self._client.flush, timeout)

    async def close(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109  as Client.close
        """Wait a bounded time until everything is stored, then stop."""
        return await asyncio.to_thread(self._client.close, timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
