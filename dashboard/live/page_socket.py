"""The page socket: an open page connects here and is sent its panels, first all, then those that change.

A Channels consumer. It receives acknowledgements and runs two tasks: `_write` sends the hub's frames to the
socket, `_watch` checks sign-out and silence and sends heartbeats. It renders nothing itself: the hub renders
each panel once per process and queues the text for every viewer.

Invariant: the queue `_out` is bounded by the viewer's send window, as the hub queues no frame beyond it.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import Http404, QueryDict

from dashboard.live.hub import hub
from dashboard.live.renderer import DRAWING
from dashboard.live.viewer import Page, Viewer
from dashboard.security.authenticate import NotAMember, SignedOut, authenticate, project_of
from recorder.ingest.consumer import Close, SocketConsumer
from recorder.models import Project

# A page reconnects after every code but 4401: hx-ws after 1006, `connection.js` after the others.
SIGNED_OUT, REFUSED, TOO_MANY, ABNORMAL = 4401, 4403, 4429, 1006
SOCKETS_PER_USER = 250  # in each process; more than anybody has tabs
RECHECK_S = 3.0  # between checks of the sign-in and of the oldest unacknowledged frame
HEARTBEAT_S = 15.0  # after the last frame; proxies close idle connections
SILENCE_S = 30.0  # without an acknowledgement, after which the connection is dropped

OpenPage = Callable[[Project, AbstractBaseUser | AnonymousUser, QueryDict], Page]

T = TypeVar("T")

_sockets: Counter[int] = Counter()  # open ones, by user; event loop only


class PageConsumer(SocketConsumer):
    """One page socket, `/p/<slug>/live/<page>`, from handshake to close. Needs Channels' auth middleware."""

    def __init__(self, pages: Mapping[str, OpenPage]) -> None:
        super().__init__()
        self._pages = pages  # by the name in the URL
        self._out: asyncio.Queue[str | None] = asyncio.Queue()  # frames; None: drop the connection
        self._viewer: Viewer | None = None
        self._user: int | None = None  # once it is counted

    async def connect(self) -> None:
        """Accept a member of the project and join the hub; otherwise refuse the handshake."""
        page = await self._open()
        user = self.scope["user"].pk
        if _sockets[user] >= SOCKETS_PER_USER:
            raise Close(TOO_MANY)
        self._user = user
        _sockets[user] += 1
        await self.accept()
        self._viewer = Viewer(page, self._out.put_nowait, partial(self._out.put_nowait, None))
        hub.join(self._viewer)
        self.start_task(self._write)
        self.start_task(partial(self._watch, self._viewer))

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Handle an acknowledgement, `{"ack": NUMBER}`; any other message is ignored."""
        number = _acknowledged(text_data)
        if number is not None and self._viewer is not None:
            hub.acknowledge(self._viewer, number)

    def release(self) -> None:
        """Leave the hub."""
        if self._viewer is not None:
            hub.leave(self._viewer)
        if self._user is not None:
            _sockets[self._user] -= 1
            if not _sockets[self._user]:
                del _sockets[self._user]
            self._user = None

    async def _open(self) -> Page:
        if self._name not in self._pages:
            raise Close(REFUSED)
        try:
            return await self._in_thread(self._open_page)
        except SignedOut:
            raise Close(SIGNED_OUT) from None
        except (NotAMember, Http404):
            raise Close(REFUSED) from None

    def _open_page(self) -> Page:
        user = self.scope["user"]
        project = project_of(user, self._slug)
        return self._pages[self._name](project, user, QueryDict(self.scope["query_string"]))

    async def _write(self) -> None:
        """Send the frames that the hub queues, until it drops the viewer."""
        while (frame := await self._out.get()) is not None:
            await self.send(frame)
        raise Close(ABNORMAL)

    async def _watch(self, viewer: Viewer) -> None:
        """Close when the user has signed out or the page is silent; send heartbeats while nothing changes."""
        loop = asyncio.get_running_loop()
        # A new session store each time: the one in the scope caches the user.
        recheck = partial(authenticate, self.scope["session"].session_key, self._slug)
        while True:
            await asyncio.sleep(RECHECK_S)
            if viewer.silent_for(loop.time()) > SILENCE_S:
                raise Close(ABNORMAL)
            if viewer.is_ready and loop.time() - viewer.sent_at > HEARTBEAT_S:
                viewer.send_frame("", loop.time())
            try:
                await self._in_thread(recheck)
            except (SignedOut, NotAMember):
                raise Close(SIGNED_OUT) from None

    @property
    def _slug(self) -> str:
        return str(self.scope["url_route"]["kwargs"]["slug"])

    @property
    def _name(self) -> str:
        return str(self.scope["url_route"]["kwargs"]["page"])

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(DRAWING, work)


def _acknowledged(text: object) -> int | None:
    try:
        message = json.loads(text) if isinstance(text, str) and len(text) < 100 else None
    except ValueError:
        return None
    number = message.get("ack") if isinstance(message, dict) else None
    return number if type(number) is int else None
