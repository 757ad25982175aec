"""Filters of the attention page: its lists, their counts and the feed follow them."""

import re
from html import unescape

import pytest

from recorder.models import ReadMark, Session
from tests.dashboard.pages.attention.loop_states import approval_request, failing, finishing
from tests.support import build

MARKUP = "<img src=x onerror=alert(1)>"


def of(agent, events):
    """Return the events of a loop as another agent's."""
    return [{**event, "agent_id": agent} if event["type"] == "AgentStart" else event for event in events]


@pytest.fixture
def recorded(feed):
    """Three questions, failures and finished sessions: one each of agent-b, the others of agent-a."""
    for n, agent in enumerate(("agent-a", "agent-a", "agent-b")):
        feed(*of(agent, approval_request(f"asks{n}")))
        feed(*of(agent, failing(f"fails{n}")))
        feed(*of(agent, finishing(f"ends{n}")))


def section(page, name):
    return page.partition(f'<section class="section" id="attention-{name}-')[2].partition("</section>")[0]


def rows(page, name):
    """Return the number of rows of a list."""
    return len(re.findall(r'<li (?:class="question" )?id="attention-', section(page, name)))


def total(page, name):
    """Return the number beside the heading of a list."""
    header = section(page, name).partition("</div>")[0]
    found = re.search(r'number(?: tone-waiting)?">\s*(\d+)', header)
    return int(found[1]) if found else 0


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", 3),
        ("?agent=agent-a", 2),
        ("?agent=agent-b", 1),
        ("?agent=nobody", 0),
        ("?agent=agent-a&agent=agent-b", 3),
    ],
)
def test_lists_and_their_counts_follow_the_filters(recorded, see, query, expected):
    page = see(query)
    assert [rows(page, name) for name in ("waiting", "failed", "finished")] == [expected] * 3
    assert [total(page, name) for name in ("waiting", "failed")] == [expected] * 2


def test_the_source_of_a_session_is_a_filter(feed, see):
    feed(*failing("ours"))
    source = Session.objects.get().source
    assert rows(see(f"?source={source}"), "failed") == 1
    assert rows(see("?source=cagent"), "failed") == 0
    assert "Ignored source" in see("?source=nothing")


def test_menus_offer_recorded_agents(recorded, see):
    page = see()
    offered = re.findall(r'type="checkbox" name="agent" value="([^"]*)"', page)
    assert offered == ["agent-a", "agent-b"]


def test_chosen_filters_are_written_to_the_query_and_positions_start_anew(recorded, see):
    page = see("?agent=agent-a&source=phi-core&waiting=1&failed=0.nonsense")
    assert (
        re.search(r'type="search"\s+name="q"\s+value="([^"]*)"', page)[1] == "agent:agent-a source:phi-core"
    )


def test_unticking_a_filter_takes_it_out_of_the_query(recorded, see):
    ticked = "agent:[agent-a,agent-b] has:tool"
    page = see("?q=agent:[agent-a,agent-b]+has:tool&shown=agent:agent-a&shown=agent:agent-b&agent=agent-b")
    assert ticked not in page
    assert 'value="agent:agent-b has:tool"' in page


def test_more_of_a_list_keeps_the_filters(feed, see):
    for n in range(22):
        feed(*of("agent-b", approval_request(f"asks{n}")), *of("agent-b", failing(f"fails{n}")))
    feed(*failing("other"))
    page = see("?agent=agent-b")
    for name in ("waiting", "failed"):
        more = unescape(re.search(rf'href="(\?q=agent%3Aagent-b&amp;{name}=[^"]+)">Show more', page)[1])
        assert rows(see(more), name) == 2


def test_mark_all_leaves_failures_outside_of_the_filter_unread(recorded, see, client):
    page = see("?agent=agent-a")
    form = re.search(r'<form id="seen".*?</form>', page, re.S)[0]
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
    newest = unescape(re.search(r'name="upto"\s+value="([^"]+)"', page)[1])
    client.post("/p/default/attention/seen", {**fields, "upto": newest})
    assert ReadMark.objects.count() == 2
    assert "all read" in see("?agent=agent-a")
    assert "1 unread" in see()


def test_the_feed_has_the_filters_of_the_page(recorded, see):
    page = see("?agent=agent-a&source=phi-core&waiting=7")
    assert 'data-feed="/p/default/attention/feed?q=agent%3Aagent-a+source%3Aphi-core"' in page


def test_the_link_to_stale_sessions_keeps_the_filters(feed, see, settings):
    settings.LOOPSCOPE_STALE_S = 1_800
    feed(build.agent_start("silent.a.1", agent_id="agent-b"))
    assert "1 stale session" in " ".join(see("?agent=agent-b").split())
    assert "?view=stale&amp;q=agent%3Aagent-b" in see("?agent=agent-b")
    assert "stale session" not in see("?agent=agent-a")


def test_hostile_names_of_agents_are_escaped(feed, see):
    feed(*of(MARKUP, failing("s")))
    page = see(f"?agent={MARKUP}")
    assert MARKUP not in page
    assert rows(page, "failed") == 1
