"""The hub: passes invalidations to the topic of their project, which renders for the project's open pages.

Threads: viewers join, leave and acknowledge on the event loop; invalidations are published on any thread. The
lock guards the map of topics only; everything else of a topic happens on its event loop.

Invariant: a topic exists exactly while its project has viewers, so an invalidation of a project without open
pages costs one look-up. Nothing depends on an invalidation arriving: a page that connects is sent everything,
and after a gap in the subscription (a lost Redis connection) every open page is.
"""

from __future__ import annotations

from threading import Lock

from dashboard.live.project_topic import Topic
from dashboard.live.viewer import Viewer
from recorder.pubsub.invalidation import Invalidation, subscribe, subscribe_to_gaps


class Hub:
    """All topics of this process."""

    def __init__(self) -> None:
        self._topics: dict[int, Topic] = {}
        self._lock = Lock()
        self._is_subscribed = False

    @property
    def viewers(self) -> int:
        """The number of open pages."""
        with self._lock:
            return sum(len(topic.viewers) for topic in self._topics.values())

    def join(self, viewer: Viewer) -> None:
        """Render for a viewer from now on: first its whole page, then dirty panels. Event loop only."""
        with self._lock:
            if not self._is_subscribed:
                self._is_subscribed = True
                subscribe(self.invalidate)
                subscribe_to_gaps(self.redraw)
            topic = self._topics.get(viewer.page.project) or Topic(viewer.page.project)
            self._topics[viewer.page.project] = topic
        topic.viewers.add(viewer)
        topic.wake.set()

    def leave(self, viewer: Viewer) -> None:
        """Stop rendering for a viewer; the topic stops with its last one. Event loop only."""
        with self._lock:
            topic = self._topics.get(viewer.page.project)
            if topic is None:
                return
            topic.viewers.discard(viewer)
            if not topic.viewers:
                topic.stop()
                del self._topics[viewer.page.project]

    def acknowledge(self, viewer: Viewer, number: int) -> None:
        """Record that a viewer shows its frames up to `number`. Event loop only."""
        viewer.acknowledge(number)
        topic = self._topics.get(viewer.page.project)
        # The acknowledgement may have opened the send window, so panels that waited for it can go out now.
        if topic is not None and viewer.is_ready:
            topic.wake.set()

    def invalidate(self, touched: Invalidation) -> None:
        """Queue what a commit touched. Any thread; never blocks the committing thread on rendering."""
        with self._lock:
            topic = self._topics.get(touched.project)
            if topic is not None:
                topic.loop.call_soon_threadsafe(topic.invalidate, touched)

    def redraw(self) -> None:
        """Render every open page anew, because invalidations may have been lost. Any thread."""
        with self._lock:
            for topic in self._topics.values():
                topic.loop.call_soon_threadsafe(topic.redraw)


hub = Hub()
