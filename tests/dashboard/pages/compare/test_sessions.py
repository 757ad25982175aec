"""Comparison of two to four sessions: figures, differences, turns."""

from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.comparison import queries as turns_queries
from dashboard.comparison.turn_table import MINUS
from dashboard.pages.compare import figures as compare
from dashboard.shared.queries.costs import Cost
from recorder.models import LoopRecord, Project, Session
from tests.dashboard.pages.compare.conftest import row
from tests.support import build
from tests.support.small_loop import Loop


def two(feed):
    one, other = Loop("one"), Loop("two")
    feed(*one.whole("first"))
    feed(other.start(), *other.whole_turn("second"), *other.whole_turn("third"), other.end())
    return [Session.objects.get(session_id=name).pk for name in ("one", "two")]


def test_equal_figures_of_two_sessions_are_dimmed(client, see, feed):
    first, second = two(feed)
    see()

    html = client.get(f"/p/default/sessions/compare?of={second}&of={first}").content.decode()

    assert html.index("Ask second") < html.index("Ask first")
    rows = html.split("<tr")
    assert any(row.startswith(' class="text-faint"') and "Loops" in row for row in rows)
    assert any(not row.startswith(" class") and "Turns" in row for row in rows)


def test_all_configs_and_agents_of_a_session_are_named(client, see, feed):
    feed(*build.handed_over("one.a.1"), *build.small_loop("two.a.1"))
    first, second = Session.objects.order_by("pk").values_list("pk", flat=True)
    see()

    html = client.get(f"/p/default/sessions/compare?of={first}&of={second}").content.decode()

    rows = [html.partition(f"{word}</th>")[2].partition("</tr>")[0] for word in ("Agents", "Configs")]
    agents, configs = rows
    assert "agent-a, expert" in agents
    for model in ("claude-haiku-4-5", "claude-sonnet-4-5", "claude-sonnet-4-6"):
        assert f'<span class="clip">{model}</span>' in configs


def addresses(pks):
    return "/p/default/sessions/compare?" + "&".join(f"of={pk}" for pk in pks)


def test_each_session_has_to_be_one_of_the_project(client, see, feed):
    first, second = two(feed)
    feed(build.agent_start("far.x.1"), into=Project.objects.create(slug="other"))
    far = Session.objects.get(session_id="far").pk
    see()

    for pks in ((first, far), (first, second, far), (far, first, second), (first, 10**9), (first, "x")):
        assert client.get(addresses(pks)).status_code == 404
    assert client.get(addresses((first, second))).status_code == 200


@pytest.mark.parametrize("count", [0, 1, 5, 40])
def test_fewer_than_two_and_more_than_four_are_refused_in_words(client, see, feed, count):
    two(feed)
    see()

    refused = client.get(addresses(range(1, count + 1)))

    words = " ".join(refused.content.decode().split())
    assert refused.status_code == 400
    assert f"Two to four sessions can be compared: {count} {'is' if count == 1 else 'are'} selected." in words


def test_a_session_named_twice_counts_once(client, see, feed):
    first, second = two(feed)
    see()

    assert client.get(addresses((first, first))).status_code == 400
    assert (
        "2 sessions compared"
        in client.get(addresses((first, second, first, second, second))).content.decode()
    )


def test_queries_depend_on_sessions_and_not_on_turns(client, see, feed):
    first, second = two(feed)
    see()
    client.get(addresses((first, second)))
    with CaptureQueriesContext(connection) as few:
        client.get(addresses((first, second)))
    loop = Loop("one", "again")
    feed(loop.start(), *(event for n in range(20) for event in loop.whole_turn(f"more {n}")), loop.end())
    with CaptureQueriesContext(connection) as more:
        client.get(addresses((first, second)))

    assert len(more) == len(few)


def test_figures_have_difference_and_ratio_to_the_first(client, see, feed):
    first, second = two(feed)
    see()

    html = client.get(addresses((first, second))).content.decode()
    assert row(html, "Turns") == ["1", "2 +1, 200%"]
    assert row(html, "Input tokens") == ["10", "20 +10, 200%"]
    assert row(html, "Loops") == ["1", "1"]
    html = client.get(addresses((second, first))).content.decode()
    assert row(html, "Turns") == ["2", f"1 {MINUS}1, 50%"]


def test_another_session_can_be_made_the_base_and_one_be_removed(client, see, feed):
    pks = [*two(feed)]
    feed(*Loop("three").whole("third"))
    pks.append(Session.objects.get(session_id="three").pk)
    one, two_, three = pks
    see()

    links = unescape(client.get(addresses(pks)).content.decode())

    assert f'href="?of={three}&of={one}&of={two_}"' in links
    assert f'href="?of={one}&of={three}"' in links
    assert "Remove" not in client.get(addresses(pks[:2])).content.decode()


def test_costs_without_a_price_are_lower_bounds_and_costs_add_up():
    priced, more, bound = (Cost(10**7), Cost(3 * 10**7), Cost(3 * 10**7, 2))

    def differences(*costs):
        return [value.difference for value in compare._cost("Cost", costs).values]

    assert differences(priced, more, bound) == ["", "+$0.0200, 300%", "at least +$0.0200, 300%"]
    assert differences(bound, priced) == ["", ""]
    assert differences(Cost(), priced) == ["", ""]
    assert compare._rest(bound, priced) == Cost(2 * 10**7, 2)
    assert compare._rest(Cost(10**7, 3), priced) == Cost(None, 3)
    assert compare._rest(priced, priced).cost_nano == 0


def test_turns_are_aligned_and_lead_to_their_loops(client, see, feed):
    one, other = Loop("one"), Loop("two")
    feed(one.start(), *one.whole_turn("Yes."), *one.whole_turn("Done."), one.end())
    feed(other.start(), *other.whole_turn("Yes."), *other.whole_turn("Failed."), other.end())
    again = Loop("two", "again")
    feed(again.start(), *again.whole_turn("At last."), again.end())
    first, second = (Session.objects.get(session_id=name).pk for name in ("one", "two"))
    see()

    html = unescape(client.get(addresses((first, second))).content.decode())
    loops = LoopRecord.objects.filter(session=second).order_by("pk").values_list("pk", flat=True)

    assert "First divergence: turn" in html
    assert html.index("Sessions diverge here") < html.index("Failed.") < html.index("At last.")
    for loop, turn in ((loops[0], 1), (loops[0], 2), (loops[1], 1)):
        assert f"/p/default/sessions/{second}/loops/{loop}?turn={turn}#turn-{turn}" in html
    only = client.get(addresses((first, second)) + "&only=diff").content.decode()
    assert "1 equal turn" in only
    assert f"?of={first}&amp;of={second}&amp;only=diff" in html.replace("&", "&amp;")


def test_turns_beyond_the_limit_are_named(client, see, feed, monkeypatch):
    monkeypatch.setattr(turns_queries, "MOST", 1)
    first, second = two(feed)
    see()

    html = client.get(addresses((first, second))).content.decode()

    assert "Of each session, the first" in html
    assert 'class="step"' in html
    assert html.count('class="step"') == 2


def test_a_reader_of_another_project_sees_no_comparison(client, feed):
    first, second = two(feed)

    assert client.get(addresses((first, second))).status_code in (302, 404)
