"""Comparison of two to four loops of one session."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from recorder.models import LoopRecord, Project, Session
from tests.dashboard.pages.compare.conftest import row
from tests.support import build
from tests.support.small_loop import Loop


@pytest.fixture
def loops(feed, see):
    """Two loops of a session of which one answered twice; return their primary keys."""
    one, other = Loop("s", "one"), Loop("s", "two")
    feed(*one.whole("first"))
    feed(other.start(), *other.whole_turn("first"), *other.whole_turn("third"), other.end())
    see()
    return list(LoopRecord.objects.order_by("pk").values_list("pk", flat=True))


def address(pks, session="s"):
    pk = Session.objects.get(session_id=session).pk
    return f"/p/default/sessions/{pk}/compare?" + "&".join(f"of={of}" for of in pks)


def test_loops_of_a_session_are_compared_as_sessions_are(client, loops):
    html = client.get(address(loops)).content.decode()
    assert "2 loops compared" in html
    assert row(html, "Turns") == ["1", "2 +1, 200%"]
    assert row(html, "Input tokens") == ["10", "20 +10, 200%"]
    assert "Settings that differ" in html
    assert "All turns" in html
    assert "?turn=2#turn-2" in html
    assert f'href="?of={loops[1]}&amp;of={loops[0]}"' in html


def test_a_loop_of_another_session_or_project_is_not_found(client, loops, feed):
    feed(*Loop("other", "one").whole("x"))
    feed(build.agent_start("far.x.1"), into=Project.objects.create(slug="far"))
    others = LoopRecord.objects.exclude(pk__in=loops).values_list("pk", flat=True)
    for other in others:
        assert client.get(address([loops[0], other])).status_code == 404
    far = Session.objects.get(session_id="far")
    assert client.get(f"/p/default/sessions/{far.pk}/compare?of=1&of=2").status_code == 404
    assert client.get(f"/p/far/sessions/{far.pk}/compare?of=1&of=2").status_code == 404


def test_one_loop_and_five_are_refused_in_words(client, loops):
    refused = client.get(address(loops[:1]))
    assert refused.status_code == 400
    assert "Two to four loops can be compared" in " ".join(refused.content.decode().split())
    assert client.get(address(range(1, 6))).status_code == 400


def test_queries_do_not_depend_on_the_number_of_turns(client, loops, feed):
    client.get(address(loops))
    with CaptureQueriesContext(connection) as few:
        client.get(address(loops))
    again = Loop("s", "three")
    feed(again.start(), *(event for n in range(20) for event in again.whole_turn(f"m {n}")), again.end())
    longer = [loops[0], LoopRecord.objects.latest("pk").pk]
    with CaptureQueriesContext(connection) as more:
        client.get(address(longer))
    assert len(more) == len(few)


def test_the_cost_of_sub_agents_counts_for_the_loop_that_started_them(client, see, feed):
    feed(*build.small_loop("s.a.1", tokens=100_000), *build.small_loop("s.a.2", tokens=100_000))
    child = build.small_loop("child.a.1", tokens=100_000)
    feed(
        build.agent_start("s.a.3"),
        build.turn_start("s.a.3"),
        build.tool_start("s.a.3"),
        *child,
        build.tool_end("s.a.3", child="child.a.1"),
        build.turn_end("s.a.3"),
        build.agent_end("s.a.3"),
    )
    see()
    pks = LoopRecord.objects.filter(session__session_id="s").order_by("pk").values_list("pk", flat=True)
    html = client.get(address([pks[0], pks[2]])).content.decode()
    own, below, whole = (row(html, name) for name in ("Cost", "Cost of sub-agents", "Cost, with sub-agents"))
    assert own[0].startswith("$0.300")
    assert below[1].startswith("$0.300")
    assert whole[1].startswith("$0.300")
