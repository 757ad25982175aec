"""The client for asyncio: a `Client` whose waiting methods are coroutines that run in a thread."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Self

from loopscope_client.client import CLOSE_S, SPOOL_BYTES, Client
from loopscope_client.factory import ScopeFactory
from loopscope_client.never_raise import Done
from loopscope_client.scopes.base import ScoreValue
from loopscope_client.status import Status


class AsyncClient(ScopeFactory):
    """A `Client` with `async with`; recording calls return at once, so awaiting them is optional.

    Arguments are those of `Client`. Raises ValueError when `url` is not an HTTP or HTTPS URL, or
    `mask_key` is empty.

    Example::

        async with AsyncClient(url, token) as client:
            async with client.loop(agent="cook", model="my-model") as loop, loop.turn() as turn:
                turn.answer("Soup.", input=18, output=5)
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        producer: str | None = None,
        spool: str | os.PathLike[str] | None = None,
        spool_bytes: int = SPOOL_BYTES,
        close_s: float = CLOSE_S,
        mask: bool = False,
        mask_key: bytes | str | None = None,
    ) -> None:
        self._client = Client(
            url,
            token,
            producer=producer,
            spool=spool,
            spool_bytes=spool_bytes,
            close_s=close_s,
            mask=mask,
            mask_key=mask_key,
        )

    def send(self, event: Mapping[str, object]) -> Done:
        """Record one event, see `Client.send`.

        Example::

            async with AsyncClient(url, token) as client:
                client.send({"type": "Notice", "session_id": "chat", "kind": "note", "text": "Started"})
        """
        return self._client.send(event)

    def score(
        self,
        session_id: str,
        name: str,
        value: ScoreValue,
        comment: str | None = None,
        *,
        loop: str | None = None,
        turn: int | None = None,
        id: str | None = None,
    ) -> Done:
        """Give a score to a session, or to a loop or turn of it, see `Client.score`.

        Example::

            async with AsyncClient(url, token) as client:
                client.score("chat", "quality", 4)
        """
        return self._client.score(session_id, name, value, comment, loop=loop, turn=turn, id=id)

    @property
    def status(self) -> Status:
        """Delivery state and counters at this moment, see `Status`.

        Example::

            async with AsyncClient(url, token) as client:
                assert client.status.ok
        """
        return self._client.status

    async def flush(self, timeout: float = CLOSE_S) -> bool:  # noqa: ASYNC109  as Client.flush
        """Wait until the server has stored all lines so far; return False on timeout (in seconds).

        Example::

            async with AsyncClient(url, token) as client:
                assert await client.flush(timeout=10)
        """
        return await asyncio.to_thread(self._client.flush, timeout)

    async def close(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109  as Client.close
        """Wait at most `timeout` seconds (default `close_s`) until all lines are stored, then stop.

        Returns whether all lines are stored. The end of `async with` calls it.

        Example::

            client = AsyncClient(url, token)
            assert await client.close(timeout=10)
        """
        return await asyncio.to_thread(self._client.close, timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
