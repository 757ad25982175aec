"""The hub: drawn once, handed to all, never to nobody, and a slow viewer gets the whole page once."""

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
from dashboard.pages.welcome.queries import First
from recorder.pubsub import invalidation
from recorder.pubsub.invalidation import Invalidation

PROJECT = 7

pytestmark = pytest.mark.django_db  # what draws looks after the connection that it keeps open


class Drawn:
    """A panel that counts how often each of its keys was drawn; keys in `gone` have no record any more."""

    def __init__(self, min_interval_ms: int = 0) -> None:
        self.times: Counter[int] = Counter()
        self.gone: set[int] = set()
        self.breaks = False
        self.after: Callable[[], None] = int
        self.panel = Panel("welcome/first", self._query, min_interval_ms=min_interval_ms)

    def _query(self, pks: Collection[int]) -> Mapping[int, First]:
        if self.breaks:
            raise RuntimeError("the database is away")
        self.times.update(pks)
        self.after()
        return {pk: First("default", None) for pk in pks if pk not in self.gone}


@dataclass
class Sessions:
    """A page that shows the sessions of `shown`."""

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
class Seat:
    """Somebody who looks, and what reached them."""

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
def look(hub):
    """Return a way to open a page."""
    seats = []

    def look(page) -> Seat:
        seat = Seat()
        seat.viewer = Viewer(page, seat.frames.append, seat.drop)
        hub.join(seat.viewer)
        seats.append(seat)
        return seat

    yield look
    for seat in seats:
        hub.leave(seat.viewer)


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not true():  # noqa: ASYNC110  frames arrive by callback, as a real viewer's do
            await asyncio.sleep(0.002)


def touched(*sessions: int, project: int = PROJECT) -> Invalidation:
    return Invalidation(project=project, sessions=set(sessions))


async def test_who_connects_is_sent_the_whole_page(hub, look):
    seat = look(Sessions(Drawn().panel, [1, 2]))
    await until(lambda: seat.frames)
    assert seat.frames[0].startswith("<!--frame 1--><")
    assert 'id="welcome-first-1" hx-swap-oob="morph"' in seat.frames[0]
    assert 'id="welcome-first-2" hx-swap-oob="morph"' in seat.frames[0]


async def test_a_bell_sends_only_what_it_made_dirty(hub, look):
    seat = look(Sessions(Drawn().panel, [1, 2]))
    await until(lambda: seat.frames)
    hub.ring(touched(2, 99))
    await until(lambda: len(seat.frames) == 2)
    assert "welcome-first-2" in seat.frames[1]
    assert "welcome-first-1" not in seat.frames[1]


async def test_a_panel_is_drawn_once_for_all_who_look(hub, look):
    drawn = Drawn()
    seats = [look(Sessions(drawn.panel, [1])) for _ in range(20)]
    await until(lambda: all(seat.frames for seat in seats))
    assert drawn.times[1] == 1

    hub.ring(touched(1))
    await until(lambda: all(len(seat.frames) == 2 for seat in seats))
    assert drawn.times[1] == 2
    assert len({seat.bodies()[1] for seat in seats}) == 1


async def test_nothing_is_drawn_for_nobody(hub, look):
    drawn = Drawn()
    seat = look(Sessions(drawn.panel, [1]))
    await until(lambda: seat.frames)
    hub.leave(seat.viewer)
    other = look(Sessions(Drawn().panel, [2]))
    hub.ring(touched(1))
    hub.ring(touched(2))
    await until(lambda: len(other.frames) == 2)
    assert drawn.times[1] == 1


async def test_many_bells_are_few_redraws_and_the_last_is_shown(hub, look):
    drawn = Drawn()
    seat = look(Sessions(drawn.panel, [1]))
    await until(lambda: seat.frames)
    started = asyncio.get_running_loop().time()
    for _ in range(100):
        hub.ring(touched(1))
        hub.acknowledge(seat.viewer, seat.viewer.frames)
        await asyncio.sleep(0.002)
    await until(lambda: drawn.times[1] == len(seat.frames))
    ticks = (asyncio.get_running_loop().time() - started) / 0.05
    assert 2 <= drawn.times[1] <= ticks + 3


async def test_a_slow_panel_is_redrawn_at_its_own_pace_and_its_last_state_is_not_lost(hub, look):
    slow, fast = Drawn(min_interval_ms=400), Drawn()
    calm, quick = look(Sessions(slow.panel, [1])), look(Sessions(fast.panel, [1]))
    await until(lambda: calm.frames and quick.frames)
    hub.ring(touched(1))
    await until(lambda: len(quick.frames) == 2)
    assert len(calm.frames) == 1
    await until(lambda: len(calm.frames) == 2)
    assert slow.times[1] == 2


async def test_what_is_swift_does_not_wait_for_what_is_slow(hub, look):
    slow, swift = Drawn(min_interval_ms=1), Drawn()
    calm, quick = look(Sessions(slow.panel, [1])), look(Sessions(swift.panel, [2]))
    await until(lambda: calm.frames and quick.frames)

    def take_long():
        time.sleep(2 * TICK_S)
        hub.ring(touched(2))

    slow.after = take_long
    hub.ring(touched(1))
    await until(lambda: len(calm.frames) == 2)
    assert len(quick.frames) == 2


async def test_a_part_never_comes_between_a_whole_page_and_what_it_was_drawn_from(hub, look):
    drawn = Drawn()
    drawn.after = lambda: (time.sleep(2 * TICK_S), hub.ring(touched(1))) if drawn.times[1] == 1 else None
    seat = look(Sessions(drawn.panel, [1, 2]))
    await until(lambda: len(seat.frames) == 2)
    assert ["welcome-first-2" in body for body in seat.bodies()] == [True, False]


async def test_four_unacknowledged_frames_then_one_whole_page_when_the_viewer_is_back(hub, look):
    drawn = Drawn()
    seat, other = look(Sessions(drawn.panel, [1, 2])), look(Sessions(drawn.panel, [1]))
    for shown in range(1, 9):
        await until(lambda shown=shown: len(other.frames) == shown)
        hub.acknowledge(other.viewer, shown)
        hub.ring(touched(1))
    assert len(seat.frames) == WINDOW_FRAMES

    await until(lambda: len(other.frames) == 9)
    hub.acknowledge(other.viewer, 9)
    hub.acknowledge(seat.viewer, WINDOW_FRAMES - 1)
    hub.ring(touched(1))
    await until(lambda: len(other.frames) == 10)
    assert len(seat.frames) == WINDOW_FRAMES  # behind until it has caught up

    hub.acknowledge(seat.viewer, WINDOW_FRAMES)
    await until(lambda: len(seat.frames) == WINDOW_FRAMES + 1)
    assert "welcome-first-1" in seat.frames[-1]
    assert "welcome-first-2" in seat.frames[-1]


async def test_a_viewer_that_was_never_behind_gets_no_second_whole_page(hub, look):
    seat = look(Sessions(Drawn().panel, [1, 2]))
    for shown in range(1, 7):
        await until(lambda shown=shown: len(seat.frames) == shown)
        hub.acknowledge(seat.viewer, shown)
        hub.ring(touched(1))
    assert all("welcome-first-2" not in frame for frame in seat.frames[1:])


async def test_what_is_gone_is_taken_from_the_page(hub, look):
    drawn = Drawn()
    seat = look(Sessions(drawn.panel, [1]))
    await until(lambda: seat.frames)
    drawn.gone.add(1)
    hub.ring(touched(1))
    await until(lambda: len(seat.frames) == 2)
    assert seat.bodies()[1] == '<div id="welcome-first-1" hx-swap-oob="delete"></div>'


async def test_a_page_that_cannot_be_drawn_is_dropped_and_its_neighbours_stay(hub, look, caplog):
    broken, fine = Drawn(), Drawn()
    page = Sessions(broken.panel, [1])
    seat, other = look(page), look(Sessions(fine.panel, [1]))
    await until(lambda: seat.frames and other.frames)
    broken.breaks = True
    hub.ring(touched(1))
    await until(lambda: seat.dropped and len(other.frames) == 2)
    assert not other.dropped
    assert "cannot be drawn" in caplog.text


async def test_bells_of_other_projects_are_not_heard(hub, look):
    drawn = Drawn()
    seat = look(Sessions(drawn.panel, [1]))
    await until(lambda: seat.frames)
    hub.ring(touched(1, project=PROJECT + 1))
    hub.ring(touched(1))
    await until(lambda: len(seat.frames) == 2)
    assert drawn.times[1] == 2


async def test_bells_may_ring_on_any_thread(hub, look):
    seat = look(Sessions(Drawn().panel, [1]))
    await until(lambda: seat.frames)
    await asyncio.to_thread(hub.ring, touched(1))
    await until(lambda: len(seat.frames) == 2)


async def test_a_bell_that_rings_while_the_page_is_drawn_is_not_lost(hub, look):
    drawn = Drawn()
    drawn.after = lambda: hub.ring(touched(1)) if drawn.times[1] == 1 else None
    seat = look(Sessions(drawn.panel, [1]))
    await until(lambda: len(seat.frames) == 2)


async def test_a_new_config_redraws_the_whole_page_for_it_renames_others(hub, look):
    seat = look(Sessions(Drawn().panel, [1, 2]))
    await until(lambda: seat.frames)
    hub.acknowledge(seat.viewer, 1)
    hub.ring(Invalidation(project=PROJECT, sessions={1}, configs={5}))
    await until(lambda: len(seat.frames) == 2)
    assert "welcome-first-2" in seat.frames[1]


async def test_every_open_page_is_drawn_anew_when_bells_may_have_been_missed(hub, look):
    seat = look(Sessions(Drawn().panel, [1, 2]))
    await until(lambda: seat.frames)
    hub.acknowledge(seat.viewer, 1)
    hub.ring(touched(1))
    await until(lambda: len(seat.frames) == 2)
    hub.acknowledge(seat.viewer, 2)
    assert "welcome-first-2" not in seat.frames[1]

    invalidation.publish_gap()
    await until(lambda: len(seat.frames) == 3)
    assert "welcome-first-2" in seat.frames[2]
