"""A viewer is one open page: what it waits for, and the frames it was sent and has not acknowledged."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from dashboard.live.panel import Panel
from recorder.pubsub.invalidation import Invalidation

WINDOW_FRAMES = 4
WINDOW_BYTES = 1024 * 1024
NEVER = float("inf")

Key = tuple[Panel, int]
DirtyPanels = list[tuple[Panel, list[int]]]


class Page(Protocol):
    """What an open page shows: `wants(bell)` names the panels a bell made dirty, `wants(None)` all of them.

    With a bell it runs on the event loop and may not query; with None it runs where panels are drawn.
    """

    @property
    def project(self) -> int: ...

    def dirty_panels(self, touched: Invalidation | None, /) -> DirtyPanels: ...


@dataclass(frozen=True, slots=True)
class Unread:
    """A frame that was sent and not acknowledged."""

    number: int
    size: int
    sent_at: float


class Viewer:
    """`send` takes a frame's text; `drop` ends the connection so that the page comes back by itself."""

    def __init__(self, page: Page, send: Callable[[str], None], drop: Callable[[], None]) -> None:
        self.page = page
        self.drop = drop
        self.sent_at = 0.0
        self.frames = 0
        self.is_stale = True  # wants its whole page
        self.is_awaited = False  # its whole page is being drawn: a part of it would come first and be older
        self._dirty: dict[Key, float] = {}  # and when it may be drawn
        self._unread: deque[Unread] = deque()
        self._send = send

    @property
    def is_ready(self) -> bool:
        """Return whether it may be sent a frame: one that fell behind only after it has caught up."""
        return not self.is_awaited and not (self._unread if self.is_stale else self._is_full)

    @property
    def _is_full(self) -> bool:
        return len(self._unread) >= WINDOW_FRAMES or sum(frame.size for frame in self._unread) > WINDOW_BYTES

    def silent_for(self, now: float) -> float:
        """Return how long the oldest unacknowledged frame has waited."""
        return now - self._unread[0].sent_at if self._unread else 0.0

    def mark(
        self, keys: Iterable[Key], due: Callable[[Key], float], *, has_everything_changed: bool = False
    ) -> None:
        """Note what has changed; a viewer that is behind forgets the parts and will get the whole."""
        if self._is_full or has_everything_changed:
            self.is_stale = True
        if self.is_stale:
            self._dirty.clear()
        else:
            self._dirty.update({key: due(key) for key in keys if key not in self._dirty})

    def due(self, *, slow: bool = False) -> float:
        """Return when the next of its swift panels may be drawn, or of the slow, which a whole page is."""
        if self.is_stale:
            return 0.0 if slow else NEVER
        return min((due for key, due in self._dirty.items() if is_slow(key) == slow), default=NEVER)

    def take(self, now: float, *, slow: bool = False) -> list[Key]:
        """Return what may be drawn by now, and forget it."""
        keys = [key for key, due in self._dirty.items() if due <= now and is_slow(key) == slow]
        for key in keys:
            del self._dirty[key]
        return keys

    def begin(self) -> None:
        """Have its whole page drawn; a bell that rings meanwhile makes its panels dirty again."""
        self.is_stale = False
        self.is_awaited = True

    def hand(self, html: str, now: float) -> None:
        """Send one frame."""
        self.frames += 1
        frame = f"<!--frame {self.frames}-->{html}"
        self.sent_at = now
        self._unread.append(Unread(self.frames, len(frame), now))
        self._send(frame)

    def acknowledge(self, number: int) -> None:
        """Forget the frames up to `number`."""
        while self._unread and self._unread[0].number <= number:
            self._unread.popleft()


def is_slow(key: Key) -> bool:
    """Say whether a panel has a rate of its own; the others may not wait for it."""
    return key[0].min_interval_ms > 0


def keys(dirty_panels: DirtyPanels) -> list[Key]:
    """Return each wanted panel once, in the page's order: a container comes before what goes into it."""
    return list(dict.fromkeys((panel, pk) for panel, pks in dirty_panels for pk in pks))
