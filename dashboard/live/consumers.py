"""The page socket: an open page connects here and is sent its panels, first all, then those that change.

A Channels consumer. It receives acknowledgements and runs three tasks: `_write` sends the hub's frames to the
socket, `_watch` checks silence and sends heartbeats, `_end_with_access` closes when the user may not see the
page any more. It renders nothing itself: the hub renders each panel once per process and queues the text for
every viewer.

Invariant: the queue `_out` is bounded by the viewer's send window, as the hub queues no frame beyond it.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import Http404, QueryDict

from dashboard.live.hub import hub
from dashboard.live.renderer import DRAWING
from dashboard.live.viewer import LivePage, Viewer
from dashboard.security.access import may
from dashboard.security.authenticate import NotAMember, SignedOut, project_of
from dashboard.security.recheck import SignIn, until_lost
from recorder.access.rights import Right
from recorder.asgi.socket_consumer import Close, SocketConsumer
from recorder.models import Project

# A page reconnects after every code but 4401: hx-ws after 1006, `connection.js` after the others.
SIGNED_OUT, REFUSED, TOO_MANY, ABNORMAL = 4401, 4403, 4429, 1006
SOCKETS_PER_USER = 250  # in each process; more than anybody has tabs
WATCH_S = 3.0  # between checks of the oldest unacknowledged frame
HEARTBEAT_S = 15.0  # after the last frame; proxies close idle connections
SILENCE_S: float = settings.LOOPSCOPE_PAGE_SILENCE_S  # without an acknowledgement; then it is dropped

OpenPage = Callable[[Project, AbstractBaseUser | AnonymousUser, QueryDict], LivePage]

T = TypeVar("T")

_sockets: Counter[int] = Counter()  # open ones, by owner; event loop only


class PageConsumer(SocketConsumer):
    """One page socket, `/p/<slug>/live/<page>`, from handshake to close. Needs Channels' auth middleware."""

    def __init__(self, pages: Mapping[str, OpenPage], rights: Mapping[str, Right]) -> None:
        super().__init__()
        self._pages, self._rights = pages, rights  # by the name in the URL
        self._out: asyncio.Queue[str | None] = asyncio.Queue()  # frames; None: drop the connection
        self._viewer: Viewer | None = None
        self._owner = 0  # of the socket: a user, or what takes the place of one
        self._counted: int | None = None  # the owner, once the socket is counted

    async def connect(self) -> None:
        """Accept a member of the project and join the hub; otherwise refuse.

        A page that was open learns that its access has ended: browsers give pages a close code only after
        the handshake, so that is completed first. The handshake of any other is refused.
        """
        page = await self._open()
        if _sockets[self._owner] >= SOCKETS_PER_USER:
            raise Close(TOO_MANY)
        self._counted = self._owner
        _sockets[self._owner] += 1
        await self.accept()
        self._viewer = Viewer(page, self._out.put_nowait, partial(self._out.put_nowait, None))
        hub.join(self._viewer)
        self.start_task(self._write)
        self.start_task(partial(self._watch, self._viewer))
        self.start_task(self._end_with_access)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Handle an acknowledgement, `{"ack": NUMBER}`; any other message is ignored."""
        number = _acknowledged_frame(text_data)
        if number is not None and self._viewer is not None:
            hub.acknowledge(self._viewer, number)

    def release(self) -> None:
        """Leave the hub."""
        if self._viewer is not None:
            hub.leave(self._viewer)
        if self._counted is not None:
            _sockets[self._counted] -= 1
            if not _sockets[self._counted]:
                del _sockets[self._counted]
            self._counted = None

    async def _open(self) -> LivePage:
        if self._name not in self._pages:
            raise Close(REFUSED)
        try:
            return await self._in_thread(self._open_page)
        except (SignedOut, NotAMember):
            if self._was_open():
                await self.accept()
            raise Close(SIGNED_OUT) from None
        except Http404:
            raise Close(REFUSED) from None

    def _was_open(self) -> bool:
        """Return whether the page may have been open before who opened it lost access to it."""
        return settings.SESSION_COOKIE_NAME in self.scope["cookies"]

    def _open_page(self) -> LivePage:
        user = self.scope["user"]
        project = project_of(user, self._slug)
        if not may(user, project, self._right):
            raise NotAMember
        self._owner = user.pk
        return self._pages[self._name](project, user, QueryDict(self.scope["query_string"]))

    async def _write(self) -> None:
        """Send the frames that the hub queues, until it drops the viewer."""
        while (frame := await self._out.get()) is not None:
            await self.send(frame)
        raise Close(ABNORMAL)

    async def _watch(self, viewer: Viewer) -> None:
        """Close when the page is silent; send heartbeats while nothing changes."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(WATCH_S)
            if viewer.silent_for(loop.time()) > SILENCE_S:
                raise Close(ABNORMAL)
            if viewer.is_ready and loop.time() - viewer.sent_at > HEARTBEAT_S:
                viewer.send_frame("", loop.time())

    async def _end_with_access(self) -> None:
        """Close when the user has signed out, or may not see the page any more."""
        await until_lost(self._access())
        raise Close(SIGNED_OUT)

    def _access(self) -> Callable[[], bool]:
        """Return the check of whether who opened the page may still see it."""
        sign_in = SignIn.of(self.scope["user"], self.scope["session"].session_key)
        return partial(sign_in.has, self._slug, self._right)

    @property
    def _right(self) -> Right:
        return self._rights[self._name]

    @property
    def _slug(self) -> str:
        return str(self.scope["url_route"]["kwargs"]["slug"])

    @property
    def _name(self) -> str:
        return str(self.scope["url_route"]["kwargs"]["page"])

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(DRAWING, work)


def _acknowledged_frame(text: object) -> int | None:
    try:
        message = json.loads(text) if isinstance(text, str) and len(text) < 100 else None
    except ValueError:
        return None
    number = message.get("ack") if isinstance(message, dict) else None
    return number if type(number) is int else None
