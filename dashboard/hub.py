"""The hub: redraws what a bell made dirty, once per process, and hands the same HTML to everyone who looks.

A project's panels are redrawn at once and then at most every 50 ms; nobody looking, nothing drawn. A page
that cannot be drawn is dropped and comes back by itself, so what stays connected is true.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from threading import Lock

from django.db import close_old_connections

from dashboard.viewer import Key, Page, Viewer, keys
from recorder.metrics import REDRAWS
from recorder.notify import Bell, listen, listen_for_misses, merge

log = logging.getLogger(__name__)

TICK_S = 0.05

# Drawing is ORM and templates. Its threads are its own: in Channels' one, a slow query stalls every socket.
DRAWING = ThreadPoolExecutor(max_workers=2, thread_name_prefix="draw")


class Topic:
    """The viewers of one project and the one task that draws for them."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.viewers: set[Viewer] = set()
        self.wake = asyncio.Event()
        self._bells: list[Bell] = []
        self._drawn_at: dict[Key, float] = {}  # of panels with a slower rate
        self._task = self.loop.create_task(self._run())

    def ring(self, bell: Bell) -> None:
        self._bells.append(bell)
        self.wake.set()

    def redraw(self) -> None:
        """Have every viewer be sent its whole page."""
        for viewer in self.viewers:
            viewer.mark((), self._due, has_everything_changed=True)
        self.wake.set()

    def stop(self) -> None:
        self._task.cancel()

    async def _run(self) -> None:
        while True:
            try:
                await self._tick()
            except Exception:
                log.exception("the hub cannot tell what to draw: its %d viewers come back", len(self.viewers))
                for viewer in self.viewers:
                    viewer.drop()

    async def _tick(self) -> None:
        self.wake.clear()
        self._note()
        wait = self._wait()
        if wait is None or wait > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.wake.wait(), wait)
        else:
            await asyncio.gather(self._redraw(), asyncio.sleep(TICK_S))

    def _note(self) -> None:
        if self._bells:
            bells, self._bells = self._bells, []
            bell = merge(bells)
            for viewer in list(self.viewers):
                self._mark(viewer, bell)

    def _mark(self, viewer: Viewer, bell: Bell) -> None:
        try:
            # A config names itself by what tells it from the others of its model: a new one renames them.
            viewer.mark(keys(viewer.page.wants(bell)), self._due, has_everything_changed=bool(bell.configs))
        except Exception:
            log.exception("a page cannot tell what a bell means for it")
            viewer.drop()

    def _due(self, key: Key) -> float:
        return self._drawn_at.get(key, 0.0) + key[0].every_ms / 1000

    def _wait(self) -> float | None:
        """Return the seconds until something may be drawn; None when nothing is dirty."""
        dues = [due for viewer in self.viewers if viewer.is_ready and (due := viewer.due()) is not None]
        return max(0.0, min(dues) - self.loop.time()) if dues else None

    async def _redraw(self) -> None:
        """Draw what is dirty and due, each panel once, and hand it round."""
        now = self.loop.time()
        ready = [viewer for viewer in self.viewers if viewer.is_ready]
        parts = {viewer: taken for viewer in ready if not viewer.is_stale and (taken := viewer.take(now))}
        whole = [viewer for viewer in ready if viewer.is_stale]
        for viewer in whole:
            # Cleared before drawing: a bell that rings meanwhile makes its panels dirty again.
            viewer.is_stale = False
        wholes = await self.loop.run_in_executor(DRAWING, _whole_pages, [viewer.page for viewer in whole])
        wanted = parts | dict(zip(whole, wholes, strict=True))
        every = {key for wants in wanted.values() for key in wants or ()}
        drawn = await self.loop.run_in_executor(DRAWING, draw, every)
        self._remember(drawn, now)
        self._hand(wanted, drawn)

    def _remember(self, drawn: Collection[Key], now: float) -> None:
        self._drawn_at = {key: at for key, at in self._drawn_at.items() if self._due(key) > now}
        self._drawn_at.update({key: now for key in drawn if key[0].every_ms})

    def _hand(self, wanted: Mapping[Viewer, list[Key] | None], drawn: Mapping[Key, str]) -> None:
        joined: dict[tuple[Key, ...], str] = {}
        for viewer, wants in wanted.items():
            if viewer not in self.viewers:
                continue
            if wants is None or not drawn.keys() >= set(wants):
                viewer.drop()
                continue
            order = tuple(wants)
            if order not in joined:
                joined[order] = "".join(drawn[key] for key in order)
            viewer.hand(joined[order], self.loop.time())


class Hub:
    """All topics of this process. Viewers come and go on the event loop; bells may ring on any thread."""

    def __init__(self) -> None:
        self._topics: dict[int, Topic] = {}
        self._lock = Lock()
        self._is_listening = False

    @property
    def viewers(self) -> int:
        with self._lock:
            return sum(len(topic.viewers) for topic in self._topics.values())

    def join(self, viewer: Viewer) -> None:
        """Draw for a viewer from now on: first its whole page, then what changes."""
        with self._lock:
            if not self._is_listening:
                self._is_listening = True
                listen(self.ring)
                listen_for_misses(self.redraw)
            topic = self._topics.get(viewer.page.project) or Topic()
            self._topics[viewer.page.project] = topic
        topic.viewers.add(viewer)
        topic.wake.set()

    def leave(self, viewer: Viewer) -> None:
        """Draw for it no more."""
        with self._lock:
            topic = self._topics.get(viewer.page.project)
            if topic is None:
                return
            topic.viewers.discard(viewer)
            if not topic.viewers:
                topic.stop()
                del self._topics[viewer.page.project]

    def acknowledge(self, viewer: Viewer, number: int) -> None:
        """Take a viewer's word that it shows the frames up to `number`."""
        viewer.acknowledge(number)
        topic = self._topics.get(viewer.page.project)
        if topic is not None and viewer.is_ready:
            topic.wake.set()

    def ring(self, bell: Bell) -> None:
        """Note what a commit touched; costs nothing when nobody looks."""
        with self._lock:
            topic = self._topics.get(bell.project)
            if topic is not None:
                topic.loop.call_soon_threadsafe(topic.ring, bell)

    def redraw(self) -> None:
        """Draw every open page anew: bells may have been missed."""
        with self._lock:
            for topic in self._topics.values():
                topic.loop.call_soon_threadsafe(topic.redraw)


hub = Hub()


def _whole_pages(pages: Collection[Page]) -> list[list[Key] | None]:
    """Return everything that each page shows, None where a page cannot tell."""
    close_old_connections()
    try:
        return [_whole_page(page) for page in pages]
    finally:
        close_old_connections()


def _whole_page(page: Page) -> list[Key] | None:
    try:
        return keys(page.wants(None))
    except Exception:
        log.exception("a page cannot tell what it shows")
        return None


def draw(wanted: Collection[Key]) -> dict[Key, str]:
    """Return the HTML of each panel: its removal if it is gone, nothing if it cannot be drawn."""
    close_old_connections()
    drawn: dict[Key, str] = {}
    try:
        for panel, group in groupby(sorted(wanted, key=lambda key: (key[0].name, key[1])), key=itemgetter(0)):
            pks = [pk for _, pk in group]
            try:
                html = panel.draw(pks, oob=True)
            except Exception:
                log.exception("panel %s cannot be drawn", panel.name)
            else:
                drawn.update({(panel, pk): html.get(pk) or _removal(panel.dom_id(pk)) for pk in pks})
        REDRAWS.add(len(drawn))
        return drawn
    finally:
        close_old_connections()


def _removal(dom_id: str) -> str:
    return f'<div id="{dom_id}" hx-swap-oob="delete"></div>'
