"""Renders the dirty panels of a project's open pages, each panel once for all viewers.

One task per project runs ticks. A tick merges the queued invalidations, marks panels dirty per viewer,
renders the union of what ready viewers need, and sends each viewer its part. Fast panels are rendered at once
and then at most every `TICK_S`; slow panels (`min_interval_ms`) and whole pages are rendered group by group,
with a fast tick between any two groups, so that a slow query delays fast panels by one group at most.

Invariants: two viewers of a panel get the same HTML; each panel is rendered at most once per tick; a viewer
gets its frames in the order in which their panels were rendered, so none overwrites a newer one; a viewer
whose panels cannot all be rendered is dropped and reconnects, so a connected page is never silently out of
date. Cost: per tick, one query per kind of dirty panel, one template per dirty panel, and one string per
distinct set of panels, whatever the number of viewers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import TypeVar

from django.utils import timezone

from dashboard.live.queries.stale_sessions import TOUCHED_MAX, became_stale, check_interval_s
from dashboard.live.renderer import DRAWING, draw, whole_pages, with_connection
from dashboard.live.viewer import NEVER, Key, PageGone, Viewer, is_slow, keys
from recorder.pubsub.invalidation import Invalidation, merge

log = logging.getLogger(__name__)

TICK_S = 0.05

A = TypeVar("A")
R = TypeVar("R")


class Topic:
    """The viewers of one project and the task that renders for them. All methods run on the event loop."""

    def __init__(self, project: int) -> None:
        self._project = project
        self.loop = asyncio.get_running_loop()
        self.viewers: set[Viewer] = set()
        self.wake = asyncio.Event()
        self._invalidations: list[Invalidation] = []
        self._touched: set[int] = set()  # sessions, since the last check for stale ones
        self._fast_at = self._slow_at = 0.0  # when fast and slow panels were last rendered
        self._rendered_at: dict[Key, float] = {}  # of slow panels, until their interval is over
        self._task = self.loop.create_task(self._run())
        self._watch_task = self.loop.create_task(self._watch_stale())

    def invalidate(self, touched: Invalidation) -> None:
        """Queue an invalidation for the next tick."""
        self._invalidations.append(touched)
        self.wake.set()

    def redraw(self) -> None:
        """Mark every viewer stale, so that each is sent its whole page."""
        for viewer in self.viewers:
            viewer.mark((), self._due, has_everything_changed=True)
        self.wake.set()

    def stop(self) -> None:
        """Stop rendering."""
        self._task.cancel()
        self._watch_task.cancel()

    async def _run(self) -> None:
        while True:
            try:
                await self._tick()
            except Exception:  # outermost frame of this task: without it pages would no longer be updated
                log.exception("rendering failed: %d viewers are dropped and reconnect", len(self.viewers))
                for viewer in self.viewers:
                    viewer.drop()

    async def _watch_stale(self) -> None:
        """Queue an invalidation for the sessions that become stale, as long as there are viewers."""
        since = timezone.now()
        while (interval := check_interval_s()) is not None:
            await asyncio.sleep(interval)
            now = timezone.now()
            touched, self._touched = self._touched, set()
            check = partial(became_stale, self._project, since, now, touched)
            try:
                found = await self.loop.run_in_executor(DRAWING, with_connection, check)
            except Exception:  # the next check covers the time of this one
                log.exception("stale sessions cannot be read")
                continue
            since = now
            if found.stale:
                self.invalidate(found)

    async def _tick(self) -> None:
        self.wake.clear()  # before the wait is computed: a later event must not be lost
        wait = self._wait()
        if wait > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.wake.wait(), wait if wait < NEVER else None)
        else:
            await self._render_fast()
            await self._render_slow()

    def _wait(self) -> float:
        """Return the seconds until something may be rendered; NEVER while nothing is dirty."""
        ready = self._ready()
        fast = min((viewer.due() for viewer in ready), default=NEVER)
        slow = min((viewer.due(slow=True) for viewer in ready), default=NEVER)
        next_fast = self._fast_at + TICK_S if self._invalidations or fast < NEVER else NEVER
        return min(next_fast, max(slow, self._slow_at + TICK_S)) - self.loop.time()

    def _ready(self) -> list[Viewer]:
        return [viewer for viewer in self.viewers if viewer.is_ready]

    async def _render_fast(self, before: Callable[[], None] = lambda: None) -> None:
        """Apply queued invalidations and render the fast panels, at most every `TICK_S`.

        `before` sends what was rendered earlier; it is called only if fast panels are rendered.
        """
        now = self.loop.time()
        if now < self._fast_at + TICK_S:
            return
        if self._invalidations:
            self._fast_at = now
            self._apply_invalidations()
        panels = {viewer: due for viewer in self._ready() if (due := viewer.take(now))}
        if panels:
            self._fast_at = now
            before()
            self._send(panels, await self._in_thread(draw, _union(panels)))

    async def _render_slow(self) -> None:
        """Render due slow panels and whole pages, with a fast tick between two kinds of panels."""
        now = self.loop.time()
        if now < self._slow_at + TICK_S:
            return
        ready = self._ready()
        parts = {viewer: due for viewer in ready if (due := viewer.take(now, slow=True))}
        whole = [viewer for viewer in ready if viewer.is_stale]
        if not parts and not whole:
            return
        self._slow_at = now
        # Before the pages list their panels: what a commit touches after that is marked dirty again.
        for viewer in whole:
            viewer.begin()
        wholes = await self._in_thread(whole_pages, [viewer.page for viewer in whole]) if whole else []
        panels = parts | dict(zip(whole, wholes, strict=True))
        union = _union(panels)
        self._record_times(union, now)
        html: dict[Key, str] = {}
        for _, group in groupby(sorted(union, key=_name), key=_name):
            html.update(await self._in_thread(draw, list(group)))
            await self._render_fast(partial(self._send_rendered, panels, whole, html))
        for viewer in whole:
            viewer.is_awaited = False
        self._send(panels, html)

    def _send_rendered(
        self, panels: dict[Viewer, list[Key] | None], whole: Collection[Viewer], html: Mapping[Key, str]
    ) -> None:
        """Send the slow panels rendered so far, except to viewers that await a whole page; drop them from
        `panels`.

        Frames are sent in the order in which their panels were rendered. Otherwise an older slow panel would
        overwrite the same element, or a part of it, in a frame of fast panels that were rendered later.
        """
        rendered: dict[Viewer, list[Key] | None] = {}
        for viewer in panels.keys() - set(whole):
            due = panels.pop(viewer) or ()
            if done := [key for key in due if key in html]:
                rendered[viewer] = done
            if rest := [key for key in due if key not in html]:
                panels[viewer] = rest
        self._send(rendered, html)

    async def _in_thread(self, work: Callable[[A], R], argument: A) -> R:
        return await self.loop.run_in_executor(DRAWING, work, argument)

    def _apply_invalidations(self) -> None:
        if self._invalidations:
            invalidations, self._invalidations = self._invalidations, []
            touched = merge(invalidations)
            if len(self._touched) < TOUCHED_MAX:
                self._touched |= touched.sessions - touched.stale
            for viewer in list(self.viewers):
                self._mark(viewer, touched)

    def _mark(self, viewer: Viewer, touched: Invalidation) -> None:
        try:
            # A new config may change the colours that other configs have in a chart (`series_colours`).
            viewer.mark(
                keys(viewer.page.dirty_panels(touched)),
                self._due,
                has_everything_changed=bool(touched.configs),
            )
        except PageGone:
            viewer.drop()
        except Exception:  # a bug in one page must not stop the others
            log.exception("a page failed to list its dirty panels")
            viewer.drop()

    def _due(self, key: Key) -> float:
        return self._rendered_at.get(key, 0.0) + key[0].min_interval_ms / 1000

    def _record_times(self, rendered: Collection[Key], now: float) -> None:
        # Times of panels whose interval is over are dropped, so the map does not grow with all panels ever
        # shown.
        self._rendered_at = {key: at for key, at in self._rendered_at.items() if self._due(key) > now}
        self._rendered_at.update({key: now for key in rendered if is_slow(key)})

    def _send(self, panels: Mapping[Viewer, list[Key] | None], html: Mapping[Key, str]) -> None:
        joined: dict[tuple[Key, ...], str] = {}  # viewers of the same panels share one string
        for viewer, dirty_panels in panels.items():
            if viewer not in self.viewers:  # the viewer left while its panels were rendered
                continue
            if dirty_panels is None or not html.keys() >= set(dirty_panels):
                viewer.drop()
                continue
            order = tuple(dirty_panels)
            if order not in joined:
                joined[order] = "".join(html[key] for key in order)
            viewer.send_frame(joined[order], self.loop.time())


def _union(panels: Mapping[Viewer, list[Key] | None]) -> set[Key]:
    return {key for dirty_panels in panels.values() for key in dirty_panels or ()}


def _name(key: Key) -> str:
    return key[0].name
