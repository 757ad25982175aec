"""An open page in tests: its project, its user, an agent that sends events, and its socket."""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from difflib import unified_diff

import pytest
from asgiref.sync import SyncToAsync
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client

from dashboard.asgi import application
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import LoopRecord, Membership, Project
from tests.dashboard.page_model import ShownPage, parse, parts, remove_new_panels
from tests.support.wait import LONGEST_S

ORIGIN = (b"origin", b"http://testserver")
HOST = (b"host", b"testserver")


# One thread that keeps its connection: opening one costs SQLite more than most questions.
THREAD = ThreadPoolExecutor(max_workers=1, thread_name_prefix="visitor")


async def in_thread(work: Callable, *args):
    """Run database work in another thread, as requests do."""
    return await asyncio.get_running_loop().run_in_executor(THREAD, work, *args)


def leave_thread() -> None:
    """Close the connections of that thread, and of the thread in which Channels reads sessions and users."""
    for executor in (THREAD, SyncToAsync.single_thread_executor):
        executor.submit(connections.close_all).result()


class Place:
    """A project, a member of it, and an agent that sends events."""

    def __init__(self, slug: str) -> None:
        self.project = Project.objects.create(slug=slug, title=slug)
        self.user = User.objects.create_user(f"reader-of-{slug}")
        Membership.objects.create(project=self.project, user=self.user)
        self.client = Client()
        self.client.force_login(self.user)

    @property
    def cookie(self) -> tuple[bytes, bytes]:
        pairs = (f"{morsel.key}={morsel.value}" for morsel in self.client.cookies.values())
        return b"cookie", "; ".join(pairs).encode()

    def feed(self, *lines: dict | bytes, producer: str = "agent") -> None:
        """Record lines as the ingest endpoints do."""
        raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
        receipt = ingest(Batch(self.project.pk, producer, None, raw))
        assert receipt.rejected == []

    def flush(self) -> None:
        ingest(Batch(self.project.pk, "agent", None, [], flush=True))

    def get(self, path: str) -> str:
        response = self.client.get(path)
        assert response.status_code == 200, (path, response.status_code)
        return response.content.decode()

    def loops(self) -> list[str]:
        """Return the URL of every recorded loop's page."""
        slug = self.project.slug
        loops = LoopRecord.objects.filter(session__project=self.project, started_at__isnull=False)
        return [
            f"/p/{slug}/sessions/{session}/loops/{loop}"
            for session, loop in loops.values_list("session", "pk")
        ]

    def sessions(self) -> str:
        return f"/p/{self.project.slug}/sessions"


def socket(path: str, *headers: tuple[bytes, bytes]) -> WebsocketCommunicator:
    return WebsocketCommunicator(application, path, headers=[HOST, *headers])


class OpenPage:
    """An open page with its socket."""

    def __init__(self, place: Place, path: str, html: str) -> None:
        self.place, self.path = place, path
        self.shown = ShownPage(html)
        self.is_list = path == place.sessions()
        connects = [element for element in self.shown.root.walk() if "ws-connect" in element.attributes]
        assert len(connects) == 1, "a page has one socket"
        self.address = connects[0].attributes["ws-connect"]
        self.socket = socket(self.address, ORIGIN, place.cookie)

    async def connect(self) -> None:
        connected, _ = await self.socket.connect(timeout=LONGEST_S)
        assert connected
        await self.receive()

    async def receive(self) -> str:
        """Apply the next frame and acknowledge it."""
        frame = await self.socket.receive_from(timeout=LONGEST_S)
        await self.socket.send_to(self.shown.show(frame))
        return frame

    async def frame(self, body: str) -> None:
        """Receive frames until one holds exactly `body`; slow panels may come before it."""
        while not (await self.receive()).endswith(f"-->{body}"):
            pass

    async def closed(self) -> int:
        """Receive pending frames until the socket closes; return the close code."""
        while (message := await self.socket.receive_output(LONGEST_S))["type"] == "websocket.send":
            pass  # read, never acknowledged
        assert message["type"] == "websocket.close"
        return message["code"]

    async def agree(self) -> None:
        """Receive frames until the page equals a reload."""
        fresh = parts(parse(await in_thread(self.place.get, self.path)), is_list=self.is_list)
        while (mine := self._mine(fresh)) != fresh:
            try:
                await self.receive()
            except TimeoutError:
                pytest.fail(f"{self.path} differs from its reload:\n{_difference(mine, fresh)}")

    def _mine(self, fresh: dict[str, str]) -> dict[str, str]:
        mine = parts(self.shown.root, is_list=self.is_list)
        if self.is_list:
            remove_new_panels(mine, fresh)
        return mine

    async def close(self) -> None:
        if not self.socket.future.cancelled():  # as a wait that timed out does
            await self.socket.disconnect(timeout=LONGEST_S)


def _difference(mine: dict[str, str], fresh: dict[str, str]) -> str:
    pairs = ((mine.get(name, ""), fresh.get(name, "")) for name in sorted(mine.keys() | fresh.keys()))
    lines = (unified_diff(a.splitlines(), b.splitlines(), "pushed", "reload", lineterm="") for a, b in pairs)
    return "\n".join(line for each in lines for line in each)
