"""The reload invariant: pushed panels equal those of a reloaded page, for viewers of any speed."""

from pathlib import Path

import pytest

from dashboard.live.project_topic import Topic
from tests.dashboard.open_page import in_thread
from tests.support.small_loop import Loop
from tests.support.wait import LONGEST_S

TAPES = sorted((Path(__file__).parents[2] / "tapes").rglob("*.events.jsonl"))


@pytest.fixture
def quick(monkeypatch):
    """Redraw slow panels as often as the others, so that a tape plays in seconds."""
    monkeypatch.setattr(Topic, "_due", lambda topic, key: 0.0)


def batches(lines: list[bytes], size: int) -> list[list[bytes]]:
    return [lines[at : at + size] for at in range(0, len(lines), size)]


async def play(place, open_page, lines: list[bytes], size: int) -> None:
    """Feed a tape in batches; after each, open pages equal a reload, and pages of new loops are opened."""
    pages = {path: await open_page(path) for path in (place.sessions(),)}
    for batch in batches(lines, size):
        await in_thread(lambda batch=batch: place.feed(*batch))
        for page in pages.values():
            await page.agree()
        for path in await in_thread(place.loops):
            if path not in pages and len(pages) < 4:
                pages[path] = await open_page(path)
    await in_thread(place.flush)
    for page in pages.values():
        await page.agree()


@pytest.mark.parametrize("tape", TAPES, ids=lambda tape: tape.name.removesuffix(".events.jsonl"))
async def test_pushed_panels_equal_a_reload(place, open_page, quick, tape):
    await play(place, open_page, tape.read_bytes().splitlines(), 20)


@pytest.mark.slow
async def test_pushed_panels_equal_a_reload_after_every_event(place, open_page, quick):
    tape = next(tape for tape in TAPES if tape.name == "hostile.events.jsonl")
    await play(place, open_page, tape.read_bytes().splitlines(), 1)


async def test_two_viewers_get_identical_strings(place, open_page):
    loop = Loop()
    await in_thread(place.feed, loop.start())
    [path] = await in_thread(place.loops)
    one, two = await open_page(path), await open_page(path)
    await in_thread(place.feed, loop.turn())
    assert await one.receive() == await two.receive()


async def test_a_viewer_that_does_not_acknowledge_is_sent_four_frames_and_then_the_whole_page(
    place, open_page, quick
):
    loop = Loop()
    await in_thread(place.feed, loop.start(), loop.turn(), loop.answering())
    [path] = await in_thread(place.loops)
    slow, other = await open_page(path), await open_page(path)
    for n in range(8):
        await in_thread(place.feed, loop.delta(f"word {n} "))
        await other.agree()
    frames = [await slow.socket.receive_from(LONGEST_S) for _ in range(4)]
    assert await slow.socket.receive_nothing(timeout=0.2)
    for frame in frames:
        await slow.socket.send_to(slow.shown.show(frame))
    await slow.receive()
    await slow.agree()
    assert "word 7" in slow.shown.root.html()
    assert slow.shown.frames == 6
