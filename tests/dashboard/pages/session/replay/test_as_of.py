"""The session page as of an event equals the page at that time, and does not change later."""

import re
from itertools import chain

import pytest

from recorder.models import EventRecord, LoopRecord, Session
from recorder.projection.as_of import record_versions
from tests.dashboard.page_model import parse
from tests.support import build

EVENTS = [
    build.agent_start("s.a.1"),
    build.turn_start("s.a.1"),
    build.message_end("s.a.1", message=build.user()),
    build.message_start("s.a.1"),
    build.message_update("s.a.1", text="Looking "),
    build.message_update("s.a.1", text="at it."),
    build.message_end("s.a.1", message=build.assistant("Looking at it.")),
    build.tool_start("s.a.1", args={"command": "ls"}),
    build.tool_end("s.a.1"),
    build.turn_end("s.a.1", tokens=7),
    build.agent_end("s.a.1", tokens=7),
    build.agent_start("s.a.2", parent="s.a.1", kind="Default", at=20),
    build.turn_start("s.a.2", at=21),
    *build.handed_over("s.a.3"),
]


@pytest.fixture(autouse=True)
def _clear_record_versions():
    record_versions.forget()


def main_of(html):
    return parse(html).find("main").html()


def test_the_page_as_of_every_event_is_the_page_at_that_time(feed, see):
    then = {}
    for event in EVENTS:
        feed(event, producer="p")
        session, newest = Session.objects.get(), EventRecord.objects.latest("pk")
        own = f"/p/default/sessions/{session.pk}/loops/{newest.loop_id}"
        then[newest.pk] = see(own).part("main")
    for pk, text in then.items():
        shown = see(f"/p/default/sessions/{session.pk}?at={pk}").part("main")
        assert words(shown) == words(text)


ABSENT = (
    r" HTML, one file to read .* Recorded lines, NDJSON(?= )",
    r" Share(?= )",
    r"(?<= )Go Dearest turn D Slowest turn S First error E(?= )",
    r" Turns(?= Flame)",
    r" Pin(?= )",
    r" Follow ",
    r" what if(?= )",
    r" Compare Clear(?= Loops )",
    r" 1\S 4\S.*",
    r"(?<= Context) (now|at the end|at this event)",
)


def words(text):
    """Remove what a page as of an event lacks, such as Follow and the selection, and what it says of now."""
    return " ".join(re.sub("|".join(ABSENT), " ", text).split())


@pytest.mark.parametrize("query", ["", "tab=events&", "tab=events&scope=session&", "tab=json&"])
def test_the_page_as_of_an_event_does_not_change_with_later_events(feed, see, query):
    feed(*EVENTS[:10], producer="p")
    session, event = Session.objects.get(), EventRecord.objects.order_by("pk")[7].pk
    before = see(f"/p/default/sessions/{session.pk}?{query}at={event}").html
    feed(*EVENTS[10:], producer="p")
    record_versions.forget()
    after = see(f"/p/default/sessions/{session.pk}?{query}at={event}").html
    assert main_of(after) == main_of(before)
    assert re.search(r'data-now="[^"]*"', after)[0] == re.search(r'data-now="[^"]*"', before)[0]


def test_links_of_a_page_as_of_an_event_keep_the_event(feed, see):
    feed(*EVENTS, producer="p")
    session, event = Session.objects.get(), EventRecord.objects.latest("pk").pk
    for query in ("", "tab=events&", "tab=json&"):
        page = see(f"/p/default/sessions/{session.pk}?{query}at={event}")
        own = [href for href in page.links if href.startswith(f"/p/default/sessions/{session.pk}")]
        own = [href for href in own if "/notes/new?" not in href]  # a note is on its turn, whatever is shown
        assert own
        away = [href for href in own if f"at={event}" not in href and f"from={event}" not in href]
        present = [href.partition("?")[0] for href in away if "at=" not in href]
        live = f"/p/default/sessions/{session.pk}"  # of the navigation, and "go to the end"
        assert present == [live, live]


def test_a_loop_that_had_not_started_is_not_shown(feed, loop, see):
    feed(*EVENTS, producer="p")
    first = EventRecord.objects.order_by("pk")[3].pk
    page = loop(".2", query=f"?at={first}")
    assert "This loop had not started at this point." in page.text
    assert len(page.rows) == 1


def test_as_of_an_event_its_own_loop_is_shown(feed, see):
    branches = ("s.a.1", "s.b.1")
    both = [[build.agent_start(loop), build.turn_start(loop), build.turn_end(loop)] for loop in branches]
    feed(build.parallel_start(*branches), *chain(*zip(*both, strict=True)), producer="p")
    (session,) = Session.objects.all()
    events = EventRecord.objects.filter(loop__isnull=False)
    assert len(set(events.values_list("loop_id", flat=True))) == len(branches)
    for event in events:
        shown = see(f"/p/default/sessions/{session.pk}?at={event.pk}").html
        assert f'data-loop="{event.loop_id}"' in shown, event.type


def test_the_events_tab_ends_at_the_event(feed, loop):
    feed(*EVENTS, producer="p")
    event = EventRecord.objects.order_by("pk")[7].pk
    page = loop(".1", query=f"?tab=events&at={event}")
    shown = [int(e.id.removeprefix("event-")) for e in page.root.walk() if re.fullmatch(r"event-\d+", e.id)]
    assert max(shown) == event


def test_the_document_of_a_loop_is_as_of_the_event(feed, reader):
    feed(*EVENTS, producer="p")
    row, event = LoopRecord.objects.get(loop_id="s.a.1"), EventRecord.objects.order_by("pk")[7].pk
    url = f"/p/default/sessions/{row.session_id}/loops/{row.pk}/record?of=api"
    assert reader.get(url).json()["status"] == "completed"
    assert reader.get(f"{url}&at={event}").json()["status"] == "running"


@pytest.mark.parametrize("at", ["0", "999999"])
def test_an_event_of_no_session_is_not_found(feed, reader, at):
    feed(*EVENTS, producer="p")
    session = Session.objects.get()
    assert reader.get(f"/p/default/sessions/{session.pk}?at={at}").status_code == 404


def test_the_history_of_a_pruned_session_is_gone(feed, reader):
    feed(*EVENTS, producer="p")
    session, event = Session.objects.get(), EventRecord.objects.latest("pk").pk
    Session.objects.update(pruned_on="2026-11-12")
    response = reader.get(f"/p/default/sessions/{session.pk}?at={event}")
    assert response.status_code == 410
    assert "Bodies pruned on 12 Nov 2026" in response.content.decode()
