"""Tiles and tabs of the list follow its filters: each figure is that of the rows which the list shows."""

from datetime import UTC, datetime, timedelta
from importlib import import_module

import pytest
from django.http import QueryDict

from dashboard.pages.sessions.params import Filters
from dashboard.pages.sessions.queries import figures, matching, views
from dashboard.pages.sessions.queries import list as queries_list
from dashboard.shared.queries.session_filter import TOKENS
from dashboard.web.time_range import written
from recorder.models import Session
from tests.support import build
from tests.support.small_loop import Loop

NOW = datetime(2026, 1, 29, 14, 45, tzinfo=UTC)  # fixed: names of tests have times before it


def ended(session, *, outcome="completed", agent="writer", tokens=10, **past):
    at = (NOW - timedelta(**past)).isoformat()
    loop = f"{session}.{agent}.1"
    return [
        build.agent_start(loop) | {"timestamp": at, "agent_id": agent, "session_id": session},
        build.turn_start(loop) | {"timestamp": at},
        build.turn_end(loop, tokens=tokens) | {"timestamp": at},
        build.agent_end(loop, outcome=outcome) | {"timestamp": at},
    ]


@pytest.fixture
def recorded(feed):
    feed(*ended("a", tokens=1_000, hours=2))
    feed(*ended("b", tokens=20_000, outcome="failed", hours=3))
    feed(*ended("c", tokens=300_000, agent="coder", outcome="failed", days=3))
    feed(*Loop("d").whole("still about builds")[:3])


FILTERS = [
    {},
    {"q": "builds"},
    {"q": "agent:writer"},
    {"q": "agent:[writer,coder] status:failed"},
    {"view": "failed"},
    {"view": "running"},
    {"q": "tokens:>=15k"},
    {"since": "24h"},
    {"since": "24h", "q": "agent:writer outcome:failed"},
    {
        "since": f"{NOW - timedelta(days=4):%Y-%m-%dT%H:%MZ}",
        "until": f"{NOW - timedelta(days=2):%Y-%m-%dT%H:%MZ}",
    },
    {"q": "agent:nobody"},
]


@pytest.mark.parametrize("few", [0, queries_list.FEW], ids=["many", "few"])
@pytest.mark.parametrize("chosen", FILTERS, ids=str)
def test_the_tiles_are_the_sums_over_the_rows(project, recorded, monkeypatch, chosen, few):
    monkeypatch.setattr(queries_list, "FEW", few)
    filters = Filters(**chosen)
    rows = matching(project.pk, filters, NOW)
    costs = [row.cost_nano for row in rows if row.cost_nano is not None]

    tiles = figures(project.pk, filters, NOW)

    assert tiles.sessions.value == rows.count()
    assert tiles.failed == sum(row.outcome == "failed" for row in rows)
    assert tiles.running == sum(row.status == "running" for row in rows)
    assert tiles.usage.total == sum(rows.alias(n=TOKENS).values_list(TOKENS, flat=True))
    assert tiles.cost_nano == (sum(costs) if costs else None)
    assert tiles.loops.loops == sum(row.loops for row in rows)


@pytest.mark.parametrize("few", [0, queries_list.FEW], ids=["many", "few"])
@pytest.mark.parametrize("chosen", FILTERS, ids=str)
def test_a_tab_counts_the_rows_of_the_list_that_it_opens(project, recorded, monkeypatch, chosen, few):
    monkeypatch.setattr(queries_list, "FEW", few)
    tabs = views(project.pk, Filters(**chosen), NOW)
    assert tabs
    for view in tabs:
        opened = Filters.parse(QueryDict(view.href.removeprefix("?")))
        assert view.count.value == matching(project.pk, opened, NOW).count()
        assert opened.but(view="") == Filters(**chosen).but(view="")
        assert view.is_current is (opened.view == chosen.get("view", ""))


def test_calls_outside_of_a_custom_range_are_not_in_its_money(project, feed):
    loop = "s.a.1"
    feed(build.agent_start(loop) | {"timestamp": (NOW - timedelta(days=3)).isoformat()})
    for index, hours in enumerate((60, 30, 2)):
        at = {"timestamp": (NOW - timedelta(hours=hours)).isoformat()}
        feed(build.turn_start(loop, index=index) | at, build.turn_end(loop, tokens=10 ** (index + 3)) | at)

    def tokens(since, until):
        ends = {"since": since, "until": until}
        times = {name: written(NOW - timedelta(hours=hours)) for name, hours in ends.items()}
        return figures(project.pk, Filters(**times), NOW).usage.total

    assert Session.objects.count() == 1
    assert tokens(70, 50) == 1_000
    assert tokens(40, 20) == 10_000
    assert tokens(10, 0) == 100_000
    assert tokens(70, 20) == 11_000
    assert tokens(28, 20) == 0


@pytest.mark.parametrize(("most", "count", "tokens"), [(1, "1+", 10), (2, "2+", 1_010), (4, "4", 321_010)])
def test_the_tiles_sum_the_newest_sessions_of_more_than_they_count(
    project, recorded, feed, monkeypatch, most, count, tokens
):
    Session.objects.get(session_id="d").delete()
    feed(*ended("e", hours=1))
    monkeypatch.setattr(import_module("dashboard.pages.sessions.queries.figures"), "COUNT_MAX", most)

    tiles = figures(project.pk, Filters(), NOW)

    assert (tiles.sessions.text, tiles.usage.total) == (count, tokens)
