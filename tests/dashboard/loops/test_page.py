"""The session page: every scenario through the real ingest, as its reader sees it."""

import base64
import re
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.loops.queries.tree import ROWS
from recorder.ingest import Batch, ingest
from recorder.models import LoopRecord, Project, Session, Turn
from tests import build
from tests.dashboard.loops.conftest import TAPES, words
from tests.dashboard.test_texts import png

SCENARIOS = sorted(tape.name.removesuffix(".events.jsonl") for tape in TAPES.rglob("*.events.jsonl"))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_page_of_every_scenario_answers(feed, see, every_page, scenario):
    feed(tape=scenario)

    for path in every_page():
        see(path)


def test_a_session_opens_at_the_loop_that_runs_else_at_the_last_one(feed, session):
    feed(*build.small_loop("s.a.1"), *build.small_loop("s.a.2", parent="s.a.1", kind="Default"))
    assert "loop 2 of 2" in session().text

    feed(build.agent_start("s.b.1"), *build.small_loop("s.a.3"))
    assert "loop 3 of 4" in session().text


def test_continuations_say_what_they_continue_and_lead_there(feed, loop):
    feed(tape="02")

    page = loop(".2")

    assert "continues" in page.part("loop")
    assert any(href.endswith("#loop") for href in page.links)


def test_a_rerun_dims_the_loop_it_replaces(feed, session):
    feed(tape="02")

    assert any("superseded" in row for row in session().rows)
    assert any(row.startswith("Rerun,") for row in session().rows)


def test_the_same_loop_ids_twice_are_two_evaluations(feed, session):
    feed(tape="04")

    page = session()

    assert page.html.count('class="par"') == 2
    assert page.text.count("branches in parallel") == 2
    assert page.text.count("run 2") >= 2


def test_an_evaluation_shows_its_winner_and_its_judge_last(feed, session):
    feed(tape="03")

    kinds = [row.split(",")[0] for row in session().rows]

    assert kinds == ["Winner", "Branch", "Branch", "Judge", "Continue"]
    assert "Picked branch 1 of 3" in session().text


def test_while_a_group_runs_there_is_no_winner_and_who_has_not_begun_is_pending(feed, session):
    feed(build.parallel_start("s.a.1", "s.a.2"), build.agent_start("s.a.1"))

    page = session()

    assert [row.split(",")[0] for row in page.rows] == ["Branch", "Branch"]
    assert "pending" in page.rows[1]
    assert "Winner" not in page.text


def test_a_group_that_nobody_ended_says_so(feed, session):
    feed(build.parallel_start("s.a.1", "s.a.2"), build.agent_start("s.a.1"), flush=True)

    assert "ended without a choice" in session().text
    assert "never started" in session().text


def test_sub_agents_are_linked_both_ways_and_one_was_not_recorded(feed, see, session):
    feed(tape="05")
    child = Session.objects.get(has_spawn=True)
    parent = Session.objects.exclude(pk=child.pk).get()

    above, below = see(f"/p/default/sessions/{parent.pk}"), see(f"/p/default/sessions/{child.pk}")

    assert any(f"/sessions/{child.pk}/loops/" in href for href in above.links)
    assert any(f"/sessions/{parent.pk}/loops/" in href for href in below.links)
    assert "spawned by" in below.text
    assert above.part("loops").count("Not recorded") == 1
    assert "sub-agent not recorded" in above.part("loop")


def test_a_compaction_that_is_its_own_parent_is_drawn_once(feed, session):
    feed(tape="06")

    page = session()

    assert [row.split(",")[0] for row in page.rows] == ["Initial", "Compaction", "Continue"]
    assert "1.7k → 261 tokens, 10 → 6 messages" in page.part("loops")


def test_a_compaction_inside_a_loop_shows_before_and_after_in_its_place(feed, loop):
    feed(tape="06")

    assert "Compaction 5.0k → 461 tokens 9 → 7 messages" in loop("sonnet-4-6.1").part("loop")


def test_failures_are_never_shown_as_plain_successes(feed, session):
    feed(tape="08")

    page = session()
    states = [row.rpartition(", ")[2] for row in page.rows]

    assert states == ["rejected", "completed", "rejected", "failed", "failed", "completed", "completed"]
    assert [word for word in ("rejected", "failed") if f" {word} " not in " ".join(page.rows)] == []
    assert page.html.count('title="1 error"') == 3


def test_a_rejected_loop_says_why(feed, loop):
    feed(tape="08")

    assert "The loop was rejected by an input filter blocked term: password" in loop("sonnet-4-6.1").part(
        "loop"
    )


def test_a_turn_that_failed_says_why_once(feed, loop):
    feed(tape="08")

    assert loop("sonnet-4-6.4").part("loop").count("401 invalid x-api-key") == 1


def test_a_loop_that_was_cut_off_says_so(feed, session):
    feed(tape="09", flush=True)

    page = session()

    assert "The recording ends here" in page.text
    assert "cut off" in page.part("loop")
    assert "Aborted" in page.html


def test_a_cancelled_loop_says_so(feed, session):
    feed(tape="10")

    assert "cancelled" in session().rows[0]


def test_what_changed_against_the_loop_before_stands_first(feed, loop):
    snapshot = {"model": "m", "provider": "p", "thinking_level": "high", "temperature": 1.0}
    feed(
        *build.small_loop("s.a.1", config_snapshot=snapshot),
        *build.small_loop(
            "s.a.2", parent="s.a.1", kind="Default", config_snapshot=snapshot | {"thinking_level": "low"}
        ),
    )

    page = loop(".2")

    assert "thinking low high temperature 1.0" in page.part("loop")
    assert "<s>high</s>" in page.html


def test_what_an_agent_wrote_stays_text_on_every_page(feed, reader, every_page):
    feed(tape="hostile")

    for path in every_page():
        html = reader.get(path).content.decode()
        for start in (
            "<img src=x",
            "<svg onload",
            "<iframe",
            "<base",
            '<form action="http',
            "<object",
            "<meta http-equiv",
        ):
            assert start not in html, (path, start)
        assert "javascript:" not in " ".join(part.split('"')[0] for part in html.split('href="')[1:])
        assert "<script>window" not in html


def test_text_that_streams_is_on_the_page_so_far(feed, session):
    feed(
        build.agent_start(),
        build.turn_start(),
        build.message_start(message=build.assistant("") | {"content": []}),
    )
    feed(build.message_update(text="Once upon "), build.message_update(text="a time"))

    page = session()

    assert "Once upon a time" in page.part("loop")
    assert "streaming" in page.part("loop")


def test_thirty_turns_are_shown_and_the_earlier_ones_are_one_link_away(feed, session, see, reader):
    turns = [
        event
        for n in range(40)
        for event in (build.turn_start(index=n), build.turn_end(message=build.assistant(f"Answer {n}.")))
    ]
    feed(build.agent_start(), *turns)

    page = session()
    assert "Answer 39." in page.text
    assert "Answer 9." not in page.text

    (earlier,) = {href.removesuffix("#loop") for href in page.links if "before=" in href}
    assert "Answer 9." in see(earlier).text
    assert "Answer 10." not in see(earlier).text
    piece = reader.get(earlier, headers={"HX-Request": "true"}).content.decode()
    assert "Answer 0." in piece
    assert "<html" not in piece


def test_a_turn_has_an_address(feed, session, see):
    turns = [
        event
        for n in range(200)
        for event in (build.turn_start(index=n), build.turn_end(message=build.assistant(f"Answer {n}.")))
    ]
    feed(build.agent_start(), *turns)
    loop = LoopRecord.objects.get()

    page = see(f"/p/default/sessions/{loop.session_id}/loops/{loop.pk}?turn=100")

    assert 'id="turn-100"' in page.html


def test_a_long_result_is_cut_and_the_whole_is_one_link_away(feed, session, reader):
    result = {"content": [{"type": "text", "text": "x" * 40_000 + "the end"}], "details": None}
    feed(build.agent_start(), build.turn_start(), build.tool_start(), build.tool_end() | {"result": result})

    page = session()
    assert "the end" not in page.text

    (whole,) = {href for href in page.links if "/text?at=" in href}
    plain = reader.get(whole)
    assert plain["Content-Type"].startswith("text/plain")
    assert plain.content.decode().endswith("the end")
    assert "data-loaded" in reader.get(whole, headers={"HX-Request": "true"}).content.decode()


def test_what_did_not_fit_is_on_the_strip_and_a_clean_session_has_none(feed, session):
    feed(*build.small_loop("s.a.1"))
    assert "did not fit" not in session().text

    feed(build.turn_start("s.a.1", index=5))
    feed(b"{", rejects=1, producer=None)
    assert "did not fit" in session().text


@pytest.mark.parametrize(
    "tab", ["", "?tab=events", "?tab=json", "?before=zero", "?at=99999999999999999999", "?turn=-1"]
)
def test_nonsense_in_the_address_is_ignored(feed, loop, tab):
    feed(*build.small_loop())

    assert "Loops 1" in loop(".1", query=tab).text


def test_there_is_no_way_to_another_projects_session(feed, reader):
    feed(*build.small_loop())
    other = Project.objects.create(slug="other")
    other.memberships.create(user=User.objects.get(username="reader"))
    loop = LoopRecord.objects.get()
    event = loop.start_event

    for path in (
        f"sessions/{loop.session_id}",
        f"sessions/{loop.session_id}/loops/{loop.pk}",
        f"sessions/{loop.session_id}/loops/{loop.pk}/record",
        f"sessions/{loop.session_id}/loops/{loop.pk}/deltas?before={event}",
        f"events/{event}",
        f"events/{event}/raw",
        f"events/{event}/text",
    ):
        assert reader.get(f"/p/default/{path}").status_code in (200, 302), path
        assert reader.get(f"/p/other/{path}").status_code == 404, path


def test_a_loop_of_another_session_is_not_found(feed, reader):
    feed(*build.small_loop("s.a.1"), *build.small_loop("t.a.1"))
    one, two = LoopRecord.objects.order_by("pk")

    assert reader.get(f"/p/default/sessions/{one.session_id}/loops/{two.pk}").status_code == 404


def test_who_is_not_signed_in_is_sent_to_the_door(feed, client, project):
    feed(*build.small_loop())

    answer = client.get(f"/p/default/sessions/{Session.objects.get().pk}")

    assert (answer.status_code, answer["Location"].startswith("/signin")) == (302, True)


def test_a_page_asks_the_database_as_often_with_fifty_loops_as_with_one(feed, session, see):
    def turns(loop, n):
        return [
            event
            for index in range(n)
            for event in (
                build.turn_start(loop, index=index),
                build.message_end(loop, message=build.user("Go on.")),
                build.tool_start(loop, call=f"c{index}"),
                build.tool_end(loop, call=f"c{index}", child=f"other{index}.sub.1"),
                build.turn_end(loop, message=build.assistant("Done.")),
            )
        ]

    def queries(path):
        see(path)
        with CaptureQueriesContext(connection) as captured:
            see(path)
        return len(captured)

    feed(*build.small_loop("s.a.1"), build.agent_start("s.c.1"), *turns("s.c.1", 2), build.agent_end("s.c.1"))
    small = LoopRecord.objects.get(loop_id="s.c.1")
    tabs = ("", "?tab=events", "?tab=events&scope=session&kind=errors")
    few = [queries(f"/p/default/sessions/{small.session_id}/loops/{small.pk}{tab}") for tab in tabs]

    loops = [f"s.a.{n}" for n in range(2, 51)]
    feed(
        *(
            event
            for loop in loops
            for event in build.small_loop(loop, parent="s.a.1", kind={"Branch": {"tag": "t"}})
        )
    )
    feed(build.agent_start("s.b.1"), *turns("s.b.1", 50), build.agent_end("s.b.1"))
    large = LoopRecord.objects.get(loop_id="s.b.1")
    many = [queries(f"/p/default/sessions/{large.session_id}/loops/{large.pk}{tab}") for tab in tabs]

    assert Turn.objects.filter(loop=large).count() == 50
    assert max(few) <= 50
    assert many == few


def test_a_tool_that_was_denied_is_neither_run_nor_failed(feed, session):
    feed(tape="all-event-types")

    assert "Tool calls 1 Context" in session().text


def test_of_a_large_tree_a_window_around_the_selected_loop_is_sent_and_links_lead_through_all_of_it(
    feed, session, see
):
    loops = [build.small_loop(f"s.a.{n}", parent=f"s.a.{n - 1}", kind="Default") for n in range(1, 320)]
    feed(*build.small_loop("s.a.0"), *(event for loop in loops for event in loop))

    page = session()

    assert len(page.html.encode()) < 300_000
    assert len(page.rows) == ROWS
    assert "220 rows above" in page.part("loops")
    assert "below" not in page.part("loops")
    seen = set()
    while (found := _rows(page)) - seen:
        seen |= found
        earlier = next((a.attributes["href"] for a in page.root.walk() if "data-earlier" in a.attributes), "")
        page = see(f"/p/default/sessions/{Session.objects.get().pk}{earlier}")
        assert "loop 320 of 320" in page.text
    assert len(seen) == 320


def _rows(page):
    return {each.id for each in page.root.walk() if each.id.startswith("session-loop-row-")}


def test_a_huge_result_costs_the_page_nothing_until_it_is_asked_for_and_comes_in_pieces(
    feed, loop, see, reader
):
    text = "".join(f"line {n} of a very long result\n" for n in range(20_000))
    feed(
        build.agent_start("s.a.1"),
        build.turn_start("s.a.1"),
        build.tool_start("s.a.1"),
        build.tool_end("s.a.1", result={"content": [{"type": "text", "text": text}]}),
    )

    page = loop("s.a.1")
    assert len(page.html.encode()) < 60_000
    assert "line 11 of" in page.text
    assert "line 12 of" not in page.text

    url = next(a.attributes["hx-get"] for a in page.root.walk() if "/text?" in a.attributes.get("hx-get", ""))
    got = ""
    while url:
        piece = reader.get(url, headers={"hx-request": "true"}).content.decode()
        got += "".join(re.findall(r"<pre>(.*?)</pre>", piece, re.S))
        url = unescape((re.findall(r'hx-get="([^"]*)"', piece) or [""])[0])
    assert got == text


def test_an_image_is_served_by_us_as_what_it_is_and_anything_else_is_only_told(feed, loop, reader):
    good = {"type": "image", "mimeType": "text/html", "data": base64.b64encode(png()).decode()}
    bad = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(b"<svg onload=x>").decode()}
    feed(
        build.agent_start("s.a.1"),
        build.message_end("s.a.1", message={"role": "user", "content": [good, bad], "timestamp": 1}),
    )

    page = loop("s.a.1")
    (image,) = [e for e in page.root.walk() if e.tag == "img"]
    answer = reader.get(image.attributes["src"])

    assert answer.content == png()
    assert answer["Content-Type"] == "image/png"
    assert answer["Content-Security-Policy"].startswith("default-src 'none'; sandbox")
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "not shown" in page.text
    for path in ("message.content.1", "message.content.9", "message", ""):
        assert reader.get(image.attributes["src"].replace("message.content.0", path)).status_code == 404


def test_the_strip_of_a_session_that_is_all_there_says_so(feed, session):
    feed(*build.small_loop("s.a.1"))

    strip = next(e for e in session().root.walk() if e.attributes.get("class") == "integrity")

    assert "Recorded without a gap; nothing refused, late or out of place" in words(strip.html())


def test_the_strip_counts_what_is_late_unknown_refused_in_conflict_or_without_its_loop_and_leads_there(
    project, feed, session
):
    def send(first, *lines):
        raw = [line if isinstance(line, bytes) else build.line(line) for line in lines]
        ingest(Batch(project.pk, "one", first, raw))

    send(0, *build.small_loop("s.a.1"))
    send(0, build.turn_start("s.a.1", index=7))
    count = len(list(build.small_loop("s.a.1")))
    late, unknown = build.turn_start("s.a.1", index=1), {**build.turn_start("s.a.1", index=2), "type": "New"}
    send(count, late, unknown, b"no json", build.turn_start("gone.b.1"))

    strip = next(e for e in session().root.walk() if e.attributes.get("class") == "integrity")
    said = words(strip.html())

    for part in ("came late", "1 event of an unknown type", "1 line with the number of another"):
        assert part in said
    for part in ("1 line refused", "1 event without a loop", "did not fit"):
        assert part in said
    links = [e.attributes["href"] for e in strip.walk() if e.tag == "a"]
    assert len(links) >= 5
    assert all(href.startswith("/p/default/") for href in links)


def test_texts_stand_as_they_were_written_when_asked(feed, session, see):
    said = build.assistant() | {"content": [{"type": "text", "text": "**bold** and `code`"}]}
    feed(build.agent_start(), build.turn_start(), build.message_end(message=said))
    page = session()
    [other] = [href for href in page.links if "raw=1" in href]

    assert "<strong>bold</strong>" in page.html
    raw = see(other.partition("#")[0])
    assert '<p class="plain">**bold** and `code`</p>' in raw.html
    assert ">Rendered</a>" in raw.html
