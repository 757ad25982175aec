"""A viewer is one open page: its dirty panels, and the frames it was sent and has not acknowledged.

States: a viewer is stale (needs its whole page), awaiting it (being rendered), or current with a set of dirty
panels. A stale viewer is sent nothing until it has acknowledged everything, then one whole page. A current
viewer is sent frames while its window is open: fewer than `WINDOW_FRAMES` frames and at most `WINDOW_BYTES`
characters unacknowledged. Falling behind the window makes it stale: a slow browser gets one current page, not
a backlog.

Invariants: `_dirty` is empty while stale, so memory is bounded by the panels of one page; an invalidation
during the rendering of the whole page marks its panels dirty again, so no change is lost. Cost: `mark`, `due`
and `take` are linear in the dirty panels of one page.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from dashboard.live.panel import Panel
from recorder.pubsub.invalidation import Invalidation

WINDOW_FRAMES = 4
WINDOW_BYTES = 1024 * 1024  # counted in characters
NEVER = float("inf")

Key = tuple[Panel, int]
DirtyPanels = list[tuple[Panel, list[int]]]


class PageGone(Exception):
    """The record of an open page was deleted: its connection is closed, and a reload answers 404."""


class LivePage(Protocol):
    """An open page: `dirty_panels` returns the panels that an invalidation touched, all of them for None.

    With an invalidation it runs on the event loop and must not query; with None it runs in a rendering
    thread. Raises PageGone.
    """

    @property
    def project(self) -> int: ...

    def dirty_panels(self, touched: Invalidation | None, /) -> DirtyPanels: ...


@dataclass(frozen=True, slots=True)
class Unacknowledged:
    """A frame that was sent and not acknowledged."""

    number: int
    size: int  # characters
    sent_at: float  # of the event loop's clock


class Viewer:
    """One open page. `send` queues a frame's text; `drop` closes the connection, so the page reconnects."""

    def __init__(self, page: LivePage, send: Callable[[str], None], drop: Callable[[], None]) -> None:
        self.page = page
        self.drop = drop
        self.sent_at = 0.0
        self.frames = 0
        self.is_stale = True  # needs its whole page
        # While its whole page is rendered nothing else is sent: a panel would arrive first, and the page,
        # which may be older, would then overwrite it.
        self.is_awaited = False
        self._dirty: dict[Key, float] = {}  # with the time from which it may be rendered
        self._unacknowledged: deque[Unacknowledged] = deque()
        self._send = send

    @property
    def is_ready(self) -> bool:
        """Whether a frame may be sent; to a stale viewer only after it has acknowledged all frames."""
        return not self.is_awaited and not (self._unacknowledged if self.is_stale else self._is_full)

    @property
    def _is_full(self) -> bool:
        size = sum(frame.size for frame in self._unacknowledged)
        return len(self._unacknowledged) >= WINDOW_FRAMES or size > WINDOW_BYTES

    def silent_for(self, now: float) -> float:
        """Return the age of the oldest unacknowledged frame in seconds, 0 without one."""
        return now - self._unacknowledged[0].sent_at if self._unacknowledged else 0.0

    def mark(
        self, keys: Iterable[Key], due: Callable[[Key], float], *, has_everything_changed: bool = False
    ) -> None:
        """Add dirty panels; a viewer behind its window, or with everything changed, becomes stale instead."""
        if self._is_full or has_everything_changed:
            self.is_stale = True
        if self.is_stale:
            self._dirty.clear()
        else:
            # The first due time stays: a panel that is touched at every commit must not be postponed for
            # ever.
            self._dirty.update({key: due(key) for key in keys if key not in self._dirty})

    def due(self, *, slow: bool = False) -> float:
        """Return when its next fast or slow panel may be rendered; a whole page counts as slow."""
        if self.is_stale:
            return 0.0 if slow else NEVER
        return min((due for key, due in self._dirty.items() if is_slow(key) == slow), default=NEVER)

    def take(self, now: float, *, slow: bool = False) -> list[Key]:
        """Remove and return the dirty panels that may be rendered by now."""
        keys = [key for key, due in self._dirty.items() if due <= now and is_slow(key) == slow]
        for key in keys:
            del self._dirty[key]
        return keys

    def begin(self) -> None:
        """Begin rendering its whole page. Invalidations from now on mark panels dirty again."""
        self.is_stale = False
        self.is_awaited = True

    def send_frame(self, html: str, now: float) -> None:
        """Send one frame; its number is in a comment, which the page acknowledges."""
        self.frames += 1
        frame = f"<!--frame {self.frames}-->{html}"
        self.sent_at = now
        self._unacknowledged.append(Unacknowledged(self.frames, len(frame), now))
        self._send(frame)

    def acknowledge(self, number: int) -> None:
        """Remove the frames up to `number` from the window."""
        while self._unacknowledged and self._unacknowledged[0].number <= number:
            self._unacknowledged.popleft()


def is_slow(key: Key) -> bool:
    """Return whether a panel has a minimum interval of its own; fast panels do not wait for slow ones."""
    return key[0].min_interval_ms > 0


def keys(dirty_panels: DirtyPanels) -> list[Key]:
    """Return each panel once, in the page's order: a container comes before the panels inside it."""
    return list(dict.fromkeys((panel, pk) for panel, pks in dirty_panels for pk in pks))
