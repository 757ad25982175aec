"""Draws for the open pages of one project what a bell made dirty, each panel once for all who look.

Swift panels are drawn at once and then at most every 50 ms; slow ones, and whole pages, when nothing swift
waits. A page that cannot be drawn is dropped and comes back by itself, so what stays connected is true.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from itertools import groupby
from typing import TypeVar

from dashboard.live.renderer import DRAWING, draw, whole_pages
from dashboard.live.viewer import NEVER, Key, Viewer, is_slow, keys
from recorder.pubsub.invalidation import Invalidation, merge

log = logging.getLogger(__name__)

TICK_S = 0.05

A = TypeVar("A")
R = TypeVar("R")


class Topic:
    """The viewers of one project and the one task that draws for them."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.viewers: set[Viewer] = set()
        self.wake = asyncio.Event()
        self._invalidations: list[Invalidation] = []
        self._beat_at = self._slow_at = 0.0  # when bells were last taken, and slow panels drawn
        self._drawn_at: dict[Key, float] = {}  # of panels with a slower rate
        self._task = self.loop.create_task(self._run())

    def ring(self, touched: Invalidation) -> None:
        self._invalidations.append(touched)
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
            except Exception:  # the outermost frame of this task: without it pages would fall silent
                log.exception("the hub cannot tell what to draw: its %d viewers come back", len(self.viewers))
                for viewer in self.viewers:
                    viewer.drop()

    async def _tick(self) -> None:
        self.wake.clear()
        wait = self._wait()
        if wait > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.wake.wait(), wait if wait < NEVER else None)
        else:
            await self._beat()
            await self._draw_slow()

    def _wait(self) -> float:
        """Return the seconds until something may be drawn."""
        ready = self._ready()
        swift = min((viewer.due() for viewer in ready), default=NEVER)
        slow = min((viewer.due(slow=True) for viewer in ready), default=NEVER)
        beat = self._beat_at + TICK_S if self._invalidations or swift < NEVER else NEVER
        return min(beat, max(slow, self._slow_at + TICK_S)) - self.loop.time()

    def _ready(self) -> list[Viewer]:
        return [viewer for viewer in self.viewers if viewer.is_ready]

    async def _beat(self) -> None:
        """Take the bells and draw what is swift, unless that was just done."""
        now = self.loop.time()
        if now < self._beat_at + TICK_S:
            return
        if self._invalidations:
            self._beat_at = now
            self._note()
        wanted = {viewer: taken for viewer in self._ready() if (taken := viewer.take(now))}
        if wanted:
            self._beat_at = now
            self._hand(wanted, await self._in_thread(draw, _every(wanted)))

    async def _draw_slow(self) -> None:
        """Draw what is slow and due, and whole pages; what is swift goes between any two panels of them."""
        now = self.loop.time()
        if now < self._slow_at + TICK_S:
            return
        ready = self._ready()
        parts = {viewer: taken for viewer in ready if (taken := viewer.take(now, slow=True))}
        whole = [viewer for viewer in ready if viewer.is_stale]
        if not parts and not whole:
            return
        self._slow_at = now
        for viewer in whole:
            viewer.begin()
        wholes = await self._in_thread(whole_pages, [viewer.page for viewer in whole]) if whole else []
        wanted = parts | dict(zip(whole, wholes, strict=True))
        every = _every(wanted)
        self._remember(every, now)
        drawn: dict[Key, str] = {}
        for _, group in groupby(sorted(every, key=_name), key=_name):
            drawn.update(await self._in_thread(draw, list(group)))
            await self._beat()
        for viewer in whole:
            viewer.is_awaited = False
        self._hand(wanted, drawn)

    async def _in_thread(self, work: Callable[[A], R], what: A) -> R:
        return await self.loop.run_in_executor(DRAWING, work, what)

    def _note(self) -> None:
        if self._invalidations:
            invalidations, self._invalidations = self._invalidations, []
            touched = merge(invalidations)
            for viewer in list(self.viewers):
                self._mark(viewer, touched)

    def _mark(self, viewer: Viewer, touched: Invalidation) -> None:
        try:
            # A config names itself by what tells it from the others of its model: a new one renames them.
            viewer.mark(
                keys(viewer.page.dirty_panels(touched)),
                self._due,
                has_everything_changed=bool(touched.configs),
            )
        except Exception:  # a bug of one page must not stop what the others see
            log.exception("a page cannot tell what a bell means for it")
            viewer.drop()

    def _due(self, key: Key) -> float:
        return self._drawn_at.get(key, 0.0) + key[0].min_interval_ms / 1000

    def _remember(self, drawn: Collection[Key], now: float) -> None:
        self._drawn_at = {key: at for key, at in self._drawn_at.items() if self._due(key) > now}
        self._drawn_at.update({key: now for key in drawn if is_slow(key)})

    def _hand(self, wanted: Mapping[Viewer, list[Key] | None], drawn: Mapping[Key, str]) -> None:
        joined: dict[tuple[Key, ...], str] = {}
        for viewer, dirty_panels in wanted.items():
            if viewer not in self.viewers:
                continue
            if dirty_panels is None or not drawn.keys() >= set(dirty_panels):
                viewer.drop()
                continue
            order = tuple(dirty_panels)
            if order not in joined:
                joined[order] = "".join(drawn[key] for key in order)
            viewer.hand(joined[order], self.loop.time())


def _every(wanted: Mapping[Viewer, list[Key] | None]) -> set[Key]:
    return {key for dirty_panels in wanted.values() for key in dirty_panels or ()}


def _name(key: Key) -> str:
    return key[0].name
