"""The hub renders each panel once for all viewers; a slow viewer gets one whole page."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import pytest

from dashboard.live.hub import Hub
from dashboard.live.panel import Panel
from dashboard.live.project_topic import TICK_S
from dashboard.live.viewer import WINDOW_FRAMES, DirtyPanels, Viewer
from dashboard.pages.connect.queries import Arrival
from recorder.models import AccessToken
from recorder.pubsub import invalidation
from recorder.pubsub.invalidation import Invalidation
from tests.support.wait import LONGEST_S

PROJECT = 7

pytestmark = pytest.mark.django_db  # rendering threads manage their own database connections


class Drawn:
    """A panel that counts how often each of its keys was rendered; keys in `gone` have no record."""

    def __init__(self, min_interval_ms: int = 0, name: str = "connect/arrival") -> None:
        self.times: Counter[int] = Counter()
        self.gone: set[int] = set()
        self.breaks = False
        self.after: Callable[[], None] = int
        self.shown: object = Arrival(AccessToken(), None, None) if name == "connect/arrival" else ()
        self.panel = Panel(name, self._query, min_interval_ms=min_interval_ms)

    def _query(self, pks: Collection[int]) -> Mapping[int, object]:
        if self.breaks:
            raise RuntimeError("the database is unavailable")
        self.times.update(pks)
        self.after()
        return {pk: self.shown for pk in pks if pk not in self.gone}


@dataclass
class Sessions:
    """A page with the sessions in `shown`."""

    panel: Panel
    shown: list[int]
    project: int = PROJECT

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        return [
            (
                self.panel,
                self.shown if touched is None else [pk for pk in self.shown if pk in touched.sessions],
            )
        ]


@dataclass
class SlowAndFast:
    """A page with one element, which invalidations of session 1 redraw slowly, and others at once."""

    slow: Panel
    fast: Panel
    project: int = PROJECT

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        return [(self.slow if touched is not None and 1 in touched.sessions else self.fast, [1])]


@dataclass
class Browser:
    """A browser with an open page, and the frames it received."""

    frames: list[str] = field(default_factory=list)
    dropped: bool = False
    viewer: Viewer = field(init=False)

    def drop(self) -> None:
        self.dropped = True

    def bodies(self) -> list[str]:
        return [frame.partition("-->")[2] for frame in self.frames]


@pytest.fixture
def hub():
    return Hub()


@pytest.fixture
def open_page(hub):
    """Return a function that opens a page."""
    browsers = []

    def open_page(page) -> Browser:
        browser = Browser()
        browser.viewer = Viewer(page, browser.frames.append, browser.drop)
        hub.join(browser.viewer)
        browsers.append(browser)
        return browser

    yield open_page
    for browser in browsers:
        hub.leave(browser.viewer)


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(LONGEST_S):
        while not true():  # noqa: ASYNC110  frames arrive by callback, as a real viewer's do
            await asyncio.sleep(0.002)


def touched(*sessions: int, project: int = PROJECT) -> Invalidation:
    return Invalidation(project=project, sessions=set(sessions))


async def test_a_new_viewer_is_sent_the_whole_page(hub, open_page):
    browser = open_page(Sessions(Drawn().panel, [1, 2]))
    await until(lambda: browser.frames)
    assert browser.frames[0].startswith("<!--frame 1--><")
    assert 'id="connect-arrival-1" hx-swap-oob="morph"' in browser.frames[0]
    assert 'id="connect-arrival-2" hx-swap-oob="morph"' in browser.frames[0]


async def test_an_invalidation_sends_only_the_dirty_panels(hub, open_page):
    browser = open_page(Sessions(Drawn().panel, [1, 2]))
    await until(lambda: browser.frames)
    hub.invalidate(touched(2, 99))
    await until(lambda: len(browser.frames) == 2)
    assert "connect-arrival-2" in browser.frames[1]
    assert "connect-arrival-1" not in browser.frames[1]


async def test_a_panel_is_rendered_once_for_all_viewers(hub, open_page):
    drawn = Drawn()
    browsers = [open_page(Sessions(drawn.panel, [1])) for _ in range(20)]
    await until(lambda: all(browser.frames for browser in browsers))
    assert drawn.times[1] == 1

    hub.invalidate(touched(1))
    await until(lambda: all(len(browser.frames) == 2 for browser in browsers))
    assert drawn.times[1] == 2
    assert len({browser.bodies()[1] for browser in browsers}) == 1


async def test_nothing_is_rendered_without_viewers(hub, open_page):
    drawn = Drawn()
    browser = open_page(Sessions(drawn.panel, [1]))
    await until(lambda: browser.frames)
    hub.leave(browser.viewer)
    other = open_page(Sessions(Drawn().panel, [2]))
    hub.invalidate(touched(1))
    hub.invalidate(touched(2))
    await until(lambda: len(other.frames) == 2)
    assert drawn.times[1] == 1


async def test_many_invalidations_cause_few_redraws_and_the_last_is_shown(hub, open_page):
    drawn = Drawn()
    browser = open_page(Sessions(drawn.panel, [1]))
    await until(lambda: browser.frames)
    started = asyncio.get_running_loop().time()
    for _ in range(100):
        hub.invalidate(touched(1))
        hub.acknowledge(browser.viewer, browser.viewer.frames)
        await asyncio.sleep(0.002)
    await until(lambda: drawn.times[1] == len(browser.frames))
    ticks = (asyncio.get_running_loop().time() - started) / 0.05
    assert 2 <= drawn.times[1] <= ticks + 3


async def test_a_slow_panel_is_redrawn_at_its_own_interval_with_its_last_state(hub, open_page):
    slow, fast = Drawn(min_interval_ms=3_600_000), Drawn()
    calm, quick = open_page(Sessions(slow.panel, [1])), open_page(Sessions(fast.panel, [1]))
    await until(lambda: calm.frames and quick.frames)
    hub.invalidate(touched(1))
    await until(lambda: len(quick.frames) == 2)
    assert len(calm.frames) == 1

    calm.viewer._dirty = dict.fromkeys(calm.viewer._dirty, 0.0)  # its interval is over
    hub.invalidate(touched(1))
    await until(lambda: len(calm.frames) == 2)
    assert slow.times[1] == 2


async def test_fast_panels_are_rendered_between_two_kinds_of_slow_ones(hub, open_page):
    first, second, fast = Drawn(1), Drawn(1, "sessions/views"), Drawn()
    pages = [open_page(Sessions(each.panel, [1])) for each in (first, second)]
    quick = open_page(Sessions(fast.panel, [2]))
    await until(lambda: all(browser.frames for browser in (*pages, quick)))
    rendered = []

    def take_long():
        rendered.append("first")
        time.sleep(2 * TICK_S)  # longer than the interval of redraws
        hub.invalidate(touched(2))

    first.after = take_long
    second.after, fast.after = lambda: rendered.append("second"), lambda: rendered.append("fast")
    hub.invalidate(touched(1))
    await until(lambda: all(len(browser.frames) == 2 for browser in (*pages, quick)))
    assert rendered == ["first", "fast", "second"]


async def test_a_slow_panel_does_not_overwrite_a_fast_one_of_its_element_that_was_rendered_later(
    hub, open_page
):
    """The head of an evaluation is redrawn slowly by most events, and at once when its group changes."""
    slow, fast = Drawn(min_interval_ms=1), Drawn()
    page = SlowAndFast(slow.panel, fast.panel)
    browser = open_page(page)
    await until(lambda: browser.frames)
    browser.viewer.acknowledge(1)
    rendered = []

    def take_long():
        rendered.append("slow")
        time.sleep(2 * TICK_S)  # longer than the interval of redraws
        hub.invalidate(touched(2))

    slow.after, fast.after = take_long, lambda: rendered.append("fast")
    fast.shown = Arrival(AccessToken(name="curl"), None, None)
    hub.invalidate(touched(1))
    await until(lambda: len(rendered) == 2 and len(browser.frames) == 3)
    assert rendered == ["slow", "fast"]
    assert ["the first event" in body for body in browser.bodies()[1:]] == [False, True]


async def test_no_panel_is_sent_while_the_whole_page_is_rendered(hub, open_page):
    drawn = Drawn()
    drawn.after = lambda: (
        # longer than the interval of redraws
        (time.sleep(2 * TICK_S), hub.invalidate(touched(1))) if drawn.times[1] == 1 else None
    )
    browser = open_page(Sessions(drawn.panel, [1, 2]))
    await until(lambda: len(browser.frames) == 2)
    assert ["connect-arrival-2" in body for body in browser.bodies()] == [True, False]


async def test_after_four_unacknowledged_frames_a_viewer_gets_one_whole_page(hub, open_page):
    drawn = Drawn()
    browser, other = open_page(Sessions(drawn.panel, [1, 2])), open_page(Sessions(drawn.panel, [1]))
    for shown in range(1, 9):
        await until(lambda shown=shown: len(other.frames) == shown)
        hub.acknowledge(other.viewer, shown)
        hub.invalidate(touched(1))
    assert len(browser.frames) == WINDOW_FRAMES

    await until(lambda: len(other.frames) == 9)
    hub.acknowledge(other.viewer, 9)
    hub.acknowledge(browser.viewer, WINDOW_FRAMES - 1)
    hub.invalidate(touched(1))
    await until(lambda: len(other.frames) == 10)
    assert len(browser.frames) == WINDOW_FRAMES  # stale until it has acknowledged everything

    hub.acknowledge(browser.viewer, WINDOW_FRAMES)
    await until(lambda: len(browser.frames) == WINDOW_FRAMES + 1)
    assert "connect-arrival-1" in browser.frames[-1]
    assert "connect-arrival-2" in browser.frames[-1]


async def test_a_viewer_within_its_window_gets_no_second_whole_page(hub, open_page):
    browser = open_page(Sessions(Drawn().panel, [1, 2]))
    for shown in range(1, 7):
        await until(lambda shown=shown: len(browser.frames) == shown)
        hub.acknowledge(browser.viewer, shown)
        hub.invalidate(touched(1))
    assert all("connect-arrival-2" not in frame for frame in browser.frames[1:])


async def test_a_deleted_record_is_removed_from_the_page(hub, open_page):
    drawn = Drawn()
    browser = open_page(Sessions(drawn.panel, [1]))
    await until(lambda: browser.frames)
    drawn.gone.add(1)
    hub.invalidate(touched(1))
    await until(lambda: len(browser.frames) == 2)
    assert browser.bodies()[1] == '<div id="connect-arrival-1" hx-swap-oob="delete"></div>'


async def test_a_page_that_cannot_be_rendered_is_dropped_and_others_stay(hub, open_page, caplog):
    broken, fine = Drawn(), Drawn()
    page = Sessions(broken.panel, [1])
    browser, other = open_page(page), open_page(Sessions(fine.panel, [1]))
    await until(lambda: browser.frames and other.frames)
    broken.breaks = True
    hub.invalidate(touched(1))
    await until(lambda: browser.dropped and len(other.frames) == 2)
    assert not other.dropped
    assert "cannot be rendered" in caplog.text


async def test_invalidations_of_other_projects_are_ignored(hub, open_page):
    drawn = Drawn()
    browser = open_page(Sessions(drawn.panel, [1]))
    await until(lambda: browser.frames)
    hub.invalidate(touched(1, project=PROJECT + 1))
    hub.invalidate(touched(1))
    await until(lambda: len(browser.frames) == 2)
    assert drawn.times[1] == 2


async def test_invalidations_may_be_published_on_any_thread(hub, open_page):
    browser = open_page(Sessions(Drawn().panel, [1]))
    await until(lambda: browser.frames)
    await asyncio.to_thread(hub.invalidate, touched(1))
    await until(lambda: len(browser.frames) == 2)


async def test_an_invalidation_while_the_page_is_rendered_is_not_lost(hub, open_page):
    drawn = Drawn()
    drawn.after = lambda: hub.invalidate(touched(1)) if drawn.times[1] == 1 else None
    browser = open_page(Sessions(drawn.panel, [1]))
    await until(lambda: len(browser.frames) == 2)


async def test_a_new_config_redraws_the_whole_page_because_it_renames_others(hub, open_page):
    browser = open_page(Sessions(Drawn().panel, [1, 2]))
    await until(lambda: browser.frames)
    hub.acknowledge(browser.viewer, 1)
    hub.invalidate(Invalidation(project=PROJECT, sessions={1}, configs={5}))
    await until(lambda: len(browser.frames) == 2)
    assert "connect-arrival-2" in browser.frames[1]


async def test_every_open_page_is_redrawn_after_a_gap_in_the_subscription(hub, open_page):
    browser = open_page(Sessions(Drawn().panel, [1, 2]))
    await until(lambda: browser.frames)
    hub.acknowledge(browser.viewer, 1)
    hub.invalidate(touched(1))
    await until(lambda: len(browser.frames) == 2)
    hub.acknowledge(browser.viewer, 2)
    assert "connect-arrival-2" not in browser.frames[1]

    invalidation.publish_gap()
    await until(lambda: len(browser.frames) == 3)
    assert "connect-arrival-2" in browser.frames[2]
