"""Failures by reason: grouped, counted, with the times of the first and the last and an example."""

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.pages.attention.params import AttentionParams
from dashboard.pages.attention.queries.reasons import READ_MAX, ReasonsOf, bounds
from tests.dashboard.pages.attention.loop_states import failing
from tests.dashboard.pages.attention.test_page import HOSTILE, section
from tests.support import build

DAY = timedelta(days=1)


def failed_at(session, at, error):
    end = {**build.agent_end(f"{session}.a.1", timestamp=at.isoformat()), "outcome": "failed", "error": error}
    return [build.agent_start(f"{session}.a.1", timestamp=at.isoformat()), end]


def reasons(project, **params):
    return ReasonsOf(AttentionParams(**params))([project.pk])[project.pk]


def test_failures_that_differ_in_numbers_and_ids_are_one_reason(project, feed):
    feed(*failing("a", "port 8123 is in use"), *failing("b", "Port 9 is in use"), *failing("c", "no key"))
    feed(*failing("d", "port 1 is in use"))
    found = reasons(project)

    assert [(row.count, row.text) for row in found.rows] == [
        (3, "Failed: port 1 is in use"),
        (1, "Failed: no key"),
    ]
    assert found.failures == 4
    assert found.rows[0].first_at <= found.rows[0].last_at
    assert found.rows[0].url.startswith("/p/default/sessions/")


@pytest.mark.parametrize(
    ("period", "start", "end"),
    [
        ("today", (2026, 11, 26), None),
        ("yesterday", (2026, 11, 25), (2026, 11, 26)),
        ("week", (2026, 11, 23), None),  # a Monday
        ("7d", (2026, 11, 20), None),
    ],
)
def test_a_period_begins_at_midnight(period, start, end):
    now = datetime(2026, 11, 26, 15, 30, tzinfo=UTC)
    assert bounds(period, now) == (datetime(*start, tzinfo=UTC), end and datetime(*end, tzinfo=UTC))


def test_yesterday_shows_what_failed_on_the_day_before(project, feed):
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    feed(*failed_at("early", midnight - DAY, "first"), *failed_at("late", midnight - DAY / 24, "second"))
    feed(*failed_at("old", midnight - DAY - DAY / 24, "older"), *failed_at("new", midnight, "today"))

    assert {row.text for row in reasons(project, period="yesterday").rows} == {
        "Failed: first",
        "Failed: second",
    }
    assert {row.text for row in reasons(project, period="today").rows} == {"Failed: today"}
    assert reasons(project, period="7d").failures == 4


def test_the_page_links_periods_and_examples_and_escapes_reasons(feed, see):
    feed(*failing("s", HOSTILE))
    shown = section(see("?period=today"), "reasons")

    assert HOSTILE not in shown
    assert "&lt;img" in shown
    assert '<a href="?period=yesterday#' in shown
    assert 'aria-current="true">Today</a>' in shown
    assert "No failures yesterday." in section(see("?period=yesterday"), "reasons")
    assert section(see("?kind=waiting"), "reasons") == ""


def test_a_query_selects_the_failures(project, feed):
    start, end = failing("b", "no key")
    feed(*failing("a"), start | {"agent_id": "other"}, end)
    assert [row.text for row in reasons(project, q="agent:other").rows] == ["Failed: no key"]


def test_the_number_of_queries_is_fixed_and_reading_is_bounded(project, feed, django_assert_num_queries):
    feed(*failing("a"))
    for n in range(30):
        feed(*failing(f"b{n}", f"reason {'x' * n}"))
    with django_assert_num_queries(2) as captured:
        found = reasons(project)
    assert f"LIMIT {READ_MAX + 1}" in captured.captured_queries[-1]["sql"]
    assert (len(found.rows), found.others) == (20, 11)
