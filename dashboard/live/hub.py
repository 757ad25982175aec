"""The hub: takes bells to the topic of their project, which draws for its open pages, if there are any."""

from __future__ import annotations

from threading import Lock

from dashboard.live.project_topic import Topic
from dashboard.live.viewer import Viewer
from recorder.pubsub.invalidation import Invalidation, subscribe, subscribe_to_gaps


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
                subscribe(self.ring)
                subscribe_to_gaps(self.redraw)
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

    def ring(self, touched: Invalidation) -> None:
        """Note what a commit touched; costs nothing when nobody looks."""
        with self._lock:
            topic = self._topics.get(touched.project)
            if topic is not None:
                topic.loop.call_soon_threadsafe(topic.ring, touched)

    def redraw(self) -> None:
        """Draw every open page anew: bells may have been missed."""
        with self._lock:
            for topic in self._topics.values():
                topic.loop.call_soon_threadsafe(topic.redraw)


hub = Hub()
