"""Query parameters of the costs page."""

from datetime import UTC, datetime, timedelta

import pytest
from django.http import QueryDict

from dashboard.pages.costs.params import CostsParams

NOON = datetime(2026, 11, 20, 12, 34, 56, tzinfo=UTC)


def parse(query=""):
    return CostsParams.parse(QueryDict(query))


def test_an_empty_query_string_means_fourteen_days_by_config():
    assert parse() == CostsParams(since="7d", by="config", q="", sub=True, judge=True)
    assert parse().query == "?"


def test_parameters_are_written_back():
    query = "since=30d&q=tag%3Anightly&by=model&sub=0&judge=0"

    assert parse(query).query == f"?{query}"


def test_agents_and_models_of_menus_and_older_addresses_are_written_into_the_query():
    assert parse("agent=coder&model=gpt-5&model=a%20b&q=-tag:x").q == '-tag:x agent:coder model:[gpt-5,"a b"]'
    assert parse("q=agent:[a,b]&shown=agent:a&shown=agent:b&agent=b").q == "agent:b"
    assert parse("q=costs:%3E1&agent=b").q == "costs:>1"


def test_a_link_to_one_value_replaces_the_others_of_its_key():
    assert parse("q=tag:x+agent:[a,b]&since=30d").only("agent", "c d") == (
        "?since=30d&q=tag%3Ax+agent%3A%22c+d%22"
    )


def test_only_a_personal_query_keeps_its_reader():
    assert CostsParams.parse(QueryDict("q=is:mine"), 7).reader == 7
    assert CostsParams.parse(QueryDict("q=is:live"), 7) == CostsParams.parse(QueryDict("q=is:live"), 8)


@pytest.mark.parametrize(
    "query", ["since=forever", "by=colour", "sub=yes", "agent=a%00b", f"model={'x' * 513}"]
)
def test_an_invalid_parameter_is_ignored_with_a_note(query):
    read = parse(query)

    assert read == CostsParams()
    assert len(read.notes) == 1
    assert "\0" not in read.notes[0]
    assert len(read.notes[0]) < 120


def test_days_are_whole_and_the_last_is_today():
    period = parse("since=7d").period(NOON)

    assert period.starts[0] == datetime(2026, 11, 14, tzinfo=UTC)
    assert period.starts[-1] == datetime(2026, 11, 20, tzinfo=UTC)
    assert period.end == datetime(2026, 11, 21, tzinfo=UTC)
    assert period.bar_indexes()["2026-11-20"] == 6


def test_a_day_has_hourly_bars():
    period = parse("since=24h").period(NOON)

    assert period.is_hourly
    assert period.starts[-1] == datetime(2026, 11, 20, 12, tzinfo=UTC)
    assert period.end - period.start == timedelta(hours=24)
    assert period.bar_indexes()["2026-11-20 12"] == 23


def test_ninety_days_have_daily_bars_and_the_last_ends_today():
    period = parse("since=90d").period(NOON)

    assert (period.unit, period.count) == ("day", 90)
    assert period.end == datetime(2026, 11, 21, tzinfo=UTC)
    assert period.bar_indexes()["2026-11-20"] == 89


def test_the_period_before_ends_where_this_one_starts():
    period = parse("since=7d").period(NOON)

    assert period.before.end == period.start
    assert period.before.count == period.count


def test_a_custom_range_of_two_days_has_hourly_bars_of_the_hours_that_it_touches():
    period = parse("since=2026-11-18T10:20Z&until=2026-11-18T13:01Z").period(NOON)

    assert (period.unit, period.count) == ("hour", 4)
    assert period.starts[0] == datetime(2026, 11, 18, 10, tzinfo=UTC)
    assert period.end == datetime(2026, 11, 18, 14, tzinfo=UTC)
    assert period.before.end == period.start
    assert period.before.start == datetime(2026, 11, 18, 6, tzinfo=UTC)


def test_a_custom_range_of_days_begins_and_ends_within_its_bars():
    period = parse("since=2026-11-01T10:00Z&until=2026-11-04T09:00Z").period(NOON)

    assert (period.unit, period.count) == ("day", 4)
    assert period.start == datetime(2026, 11, 1, 10, tzinfo=UTC)
    assert period.end == datetime(2026, 11, 4, 9, tzinfo=UTC)
    assert period.starts[0] == datetime(2026, 11, 1, tzinfo=UTC)
    assert period.bar_indexes() == {"2026-11-01": 0, "2026-11-02": 1, "2026-11-03": 2, "2026-11-04": 3}
    assert not period.has_whole_days
    assert period.before.start == datetime(2026, 10, 29, 11, tzinfo=UTC)


@pytest.mark.parametrize(
    ("since", "unit"), [("2026-08-25", "day"), ("2026-08-01", "week"), ("1970-01-01", "50 weeks")]
)
def test_a_long_custom_range_has_a_bounded_number_of_bars(since, unit):
    period = parse(f"since={since}").period(NOON)

    assert period.unit == unit
    assert period.count <= 92
    assert period.end == datetime(2026, 11, 20, 13, tzinfo=UTC)
    assert set(period.bar_indexes().values()) == set(range(period.count))


def test_a_saved_view_with_older_parameters_is_that_with_the_query():
    old, new = parse("agent=coder&since=7d&view=3"), parse("q=agent:coder&since=7d&view=3")
    assert old.content == new.content
    assert old.saved == "3"
    assert not parse("view=3").is_narrow
