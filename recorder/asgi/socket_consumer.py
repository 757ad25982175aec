"""Base class of the WebSocket consumers: Channels' `AsyncWebsocketConsumer` without its most expensive parts.

What is replaced; docs/adr/0027 has the measurements:

- `dispatch` and `websocket_disconnect`. Stock Channels runs `close_old_connections` before each message, in
  the thread that Django shares: 75 us a message, and a slow query there blocks every socket. Nothing here
  uses that thread's connection; consumers query in thread pools of their own, which close their connections.
- `__call__`. Stock Channels creates a task for each message, so each takes three iterations of the event
  loop, and frames that have arrived do not share a commit. It also opens a channel in the channel layer for
  each socket, before the handshake is answered: without Redis no client could connect. No consumer here needs
  a channel: one member a process joins the group (`recorder/pubsub/redis_relay.py`).

Invariants: a consumer sends at most one close. After it no frame reaches `receive`, the tasks are cancelled
and `release` has been called; that also holds once the client has disconnected and `disconnect` has
returned.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from channels.consumer import get_handler_name  # type: ignore[import-untyped]  # ships no types
from channels.exceptions import StopConsumer  # type: ignore[import-untyped]
from channels.generic.websocket import AsyncWebsocketConsumer  # type: ignore[import-untyped]

from recorder.asgi.scope import Receive, Scope, Send

log = logging.getLogger(__name__)

INTERNAL_ERROR = 1011


class Close(Exception):
    """Raised in a handler or a task of a consumer to close its socket with `code`."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class SocketConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # Channels ships no types
    """A WebSocket with background tasks; an exception in any part closes it with a code."""

    def __init__(self) -> None:
        super().__init__()
        self.is_accepted = self.is_closed = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection until the client disconnects or the server cancels this."""
        self.scope, self.base_send = scope, send
        try:
            while True:
                await self.dispatch(await receive())
        except StopConsumer:
            pass
        finally:
            self.is_closed = True
            tasks = list(self._tasks)
            self._stop_tasks()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def dispatch(self, message: Mapping[str, Any]) -> None:
        """Call the handler of a message; frames that arrive after the close are dropped."""
        if self.is_closed and message["type"] != "websocket.disconnect":
            return
        try:
            await getattr(self, get_handler_name(message))(message)
        except StopConsumer:
            raise
        except Exception as error:  # noqa: BLE001  the outermost frame of a handler
            await self._close_after(error)

    async def websocket_disconnect(self, message: Mapping[str, Any]) -> None:
        """End the consumer. Raises StopConsumer."""
        await self.disconnect(message["code"])
        raise StopConsumer

    async def accept(self, *args: Any, **kwargs: Any) -> None:
        """Complete the handshake."""
        self.is_accepted = True
        await super().accept(*args, **kwargs)

    async def close(self, code: int | None = None, reason: str | None = None) -> None:
        """Close the socket, unless it is closed, and cancel all its tasks except the calling one."""
        if not self.is_closed:
            self.is_closed = True
            self._stop_tasks()
            await super().close(code, reason)

    def start_task(self, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Run `work` beside the handlers until it ends, raises, or the socket closes."""
        task = asyncio.ensure_future(self._run_task(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def release(self) -> None:
        """Release what the connection holds. Called at least once, however the connection ended."""

    async def _run_task(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001  the outermost frame of a task
            await self._close_after(error)

    async def _close_after(self, error: Exception) -> None:
        """Close with the code that the error names, or 1011 for a bug."""
        if isinstance(error, Close):
            await self.close(error.code)
        elif not self.is_accepted:
            raise error  # the server answers the handshake with 500
        else:
            log.error("%s failed", type(self).__name__, exc_info=error)
            await self.close(INTERNAL_ERROR)

    def _stop_tasks(self) -> None:
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()
        self.release()
