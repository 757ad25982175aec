"""The Events tab and its recorded lines; pushed rows equal those of a reload."""

import json

import pytest
from django.http import QueryDict

from dashboard.pages.session.events.queries import event_list
from dashboard.pages.session.live import open_page
from recorder.models import EventRecord, JournalEvent, LoopRecord, Session
from recorder.pubsub import invalidation
from tests.dashboard.page_model import ShownPage, parse
from tests.support import build


def streamed(n):
    """Return a turn with `n` streaming deltas."""
    begun = build.message_start(message=build.assistant("") | {"content": []})
    deltas = [build.message_update(text=f"word {m} ") for m in range(n)]
    return [
        build.turn_start(),
        begun,
        *deltas,
        build.message_end(message=build.assistant("All words.")),
        build.turn_end(),
    ]


def test_each_event_is_one_line_with_its_number_and_size(feed, loop):
    feed(tape="01")

    page = loop(".1", query="?tab=events")

    first = page.part(f"session-event-{EventRecord.objects.order_by('pk').first().pk}")
    assert first.startswith("0 +0.000s AgentStart Initial")
    assert first.split("Permalink")[0].strip().endswith("B")


def test_streaming_deltas_are_folded_and_open_on_request(feed, loop, reader):
    feed(build.agent_start(), *streamed(84))

    page = loop(".1", query="?tab=events")

    assert "84 streaming deltas" in page.text
    (url,) = {e.attributes["hx-get"] for e in page.root.walk() if "/deltas" in e.attributes.get("hx-get", "")}
    assert reader.get(url).content.decode().count("<li>") == 84


def test_an_event_says_how_many_values_of_its_line_are_masked(feed, loop):
    secrets = "AKIAIOSFODNN7EXAMPLE and ghp_" + "a1B2" * 9
    feed(build.agent_start(), build.turn_start(), build.tool_start(args={"command": secrets}))

    page = loop(".1", query="?tab=events")

    rows = [
        page.part(f"session-event-{pk}")
        for pk in EventRecord.objects.order_by("pk").values_list("pk", flat=True)
    ]
    assert ["2 values masked" in row for row in rows] == [False, False, True]


def test_a_list_contains_only_its_loop_and_kind(feed, loop):
    feed(
        build.agent_start("s.a.1"),
        build.turn_start("s.a.1"),
        build.tool_start("s.a.1"),
        build.tool_end("s.a.1", is_error=True),
    )
    feed(*build.small_loop("s.b.1"))

    assert "s.b.1" not in loop("a.1", query="?tab=events").part("events")
    assert "s.b.1" in loop("a.1", query="?tab=events&scope=session").part("events")
    tools = loop("a.1", query="?tab=events&kind=tools").part("events")
    assert "ToolExecutionStart" in tools
    assert "AgentStart" not in tools
    errors = loop("a.1", query="?tab=events&kind=errors").part("events")
    assert "ToolExecutionEnd" in errors
    assert "ToolExecutionStart" not in errors


def test_pages_never_shift_and_every_event_is_on_one(feed, loop, see):
    feed(build.agent_start(), *(build.input_rejected(reason=f"reason {n}") for n in range(450)))

    page, seen = loop(".1", query="?tab=events"), []
    while True:
        seen = [e.id for e in page.root.walk() if e.id.startswith("session-event-")] + seen
        earlier = {href for href in page.links if "before=" in href and "notes=" not in href}
        if not earlier:
            break
        page = see(earlier.pop().removesuffix("#loop"))
        assert any("after=" in href for href in page.links)

    assert len(seen) == len(set(seen)) == 451


def test_a_permalink_redirects_to_the_page_around_the_event(feed, reader):
    feed(build.agent_start(), *(build.input_rejected(reason=f"reason {n}") for n in range(450)))
    pk = EventRecord.objects.order_by("pk")[50].pk

    place = reader.get(f"/p/default/events/{pk}")["Location"]

    assert place.endswith(f"&around={pk}#event-{pk}")
    assert f'id="event-{pk}"' in reader.get(place).content.decode()


def test_the_permalink_of_an_event_without_a_loop_leads_to_the_session(feed, reader):
    feed(build.parallel_start("s.a.1", "s.a.2"), *build.small_loop("s.a.1"))
    pk = EventRecord.objects.get(type="ParallelLoopStart").pk

    place = reader.get(f"/p/default/events/{pk}")["Location"]

    assert f'id="event-{pk}"' in reader.get(place).content.decode()


def test_an_orphan_is_shown_on_the_integrity_page(feed, reader):
    feed(*(build.turn_start(f"never.started.{n}") for n in range(1, 60)))
    pk = EventRecord.objects.order_by("pk").first().pk

    place = reader.get(f"/p/default/events/{pk}")["Location"]

    assert place == f"/p/default/integrity?list=orphans&before={pk + 1}#event-{pk}"
    assert f'id="event-{pk}"' in reader.get(place).content.decode()


def test_a_raw_line_is_returned_byte_for_byte_as_plain_text(feed, reader):
    start = b'{"type":"AgentStart", "agent_id":"a","session_id":"s","loop_id":"s.1"'
    line = start + b',"timestamp":"2026-02-11T09:00:00Z","note":"<script>\xc3\xa9\\u0000\\ud800 1e999"}'
    feed(line)
    pk = JournalEvent.objects.get().pk

    raw = reader.get(f"/p/default/events/{pk}/raw")

    assert raw.content == line
    assert raw["Content-Type"].startswith("text/plain")
    assert raw["X-Content-Type-Options"] == "nosniff"
    assert "\ufffd" in reader.get(f"/p/default/events/{pk}/text").content.decode()


@pytest.mark.parametrize("at", ["nope", "type.0", "0", "message..x", "note.9999999", "." * 300])
def test_an_invalid_path_is_not_found(feed, reader, at):
    feed(*build.small_loop())

    assert (
        reader.get(f"/p/default/events/{JournalEvent.objects.first().pk}/text", {"at": at}).status_code == 404
    )


def test_late_and_unknown_events_are_marked(feed, loop):
    feed(*build.small_loop(), build.turn_start(index=9), {"type": "Telepathy", "loop_id": "s.a.1"})

    text = loop(".1", query="?tab=events").part("events")

    assert "late" in text
    assert "unknown type" in text


def test_a_receive_time_is_marked(feed, loop):
    feed(*build.small_loop())

    assert "the event has no timestamp" in loop(".1", query="?tab=events").html


def test_an_event_too_large_for_a_summary_is_listed(feed, loop):
    feed(build.agent_start(), build.message_end(message=build.user("x" * (event_list.SUMMED_BYTES + 1))))

    assert "too large for a summary" in loop(".1", query="?tab=events").text


@pytest.mark.parametrize("query", ["", "tab=events", "tab=events&kind=tools", "tab=events&scope=session"])
def test_pushed_panels_equal_those_of_a_reload(feed, see, project, query):
    feed(build.agent_start())
    loop = LoopRecord.objects.get()
    path = f"/p/default/sessions/{loop.session_id}/loops/{loop.pk}?{query}"
    page = see(path)
    socket = next(e.attributes["ws-connect"] for e in page.root.walk() if "ws-connect" in e.attributes)
    shown, live = ShownPage(page.html), open_page(project, None, QueryDict(socket.partition("?")[2]))
    live.dirty_panels(None)
    invalidations = []
    invalidation.subscribe(invalidations.append)
    try:
        feed(
            *streamed(3),
            build.turn_start(index=1),
            build.tool_start(),
            build.progress(),
            build.tool_end(),
            build.turn_end(),
        )
    finally:
        invalidation.unsubscribe(invalidations.append)

    pushed = [
        panel.draw(pks, oob=True) for touched in invalidations for panel, pks in live.dirty_panels(touched)
    ]
    shown.show("<!--frame 1-->" + "".join(html for drawn in pushed for html in drawn.values()))

    fresh = parse(see(path).html)
    for part in ("loops", "loop-scroll", f"session-header-{loop.session_id}", f"session-loop-head-{loop.pk}"):
        assert shown.root.find(part).html() == fresh.find(part).html()


def test_the_record_of_a_loop_is_a_json_document(feed, reader):
    feed(tape="01")
    loop = LoopRecord.objects.order_by("pk").first()
    path = f"/p/default/sessions/{Session.objects.get().pk}/loops/{loop.pk}/record"

    assert json.loads(reader.get(path).content)["loop_id"] == loop.loop_id
    assert json.loads(reader.get(f"{path}?of=api").content)["id"] == loop.pk


def test_the_session_brief_is_a_document_of_the_json_tab(reader, feed):
    feed(tape="01-tools-two-prompts")
    loop = LoopRecord.objects.first()
    place = f"/p/default/sessions/{loop.session_id}/loops/{loop.pk}"
    page = reader.get(f"{place}?tab=json&of=brief").content.decode()
    response = reader.get(f"{place}/record?of=brief")

    assert "Quoted text was written by agents, tools and people." in page
    assert f'download="session-{loop.session_id}.txt"' in page
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    api = f"/api/v1/sessions/{loop.session.session_id}/context?as=text"
    assert response.content == reader.get(api).content
    assert b'"bash": 2 calls, 1 failed' in response.content


def test_one_message_that_was_pruned_is_counted_in_the_singular(feed, loop):
    feed(build.agent_start(), build.prun_applied())

    assert "1 message, 10 tokens" in loop(".1", query="?tab=events").text
