"""The page of the flame graph: widths, zoom, comparison, as of an event, and what it refuses."""

import re
from html import unescape

from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.pages.flame.layout import MOST
from recorder.ledger import follower
from recorder.models import EventRecord, Project, Session, Turn
from tests.support import build
from tests.support.small_loop import Loop

HOSTILE = '</title><script>alert(1)</script>"'


def url(name, query=""):
    return f"/p/default/sessions/{Session.objects.get(session_id=name).pk}/flame{query}"


def read(client, address):
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def labels(html):
    """Return depth and words of each box."""
    found = re.findall(r'aria-label="([^"]*)" data-depth="(\d+)"', html)
    return [(int(depth), unescape(words)) for words, depth in found]


def test_boxes_name_exact_amounts_and_link_to_their_part(client, see, feed):
    feed(*Loop("one").whole("first"))
    follower.run_all()
    see()
    html = read(client, url("one", "?by=tokens"))
    boxes = labels(html)
    assert boxes[0][0] == 0
    assert boxes[0][1].startswith("Session: ")
    assert "100%" in boxes[0][1]
    turn = re.search(r'href="([^"]*)" aria-label="Turn 1:', html)[1]
    enlarged = labels(read(client, url("one", unescape(turn))))
    assert enlarged[0][1].startswith("Turn 1: ")
    assert 'aria-current="page">Tokens</a>' in html
    assert "The flame graph as a table" in html


def test_an_unknown_part_shows_the_whole(client, see, feed):
    feed(*Loop("one").whole("first"))
    see()
    whole = labels(read(client, url("one", "?by=tokens")))
    for node in ("0" * 12, "x", "0" * 12 + ".5-9", "<script>"):
        assert labels(read(client, url("one", f"?by=tokens&node={node}"))) == whole


def test_two_sessions_are_compared_part_by_part(client, see, feed):
    one, other = Loop("one"), Loop("two")
    feed(*one.whole("first"))
    feed(other.start(), *other.whole_turn("second"), *other.whole_turn("third"), other.end())
    see()
    pk = Session.objects.get(session_id="two").pk
    html = read(client, url("one", f"?by=tokens&with={pk}"))
    words = {text.partition(":")[0]: text for _, text in labels(html)}
    assert "only in the other session" in words["Turn 2"]
    assert "about the same" in words["Turn 1"]
    assert "Largest differences" in html
    same = read(client, url("one", f"?by=tokens&with={Session.objects.get(session_id='one').pk}"))
    assert "No part differs." in same


def test_as_of_an_event_later_turns_are_not_shown(client, see, feed):
    loop = Loop("one")
    feed(loop.start(), *loop.whole_turn("first"), *loop.whole_turn("second"), loop.end())
    see()
    first = Turn.objects.order_by("ordinal").first()
    html = read(client, url("one", f"?by=tokens&at={first.end_event}"))
    names = [words.partition(":")[0] for _, words in labels(html)]
    assert "Turn 1" in names
    assert "Turn 2" not in names
    feed(*Loop("two").whole("other"))
    foreign = EventRecord.objects.filter(session__session_id="two").first().pk
    assert client.get(url("one", f"?at={foreign}")).status_code == 404


def test_sub_agents_are_below_the_turn_that_called_them(client, see, feed):
    feed(scenario="05-sub-agents")
    see()
    session = Session.objects.filter(parent__isnull=True).order_by("pk").first()
    boxes = labels(read(client, f"/p/default/sessions/{session.pk}/flame?by=tokens"))
    turns = [depth for depth, words in boxes if words.startswith("Turn")]
    assert max(turns) >= 4  # session, loop, turn, sub-agent, turn


def test_a_session_of_another_project_is_not_found(client, see, feed):
    feed(*Loop("one").whole("first"))
    feed(build.agent_start("far.x.1"), into=Project.objects.create(slug="other"))
    see()
    far = Session.objects.get(session_id="far").pk
    assert client.get(f"/p/default/sessions/{far}/flame").status_code == 404
    assert client.get(url("one", f"?with={far}")).status_code == 404
    assert client.get(url("one", "?with=999999")).status_code == 404


def test_names_of_agents_and_tools_are_text(client, see, feed):
    feed(
        build.agent_start("one.a.1", agent_id=HOSTILE),
        build.turn_end("one.a.1", usage={"input": 5, "output": 1}),
        build.agent_end("one.a.1"),
    )
    see()
    html = read(client, url("one", "?by=tokens"))
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_a_name_in_another_script_does_not_reorder_its_figures(client, see, feed):
    name = "\N{HEBREW LETTER SHIN}\N{HEBREW LETTER LAMED}"
    feed(
        build.agent_start("one.a.1", agent_id=name),
        build.turn_end("one.a.1", usage={"input": 5, "output": 1}),
        build.agent_end("one.a.1"),
    )
    see()
    html = read(client, url("one", "?by=tokens"))
    part, words = re.search(rf'href="([^"]*)"\s+aria-label="([^"]*{name}[^"]*)"', html).groups()
    assert words.startswith("\N{FIRST STRONG ISOLATE}")
    assert "\N{POP DIRECTIONAL ISOLATE}: $0.00003, 6 tokens" in words
    enlarged = read(client, url("one", unescape(part)))
    assert re.search(rf"<bdi>[^<]*{name}[^<]*</bdi>: \$0\.00003, 6 tokens", enlarged)
    assert "bidi-control" not in enlarged


def test_a_part_without_parts_leads_to_its_turn(client, see, feed):
    feed(*Loop("one").whole("first"))
    see()
    html = read(client, url("one", "?by=tokens"))
    links = re.findall(r'href="(/p/default/sessions/\d+/loops/\d+[^"]*)"', html)
    assert any("turn=1" in link for link in links)
    assert all(link.endswith("#turn-1") for link in links if "turn=1" in link)


def test_many_turns_take_as_many_queries_and_a_bounded_number_of_boxes(client, see, feed):
    few, many = Loop("few"), Loop("many")
    feed(few.start(), *few.whole_turn("first"), few.end())
    turns = [event for n in range(400) for event in many.whole_turn(f"turn {n}")]
    feed(many.start(), *turns, many.end())
    follower.run_all()
    see()
    counts = []
    for name in ("few", "many"):
        with CaptureQueriesContext(connection) as queries:
            html = read(client, url(name, "?by=tokens"))
        counts.append(len(queries))
        assert 0 < len(labels(html)) <= MOST
        assert len(html) < 300_000
    assert abs(counts[1] - counts[0]) <= 4  # those of blocks, if a turn is wide enough
    group = re.search(r'href="([^"]*)" aria-label="\d+ more:', html)[1]
    inside = labels(read(client, url("many", unescape(group))))
    assert any(words.startswith("Turn") for _, words in inside)


def test_without_costs_the_page_says_so(client, see, feed):
    feed(build.agent_start("one.a.1"))
    see()
    html = read(client, url("one"))
    assert "No call of this session has a cost." in html
    assert 'href="?by=tokens">Width by tokens</a>' in html


def test_the_session_and_the_comparison_link_to_it(client, see, feed):
    feed(*Loop("one").whole("first"), *Loop("two").whole("second"))
    see()
    one, two = (Session.objects.get(session_id=name).pk for name in ("one", "two"))
    assert f'href="/p/default/sessions/{one}/flame"' in read(client, f"/p/default/sessions/{one}")
    compared = read(client, f"/p/default/sessions/compare?of={one}&of={two}")
    assert f'href="/p/default/sessions/{one}/flame?with={two}"' in compared
