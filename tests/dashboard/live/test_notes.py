"""Notes reach open pages after the commit: what is pushed equals a reload, for every kind of entry."""

import pytest

from dashboard.live.project_topic import Topic
from recorder.notes import targets, write
from recorder.notes.definitions import Draft, define
from recorder.notes.write import Author
from tests.dashboard.open_page import in_thread
from tests.support import build

LOOP = "s.a.1"
EVENTS = (
    build.agent_start(LOOP),
    build.turn_start(LOOP),
    build.turn_end(LOOP, message=build.assistant("First.")),
    build.turn_start(LOOP, index=1, at=3),
)


@pytest.fixture
def quick(monkeypatch):
    """Redraw slow panels as often as the others."""
    monkeypatch.setattr(Topic, "_due", lambda topic, key: 0.0)


@pytest.mark.django_db(transaction=True)
async def test_a_note_is_pushed_to_every_open_page_and_equals_a_reload(place, open_page, quick):
    await in_thread(lambda: place.feed(*EVENTS))
    (path,) = await in_thread(place.loops)
    pages = [await open_page(f"{path}{query}") for query in ("", "?notes=all", "?notes=scores")]
    tabs = [await open_page(f"{path}?tab={tab}") for tab in ("timeline", "events")]
    author = Author("mira", user=place.user)

    def wrote(*_):
        define(place.project, Draft("quality", "number", 1, 5), "mira")
        turn = targets.find(place.project.pk, "s", loop=LOOP, turn=0)
        note = write.add_note(place.project.pk, author, turn, "Look **here**.").note
        write.give_score(place.project.pk, author, turn, "quality", 4)
        write.add_bookmark(place.project.pk, author, targets.find(place.project.pk, "s"))
        return note

    note = await in_thread(wrote)
    for page in pages:
        await page.agree()
        assert "here" in page.shown.root.html()
    for page in tabs:
        await page.agree()
        assert "mark-pill" in page.shown.root.html()

    def changed():
        write.resolve(note, author, is_resolved=True)
        write.add_note(place.project.pk, author, targets.of_note(note), "Seen.", parent=note)

    await in_thread(changed)
    for page in pages:
        await page.agree()
    assert "Seen." in pages[0].shown.root.html()

    await in_thread(lambda: write.delete(note, author))
    for page in pages:
        await page.agree()
        assert "Seen." not in page.shown.root.html()
    for page in tabs:
        await page.agree()
