"""Waste on the page Context and cache: sums by rule, sessions with the most of it, bounds, and the file."""

import csv
import io
import re

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.shared.waste.queries import sums
from recorder.models import Waste
from recorder.waste import follower
from tests.dashboard.repeated_calls import repeating
from tests.support import build

HOSTILE = '"><script>alert(1)</script>'


@pytest.fixture
def repeat(feed):
    """Record loops that repeated themselves before ten o'clock, each so many times."""

    def repeat(**loops):
        for name, times in loops.items():
            events = repeating(f"{name}.a.1", times)
            feed(*(each | {"timestamp": build.time(9)} if "timestamp" in each else each for each in events))
        follower.run_all()

    return repeat


def section(html, name):
    return html.partition(f'aria-labelledby="{name}-h"')[2].partition("</section>")[0]


def cells(html):
    rows = html.partition("<tbody>")[2].partition("</tbody>")[0].split("<tr>")[1:]
    return [[re.sub(r"<[^>]+>", "", each).strip() for each in re.split(r"<t[hd]", row)[1:]] for row in rows]


def text(cell):
    return cell.rpartition(">")[2].strip()


def test_waste_is_summed_by_rule_and_by_session(repeat, see):
    repeat(s=4, t=3)
    html = see()

    (row,) = cells(section(html, "waste"))
    assert [text(cell) for cell in row] == ["Same call, same result", "2", "5", "5.0k", "$0.0150"]
    wasteful = [[text(cell) for cell in row] for row in cells(section(html, "wasteful"))]
    assert [(row[0], row[2], row[5]) for row in wasteful] == [("s", "3", "$0.0090"), ("t", "2", "$0.0060")]
    assert "?tab=context#waste" in section(html, "wasteful")


def test_a_period_or_an_agent_without_waste_has_no_section(repeat, see):
    repeat(s=4)
    assert "waste-h" in see("?agent=agent-a")
    assert "waste-h" not in see("?agent=other")
    assert "waste-h" not in see("?since=2026-01-01&until=2026-01-02")


def test_only_the_newest_findings_are_added_up_in_as_many_queries(repeat, see, monkeypatch):
    repeat(s=3)
    see()
    cache.clear()
    with CaptureQueriesContext(connection) as one:
        see()
    repeat(t=3, u=3)
    with CaptureQueriesContext(connection) as three:
        assert "of the newest 1,000 findings" not in see()
    assert len(three) == len(one)
    monkeypatch.setattr(sums, "NEWEST", 2)
    cache.clear()
    html = see()
    assert "of the newest 1,000 findings" in section(html, "waste")
    assert len(cells(section(html, "wasteful"))) == 2


def test_the_file_has_rules_and_sessions_and_names_are_escaped(repeat, feed, see):
    feed(build.ours("SessionInfo", None, session_id="s", title=HOSTILE))
    repeat(s=4)
    assert "&lt;script&gt;alert(1)" in section(see(), "wasteful")
    assert "<script>alert(1)" not in see()

    rows = csv.DictReader(io.StringIO(see(path="/p/default/context.csv").lstrip("\ufeff")))
    found = {row["part"]: row for row in rows if row["part"].startswith("waste")}
    assert Waste.objects.count() == 1
    for part, name in (("waste", "same_call"), ("waste_session", HOSTILE)):
        row = found[part]
        assert row["name"].lstrip("'") == name
        assert (row["calls"], row["tokens"], row["cost_usd"]) == ("3", "3000", "0.009000000")
