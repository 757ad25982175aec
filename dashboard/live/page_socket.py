"""The page socket: an open page connects here and is sent its panels, first all, then whatever changes.

Plain ASGI: Channels' consumers hop through one shared thread for every message.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import Http404, QueryDict

from dashboard.live.hub import hub
from dashboard.live.renderer import DRAWING
from dashboard.live.viewer import Page, Viewer
from dashboard.security.access import origin_allowed
from dashboard.security.authenticate import NotAMember, SignedOut, admit, session_key
from recorder.models import Project

log = logging.getLogger(__name__)

# Reconnecting pages are told apart by close code: hx-ws comes back after 1006, never after 4xxx.
SIGNED_OUT, REFUSED, ABNORMAL = 4401, 4403, 1006
RECHECK_S = 3.0
HEARTBEAT_S = 15.0
SILENCE_S = 30.0

Scope = dict[str, Any]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
OpenPage = Callable[[Project, AbstractBaseUser | AnonymousUser, QueryDict], Page]
T = TypeVar("T")


class Closed(Exception):
    """The connection is over; `code` says how."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class PageConsumer:
    """One page socket, from handshake to close."""

    def __init__(self, pages: Mapping[str, OpenPage], scope: Scope, receive: Receive, send: Send) -> None:
        self._pages = pages
        self._scope = scope
        self._receive = receive
        self._send = send
        self._out: asyncio.Queue[str | None] = asyncio.Queue()
        kwargs = scope["url_route"]["kwargs"]
        self._slug, self._name = kwargs["slug"], kwargs["page"]
        self._key = session_key(scope["headers"])

    async def run(self) -> None:
        """Serve the page until it goes away."""
        await self._receive()  # websocket.connect
        try:
            page = await self._open()
        except Closed as closed:
            await self._send({"type": "websocket.close", "code": closed.code})
            return
        await self._send({"type": "websocket.accept"})
        code = await self._serve(page)
        if code is not None:
            await self._send({"type": "websocket.close", "code": code})

    async def _open(self) -> Page:
        if not origin_allowed(self._scope) or self._name not in self._pages:
            raise Closed(REFUSED)
        try:
            return await self._in_thread(self._open_page)
        except SignedOut:
            raise Closed(SIGNED_OUT) from None
        except (NotAMember, Http404):
            raise Closed(REFUSED) from None

    def _open_page(self) -> Page:
        user, project = admit(self._key, self._slug)
        return self._pages[self._name](project, user, QueryDict(self._scope["query_string"]))

    async def _serve(self, page: Page) -> int | None:
        """Run until one side ends it; return the code to close with, None if the viewer left."""
        viewer = Viewer(page, self._out.put_nowait, partial(self._out.put_nowait, None))
        hub.join(viewer)
        tasks = [
            asyncio.ensure_future(part) for part in (self._read(viewer), self._write(), self._watch(viewer))
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            hub.leave(viewer)
            for task in tasks:
                task.cancel()

    async def _read(self, viewer: Viewer) -> None:
        """Take acknowledgements until the viewer leaves; whatever else it says is ignored."""
        while (message := await self._receive())["type"] != "websocket.disconnect":
            number = _acknowledged(message.get("text"))
            if number is not None:
                hub.acknowledge(viewer, number)

    async def _write(self) -> int:
        """Send what the hub hands over until it gives the viewer up."""
        while (frame := await self._out.get()) is not None:
            await self._send({"type": "websocket.send", "text": frame})
        return ABNORMAL

    async def _watch(self, viewer: Viewer) -> int:
        """Return when the viewer has signed out or fallen silent; meanwhile keep a quiet connection warm."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(RECHECK_S)
            if viewer.silent_for(loop.time()) > SILENCE_S:
                return ABNORMAL
            if viewer.is_ready and loop.time() - viewer.sent_at > HEARTBEAT_S:
                viewer.hand("", loop.time())
            try:
                await self._in_thread(partial(admit, self._key, self._slug))
            except (SignedOut, NotAMember):
                return SIGNED_OUT

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(DRAWING, work)


async def page_socket(pages: Mapping[str, OpenPage], scope: Scope, receive: Receive, send: Send) -> None:
    """The ASGI application behind `/p/<slug>/live/<page>`; `pages` are those that there are, by name."""
    await PageConsumer(pages, scope, receive, send).run()


def _acknowledged(text: object) -> int | None:
    try:
        said = json.loads(text) if isinstance(text, str) and len(text) < 100 else None
    except ValueError:
        return None
    number = said.get("ack") if isinstance(said, dict) else None
    return number if type(number) is int else None
